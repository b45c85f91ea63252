"""Which instance of an application runs: one at a time, chosen in the consumer group of the application's id.

The instance that is given the input partitions runs, the others stand by. When it is gone, after
`session.timeout.ms`, the group is divided anew and another one is given them. This is for speed only: whoever
begins to run fences everybody else in the transaction coordinator, and that is what correctness rests on.
"""

from __future__ import annotations

import fcntl
import logging
import threading
import uuid
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import IO, Final

from penstock.wire.cluster import Cluster, TopicPartition
from penstock.wire.deadline import Deadline
from penstock.wire.errors import WireError
from penstock.wire.membership import Member, Membership

log = logging.getLogger(__name__)

PROTOCOL: Final = "stream"
_RUNNING: Final = b"running"
_PATIENCE_SECONDS: Final = 30.0
_LEAVE_SECONDS: Final = 5.0
_MOST_INSTANCES: Final = 100


class InstanceDirectory:
    """A directory of this instance alone, the first that nobody on this machine uses; its id stays the
    same."""

    def __init__(self, place: Path) -> None:
        for number in range(_MOST_INSTANCES):
            self.path = place / str(number)
            self.path.mkdir(parents=True, exist_ok=True)
            lock = (self.path / "lock").open("a+")
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                lock.close()
                continue
            self._lock: IO[str] = lock
            break
        else:
            raise RuntimeError(
                f"{_MOST_INSTANCES} instances use {place} already: give another state directory"
            )
        lock.seek(0)
        self.instance_id = lock.read().strip()
        if not self.instance_id:
            self.instance_id = uuid.uuid4().hex
            lock.write(self.instance_id)
            lock.flush()

    def close(self) -> None:
        self._lock.close()


class Turn(threading.Thread):
    """Keeps the instance in the group. `mine` is set while it is this instance's turn to run."""

    def __init__(
        self,
        cluster: Cluster,
        application_id: str,
        instance_id: str,
        places: Collection[TopicPartition],
        *,
        session_timeout_ms: int,
        heartbeat_interval_ms: int,
    ) -> None:
        super().__init__(name=f"turn-{application_id}", daemon=True)
        self.mine = threading.Event()
        self.running = False
        """Told to the others, so that who runs goes on running."""
        self.error: WireError | None = None
        """Why it will never be this instance's turn."""
        self._anew = threading.Event()
        self._places = list(places)
        self._topics = sorted({place.topic for place in places})
        self._interval_seconds = heartbeat_interval_ms / 1000
        self._ending = threading.Event()
        self._membership = Membership(
            cluster, application_id, instance_id, protocol=PROTOCOL, session_timeout_ms=session_timeout_ms
        )

    def run(self) -> None:
        attempt = 0
        while not self._ending.is_set():
            try:
                self._join()
                attempt = 0
                while not self._ending.wait(self._interval_seconds) and not self._anew.is_set():
                    if not self._membership.heartbeat(Deadline(_PATIENCE_SECONDS)):
                        break
            except WireError as error:
                if not error.retriable:
                    self.error = error
                    break
                log.warning("this instance is out of touch with the others: %s", error)
                Deadline(_PATIENCE_SECONDS).pause(attempt)
                attempt += 1
        try:
            self._membership.leave(Deadline(_LEAVE_SECONDS))
        except WireError as error:
            log.warning("this instance could not take leave of the others: %s", error)

    def end(self) -> None:
        self._ending.set()

    def yield_turn(self) -> None:
        """Somebody else runs: ask anew whose turn it is."""
        self.running = False
        self.mine.clear()
        self._anew.set()

    def _join(self) -> None:
        self._anew.clear()
        told = _RUNNING if self.running else b""
        given = self._membership.join(self._topics, told, self._assigned, Deadline(_PATIENCE_SECONDS * 3))
        if given:
            self.mine.set()
        else:
            self.mine.clear()

    def _assigned(self, members: list[Member]) -> Mapping[str, list[TopicPartition]]:
        """Everything to the one that runs, or to this one."""
        chosen = next(
            (member.member_id for member in members if member.told == _RUNNING), self._membership.member_id
        )
        return {member.member_id: self._places if member.member_id == chosen else [] for member in members}
