"""The threads of a node among several: one keeps Raft's time, one follows what is committed.

Everything else happens in the threads that bring something: a connection with a request, a lane of
`penstock.server.cluster.quorum_peers` with an answer. A node that is alone needs none of this.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from math import inf
from threading import Event, Thread, get_ident
from typing import Final

from penstock.clock import Clock
from penstock.controller.controller import Controller
from penstock.controller.membership import Membership
from penstock.server.cluster.quorum_peers import QuorumPeers
from penstock.storage.errors import LogDirFailure, StorageError

ACTIVE_SECONDS: Final = 0.1
IDLE_SECONDS: Final = 0.5
"""How often the active controller looks for silent brokers, and how often others look whether they are it."""

_log = logging.getLogger(__name__)


class QuorumDriver:
    """Drives one node's controller until `close`."""

    def __init__(
        self,
        controller: Controller,
        membership: Membership,
        peers: QuorumPeers,
        clock: Clock,
        on_failure: Callable[[], None],
    ) -> None:
        """`on_failure` is called when the disk of the metadata has failed: this node is of no more use."""
        self.failure: LogDirFailure | None = None
        self._on_failure = on_failure
        self._controller = controller
        self._membership = membership
        self._peers = peers
        self._clock = clock
        self._stopped = False
        self._news = Event()
        self._earlier = Event()
        self._planned_ms = inf
        self._watches_brokers = False  # whether the clock's thread knows that this is the active controller
        self._clock_thread = Thread(target=self._keep_time, name="quorum-clock", daemon=True)
        self._follow_thread = Thread(target=self._follow, name="metadata-follower", daemon=True)
        controller.quorum.post = peers.post
        controller.on_news = self._on_news

    def start(self) -> None:
        self._clock_thread.start()
        self._follow_thread.start()

    def close(self) -> None:
        """Give leadership away first, so that the others need not notice that this node is gone."""
        self._stopped = True
        try:
            self._controller.resign()
        except StorageError as error:
            _log.error("leadership could not be given away: %s", error)
        self._earlier.set()
        self._news.set()
        self._clock_thread.join()
        self._peers.close()
        self._follow_thread.join()

    def _on_news(self) -> None:
        self._news.set()
        if get_ident() == self._clock_thread.ident:
            return
        takes_office = self._controller.is_active and not self._watches_brokers  # sessions begin with it
        if takes_office or self._controller.quorum.raft.next_deadline_ms() < self._planned_ms:
            self._earlier.set()

    def _keep_time(self) -> None:
        while not self._stopped:
            self._earlier.clear()
            self._planned_ms = inf  # while it is not known, any news wakes
            try:
                self._planned_ms = self._controller.tick()
                self._membership.tick()
            except LogDirFailure as failure:
                _log.critical("the metadata cannot be kept, so this node stops: %s", failure)
                self.failure = failure
                self._on_failure()
                return
            except Exception:
                _log.exception("the quorum could not go on; it is tried again")
            self._watches_brokers = self._controller.is_active
            longest = ACTIVE_SECONDS if self._watches_brokers else IDLE_SECONDS
            seconds = self._planned_ms / 1000 - self._clock.monotonic()
            self._earlier.wait(max(0.0, min(longest, seconds)))

    def _follow(self) -> None:
        while not self._stopped:
            self._news.wait()
            self._news.clear()
            try:
                self._controller.follow()
            except Exception:
                _log.exception("the metadata could not be followed; it is tried with the next change")
