"""Removes delegation tokens that have expired, on the active controller. The node's housekeeping calls it."""

from __future__ import annotations

import logging

from penstock.clock import Clock
from penstock.controller.controller import Controller, Decision
from penstock.controller.delegation_tokens import decide_sweep
from penstock.controller.image import Image

_log = logging.getLogger(__name__)


class TokenExpiry:
    """Looks once in `interval_ms`."""

    def __init__(self, controller: Controller, clock: Clock, interval_ms: int) -> None:
        self._controller = controller
        self._clock = clock
        self._interval_seconds = interval_ms / 1000
        self._looked_at = clock.monotonic()

    def tick(self) -> None:
        now = self._clock.monotonic()
        if now - self._looked_at < self._interval_seconds:
            return
        self._looked_at = now
        if self._controller.is_active and decide_sweep(self._controller.image, self._clock.now_ms()):
            self._controller.submit(self._decide)

    def _decide(self, image: Image) -> Decision[None]:
        records = decide_sweep(image, self._clock.now_ms())
        _log.info("%d delegation tokens have expired and are removed", len(records))
        return records, None
