"""Which worker of a group drives the connectors: one at a time, chosen in the group of `group.id`.

Every worker learns the address of the driver, and hands requests on to it. A worker that drives stays the
driver when others come. Correctness does not rest on this: a driver fences the one before it, in the config
topic and in each source (`topics.FencedWriter`, `wire.transactions`).
"""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Callable, Mapping
from typing import Final

from penstock.protocol.topic_partition import TopicPartition
from penstock.wire.cluster import Cluster
from penstock.wire.deadline import Deadline
from penstock.wire.errors import WireError
from penstock.wire.membership import Member, Membership

PROTOCOL: Final = "penstock-connect"
_PATIENCE_S: Final = 30.0
_LEAVE_S: Final = 5.0
_log = logging.getLogger(__name__)

Elected = Callable[[bool, str], None]
"""Whether this worker drives, and the address of the one that does."""


class Election(threading.Thread):
    """Keeps the worker in its group, and reports each election."""

    def __init__(
        self, cluster: Cluster, group_id: str, topic: str, url: str, session_timeout_ms: int, elected: Elected
    ) -> None:
        super().__init__(name="election", daemon=True)
        self._place = TopicPartition(topic, 0)
        self._url = url
        self._elected = elected
        self._drives = False
        self._ending = threading.Event()
        self._interval_s = session_timeout_ms / 3000
        self._membership = Membership(
            cluster,
            group_id,
            None,
            protocol=PROTOCOL,
            session_timeout_ms=session_timeout_ms,
            announce=lambda members: _told(driver(members))["url"].encode(),
        )

    def run(self) -> None:
        attempt = 0
        while not self._ending.is_set():
            try:
                self._join()
                attempt = 0
                while not self._ending.wait(self._interval_s):
                    if not self._membership.heartbeat(Deadline(_PATIENCE_S)):
                        break
            except Exception as error:  # of the group, or of what an elected worker reads and writes first
                _log.warning("this worker has lost its group and joins it again: %s", error)
                self._resigned()
                Deadline(_PATIENCE_S).pause(attempt)
                attempt += 1
        try:
            self._membership.leave(Deadline(_LEAVE_S))
        except WireError as error:
            _log.warning("this worker could not leave its group: %s", error)

    def end(self) -> None:
        self._ending.set()

    def _join(self) -> None:
        told = json.dumps({"url": self._url, "drives": self._drives}).encode()
        places = self._membership.join([self._place.topic], told, self._assign, Deadline(_PATIENCE_S))
        self._report(self._place in places, self._membership.announced.decode())

    def _assign(self, members: list[Member]) -> Mapping[str, list[TopicPartition]]:
        chosen = driver(members).member_id
        return {each.member_id: [self._place] if each.member_id == chosen else [] for each in members}

    def _resigned(self) -> None:
        try:
            self._report(False, "")
        except Exception as error:  # the thread must live: without it the worker never drives again
            _log.warning("this worker could not end what it ran: %s", error)

    def _report(self, drives: bool, url: str) -> None:
        self._drives = drives
        self._elected(drives, url)


def driver(members: list[Member]) -> Member:
    """The member that drives already, or else the first by its address."""
    return min(
        members, key=lambda member: (not _told(member)["drives"], _told(member)["url"], member.member_id)
    )


def _told(member: Member) -> dict[str, str]:
    try:
        found: dict[str, str] = json.loads(member.told)
    except ValueError:
        return {"url": "", "drives": ""}
    return found
