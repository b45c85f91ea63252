"""Producer ids of one broker: taken from the controller a block at a time, given out one by one."""

from __future__ import annotations

from threading import Lock

from penstock.controller.controller import Controller


class ProducerIds:
    """Never the same id twice in this cluster, also after a crash: what is left of a block is then lost."""

    def __init__(self, controller: Controller, broker_id: int) -> None:
        self._controller = controller
        self._broker_id = broker_id
        self._lock = Lock()
        self._left = range(0)

    def next(self) -> int:
        """May wait for the controller, whose lock comes before a shard's: not to be called under one."""
        with self._lock:
            if not self._left:
                self._left = self._controller.allocate_producer_ids(self._broker_id)
            first, self._left = self._left[0], self._left[1:]
            return first
