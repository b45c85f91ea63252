"""Which instance of an application runs: one at a time, chosen in the consumer group of the application's id.

The instance that the group assigns the input partitions to runs, and the others stand by. When that instance
is gone for `session.timeout.ms`, the group assigns the partitions to another one. This is for speed only. An
instance that begins to run fences all others in the transaction coordinator, and correctness rests on that.
"""

from __future__ import annotations

import fcntl
import logging
import threading
import uuid
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import IO, Final

from penstock.protocol.topic_partition import TopicPartition
from penstock.wire.cluster import Cluster
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
    """A directory for one instance: the first that no other instance on this machine uses. The instance's id
    is kept in it."""

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


class InstanceElection(threading.Thread):
    """Keeps the instance in the group. `elected` is set while this instance is the one to run."""

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
        super().__init__(name=f"election-{application_id}", daemon=True)
        self.elected = threading.Event()
        self.running = False
        """Sent to the other members, so that an instance that runs stays elected."""
        self.error: WireError | None = None
        """Why this instance can never be elected."""
        self._rejoin = threading.Event()
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
                while not self._ending.wait(self._interval_seconds) and not self._rejoin.is_set():
                    if not self._membership.heartbeat(Deadline(_PATIENCE_SECONDS)):
                        break
            except WireError as error:
                if not error.retriable:
                    self.error = error
                    break
                log.warning("this instance has lost its group and joins it again: %s", error)
                Deadline(_PATIENCE_SECONDS).pause(attempt)
                attempt += 1
        try:
            self._membership.leave(Deadline(_LEAVE_SECONDS))
        except WireError as error:
            log.warning("this instance could not leave its group: %s", error)

    def end(self) -> None:
        self._ending.set()

    def resign(self) -> None:
        """Another instance runs: join the group again, as one that does not."""
        self.running = False
        self.elected.clear()
        self._rejoin.set()

    def _join(self) -> None:
        self._rejoin.clear()
        state = _RUNNING if self.running else b""
        given = self._membership.join(self._topics, state, self._assigned, Deadline(_PATIENCE_SECONDS * 3))
        if given:
            self.elected.set()
        else:
            self.elected.clear()

    def _assigned(self, members: list[Member]) -> Mapping[str, list[TopicPartition]]:
        """All partitions go to the instance that runs, or to this one."""
        chosen = next(
            (member.member_id for member in members if member.told == _RUNNING), self._membership.member_id
        )
        return {member.member_id: self._places if member.member_id == chosen else [] for member in members}
