"""The topic `_schemas`: made when it is missing, replayed by one thread, appended to with a fence.

A write is done when this registry has read its own record back. Called by `service`, from one thread at a
time for `append`; the state may be asked from any thread that holds `lock`.
"""

from __future__ import annotations

import logging
import threading
import time
import uuid
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, Final

from penstock.client.admin import Admin
from penstock.client.errors import ClientError, TopicExists
from penstock.client.librdkafka import Connection
from penstock.client.sending import NewRecord, Produced, Sender
from penstock.client.stream import Stream
from penstock.registry.errors import store_failed, timed_out, too_large
from penstock.registry.fencing import HEADER, Fence, Mark, read_mark
from penstock.registry.records import Key, Record, decode, encode
from penstock.registry.settings import RegistrySettings
from penstock.registry.state import State

POLL_S: Final = 0.5
RECORD_BYTES_MAX: Final = 1_000_000
_log = logging.getLogger(__name__)


class Store:
    def __init__(self, settings: RegistrySettings) -> None:
        self.lock = threading.Lock()
        self.state = State(settings.default_level)
        self._settings = settings
        self._applied = threading.Condition(self.lock)
        self._fence = Fence()
        self._next_offset = 0
        self._broken: set[Key] = set()
        """Keys whose last record was passed over; the next write restores them."""
        self._verdicts: dict[bytes, dict[int, bool]] = {}
        """Of own decisions that are under way: which of their records counted, by offset."""
        self._stopped = threading.Event()
        self._connection = Connection(settings.bootstrap_servers, settings.timeout_s, settings.client)
        self._sender: Sender | None = None
        self._reader = threading.Thread(target=self._read, name="registry-reader", daemon=True)
        self._failure: str = ""

    def start(self) -> None:
        """Returns when everything that was written before is replayed."""
        admin = Admin(
            self._settings.bootstrap_servers,
            timeout_s=self._settings.timeout_s,
            settings=self._settings.client,
        )
        self._ensure_topic(admin)
        partition = (self._settings.topic, 0)
        self._next_offset = admin.start_offsets([partition]).get(partition, 0)
        end = admin.end_offsets([partition]).get(partition, 0)
        # A record that is sent twice is the same decision: without idempotence the first write need not wait.
        self._sender = Sender(self._connection, linger_ms=0, enable_idempotence=False, max_in_flight=1)
        self._reader.start()
        self._wait_for(end, self._settings.init_timeout_s)
        with self.lock:
            broken = bool(self._broken)
        if broken:
            self.append((), self.known_offset)

    @property
    def known_offset(self) -> int:
        """The last record that counts, as of now; read it together with the state, under the lock."""
        return self._fence.known_offset

    def append(self, records: Sequence[Record], known_offset: int) -> bool:
        """Writes a decision that was made when `known_offset` was the last record. False when another came
        between: nothing has changed then, and it is to be decided anew.
        """
        mark = Mark(uuid.uuid4().bytes, known_offset)
        with self.lock:
            restored = [self.state.record_of(key) for key in self._broken]
            self._verdicts[mark.decision] = {}
        try:
            offsets = self._send([*restored, *records], mark)
            self._wait_for(max(offsets, default=-1) + 1, self._settings.timeout_s)
            with self.lock:
                counted = self._verdicts[mark.decision]
                return all(counted.get(offset, False) for offset in offsets)
        finally:
            with self.lock:
                del self._verdicts[mark.decision]

    def close(self) -> None:
        self._stopped.set()
        if self._reader.is_alive():
            self._reader.join(10)

    def _send(self, records: Sequence[Record], mark: Mark) -> list[int]:
        """The offsets of the records."""
        assert self._sender is not None
        offsets: list[int] = []

        def delivered(where: Produced) -> None:
            offsets.append(where.offset)

        try:
            for record in records:
                key, value = encode(record)
                if len(key) + len(value or b"") > RECORD_BYTES_MAX:
                    raise too_large(len(value or b""), RECORD_BYTES_MAX)
                new = NewRecord(value, key, ((HEADER, mark.encode()),), 0)
                self._sender.send(self._settings.topic, new, delivered)
            self._sender.flush()
        except ClientError as error:
            raise store_failed(str(error)) from error
        return offsets

    def _wait_for(self, offset: int, timeout_s: float) -> None:
        """Until every record before the offset is replayed."""
        with self._applied:
            done = self._applied.wait_for(lambda: self._next_offset >= offset or self._failure, timeout_s)
            if self._failure:
                raise store_failed(self._failure)
            if not done:
                raise timed_out(f"offset {offset} of {self._settings.topic} was not read in {timeout_s:g} s")

    def _read(self) -> None:
        """The reader's thread: it outlives whatever the broker does, and says what it cannot outlive."""
        with Stream(self._connection, self._settings.topic, {0: self._next_offset}) as stream:
            while not self._stopped.is_set():
                try:
                    self._replay(stream.poll(POLL_S))
                except ClientError as error:
                    _log.warning("cannot read %s: %s", self._settings.topic, error)
                    time.sleep(POLL_S)  # the broker is away: librdkafka connects again by itself
                except Exception as error:
                    with self._applied:
                        self._failure = f"replaying {self._settings.topic} failed: {error!r}"
                        self._applied.notify_all()
                    raise

    def _replay(self, messages: Sequence[Any]) -> None:
        if not messages:
            return
        with self._applied:
            for message in messages:
                self._replay_one(message)
                self._next_offset = message.offset + 1
            self._applied.notify_all()

    def _replay_one(self, message: Any) -> None:
        record, mark = decode(message.key, message.value), read_mark(message.headers)
        if record is None:
            _log.warning("offset %d of %s is no record of a registry", message.offset, self._settings.topic)
            return
        counts = self._fence.passes(message.offset, mark)
        if mark is not None and mark.decision in self._verdicts:
            self._verdicts[mark.decision][message.offset] = counts
        if counts:
            self._broken.discard(record.key)
            self.state.replay(record)
        else:
            self._broken.add(record.key)

    def _ensure_topic(self, admin: Admin) -> None:
        name = self._settings.topic
        cluster, topics = admin.describe()
        if all(topic.name != name for topic in topics):
            replicas = min(self._settings.replication_factor, max(1, len(cluster.brokers)))
            with suppress(TopicExists):  # another registry may be faster
                admin.create_topic(name, 1, replicas, {"cleanup.policy": "compact"})
        found = {entry.name: entry.value for entry in admin.configs(name)}
        policy = found.get("cleanup.policy") or ""
        partitions = len(admin.topic(name).partitions)
        if "compact" not in policy or partitions != 1:
            raise store_failed(
                f"topic {name} has cleanup.policy={policy} and {partitions} partitions; schemas would be "
                "lost or out of order. It needs cleanup.policy=compact and one partition"
            )
