"""The servers of one service id: which are alive, and which of them runs a query.

Every server is a member of one consumer group and learns the addresses of all. From these each finds the same
owner of a query (rendezvous hashing), so that servers share the queries, few queries move when a server comes
or goes, and nobody must be asked. Correctness does not rest on it: a query that two servers run for a moment
is fenced in the transaction coordinator.
"""

from __future__ import annotations

import hashlib
import json
import logging
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from penstock.protocol.topic_partition import TopicPartition
from penstock.wire.cluster import Cluster
from penstock.wire.deadline import Deadline
from penstock.wire.errors import WireError
from penstock.wire.membership import Member, Membership

log = logging.getLogger(__name__)
PROTOCOL: Final = "penstock-sql"
_PATIENCE_S: Final = 30.0
_LEAVE_S: Final = 5.0
_REMEMBERED: Final = 100
"""Servers that are gone and still shown."""


class Servers(threading.Thread):
    """Keeps this server in its group. `addresses` is empty until it has joined for the first time."""

    def __init__(
        self,
        cluster: Cluster,
        group_id: str,
        topic: str,
        address: str,
        session_timeout_ms: int,
        on_change: Callable[[], None],
    ) -> None:
        super().__init__(name="servers", daemon=True)
        self.address = address
        self.addresses: tuple[str, ...] = ()
        self.seen_ms: dict[str, int] = {}
        """By address, when a server was last known to be alive; those that are gone, too."""
        self._topic, self._on_change = topic, on_change
        self._interval_s = session_timeout_ms / 3000
        self._ending = threading.Event()
        self._cluster = cluster
        self._membership = Membership(
            self._cluster,
            group_id,
            None,
            protocol=PROTOCOL,
            session_timeout_ms=session_timeout_ms,
            announce=_announced,
        )

    def owner(self, query_id: str) -> str | None:
        """The server that runs a query; none while that is not known."""
        return owner_of(query_id, self.addresses)

    def run(self) -> None:
        attempt = 0
        while not self._ending.is_set():
            try:
                self._join()
                attempt = 0
                while not self._ending.wait(self._interval_s):
                    if not self._membership.heartbeat(Deadline(_PATIENCE_S)):
                        break
                    self._see()
            except WireError as error:
                log.warning("this server has lost its group and joins it again: %s", error)
                Deadline(_PATIENCE_S).pause(attempt)
                attempt += 1
        try:
            self._membership.leave(Deadline(_LEAVE_S))
        except WireError as error:
            log.warning("this server could not leave its group: %s", error)
        self._cluster.close()

    def end(self) -> None:
        self._ending.set()
        if self.ident is not None:
            self.join(_LEAVE_S * 2)

    def _join(self) -> None:
        told = self.address.encode()
        self._membership.join([self._topic], told, _nothing, Deadline(_PATIENCE_S))
        found = json.loads(self._membership.announced or b"[]")
        self.addresses = tuple(sorted({*found, self.address}))
        self._see()
        log.info("servers of this service: %s", ", ".join(self.addresses))
        self._on_change()

    def _see(self) -> None:
        now = time.time_ns() // 1_000_000
        self.seen_ms.update(dict.fromkeys(self.addresses, now))
        while len(self.seen_ms) > _REMEMBERED + len(self.addresses):
            gone = [each for each in self.seen_ms if each not in self.addresses]
            del self.seen_ms[min(gone, key=self.seen_ms.__getitem__)]


def owner_of(query_id: str, addresses: Sequence[str]) -> str | None:
    """The address with the highest hash; a server more or less moves only what falls to it or to others."""

    def weight(address: str) -> bytes:
        return hashlib.sha256(f"{address} {query_id}".encode()).digest()

    return max(addresses, key=weight, default=None)


def _announced(members: list[Member]) -> bytes:
    return json.dumps(sorted({member.told.decode() for member in members})).encode()


def _nothing(members: list[Member]) -> Mapping[str, list[TopicPartition]]:
    """The group divides no partitions: it only knows its members."""
    return {member.member_id: [] for member in members}
