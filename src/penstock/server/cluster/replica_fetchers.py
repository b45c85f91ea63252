"""The threads that fetch for partitions that follow: for each leader `num.replica.fetchers` of them, with one
connection each. What is fetched and what becomes of it is decided by `replication.fetching`.

`ReplicaFetchers` knows which partition is whose before any thread runs: the metadata is followed when a node
is put together, its threads start later.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from threading import Event, Lock, Thread
from typing import Final

from penstock.clock import Clock
from penstock.metrics.traffic import Traffic
from penstock.protocol.apis import Api
from penstock.protocol.list_offsets import EARLIEST_LOCAL, LATEST
from penstock.protocol.primitives import MalformedMessage
from penstock.replication.fetching import Fetcher
from penstock.replication.partition import Partition
from penstock.security.client_settings import ClientSettings
from penstock.settings import BrokerSettings
from penstock.wire.connection import PLAINTEXT, Address, Connection
from penstock.wire.deadline import Deadline
from penstock.wire.errors import WireError
from penstock.wire.replica_fetch import VERSION, Limits, Place, ReplicaSession, Wanted, read_response

LIST_OFFSETS_VERSIONS: Final = (8, 9)
FIRST_PAUSE_SECONDS: Final = 0.02
IDLE_SECONDS: Final = 60.0
CLOSE_SECONDS: Final = 2.0

_log = logging.getLogger(__name__)


class Replicas:
    """What fetchers ask of the node: where a broker listens, and in which life this one is."""

    def __init__(
        self,
        settings: BrokerSettings,
        clock: Clock,
        address_of: Callable[[int], Address | None],
        broker_epoch: Callable[[], int],
        security: ClientSettings = PLAINTEXT,
        traffic: Traffic | None = None,
    ) -> None:
        self.settings = settings
        self.security = security
        self.clock = clock
        self.address_of = address_of
        self.broker_epoch = broker_epoch
        self.traffic = traffic or Traffic()

    @property
    def identity(self) -> tuple[int, int]:
        return self.settings.node_id, self.broker_epoch()


class ReplicaFetchers:
    """Which fetcher has which partition. The metadata follower calls it, one step at a time."""

    def __init__(self, replicas: Replicas) -> None:
        self._replicas = replicas
        self._lock = Lock()
        self._threads: dict[tuple[int, int], FetcherThread] = {}
        self._places: dict[Place, FetcherThread] = {}
        self._started = False

    def follow(self, partition: Partition) -> None:
        """Fetch the partition from its present leader; not at all when it leads itself or has no leader."""
        self.leave(partition)
        with self._lock:
            if partition.leads or partition.leader_id < 0:
                return
            thread = self._thread(partition)
            self._places[partition.topic_id, partition.index] = thread
            thread.fetcher.add(partition)

    def leave(self, partition: Partition) -> None:
        with self._lock:
            thread = self._places.pop((partition.topic_id, partition.index), None)
        if thread is not None:
            thread.fetcher.remove(partition)

    def settle(self) -> None:
        """Partitions have come or gone: fetchers that wait for an answer ask anew."""
        with self._lock:
            threads = list(self._threads.values())
        for thread in threads:
            thread.ask_anew()

    def start(self) -> None:
        with self._lock:
            self._started = True
            for thread in self._threads.values():
                thread.start()

    def close(self) -> None:
        with self._lock:
            threads, self._threads, self._started = list(self._threads.values()), {}, False
        for thread in threads:
            thread.close()

    def _thread(self, partition: Partition) -> FetcherThread:
        slot = hash((partition.topic, partition.index)) % self._replicas.settings.num_replica_fetchers
        key = (partition.leader_id, slot)
        thread = self._threads.get(key)
        if thread is None:
            thread = self._threads[key] = FetcherThread(self._replicas, *key)
            if self._started:
                thread.start()
        return thread


class FetcherThread:
    """Asks one leader, again and again."""

    def __init__(self, replicas: Replicas, leader_id: int, slot: int) -> None:
        settings = replicas.settings
        pause_seconds = settings.replica_fetch_backoff_ms / 1000
        self.fetcher = Fetcher(replicas.clock, pause_seconds, replicas.traffic)
        self._replicas = replicas
        self._leader_id = leader_id
        self._limits = Limits(
            settings.replica_fetch_wait_max_ms,
            settings.replica_fetch_min_bytes,
            settings.replica_fetch_response_max_bytes,
            settings.replica_fetch_max_bytes,
        )
        self._session = ReplicaSession()
        self._connection: Connection | None = None
        self._changed = Event()
        self._stopped = False
        self._interrupted = False
        """Whether the connection was cut from here, to ask for more: its end is no failure."""
        self._failures = 0
        name = f"replica-fetcher-{leader_id}-{slot}"
        self._client_id = f"broker-{settings.node_id}-fetcher-{slot}"
        self._thread = Thread(target=self._run, name=name, daemon=True)

    def start(self) -> None:
        self._thread.start()

    def close(self) -> None:
        self._stopped = True
        self._changed.set()
        self._interrupt()
        if self._thread.is_alive():
            self._thread.join(CLOSE_SECONDS)  # it may be connecting to a broker that does not answer

    def ask_anew(self) -> None:
        """When there is a partition that the request under way does not name: the leader may hold that
        request for half a second, in which nothing of the new one would be committed."""
        self._changed.set()
        if self.fetcher.has_new:
            self._interrupt()

    def _interrupt(self) -> None:
        connection = self._connection
        if connection is not None:
            self._interrupted = True
            connection.interrupt()

    def _run(self) -> None:
        while not self._stopped:
            self._changed.clear()
            wanted = self.fetcher.ask()
            if not wanted:
                pause = self.fetcher.pause_seconds()
                self._changed.wait(IDLE_SECONDS if pause is None else pause)
                continue
            try:
                self._fetch(wanted)
                self._failures = 0
            except (WireError, MalformedMessage) as error:
                interrupted, self._interrupted = self._interrupted, False
                self._disconnect()
                if not interrupted:
                    self._back_off(error)
            except Exception:
                self._disconnect()
                _log.exception("fetching from broker %d failed; it is tried again", self._leader_id)
                self._changed.wait(1.0)

    def _back_off(self, error: Exception) -> None:
        if self._stopped:
            return
        longest = self._replicas.settings.replica_fetch_backoff_ms / 1000
        pause = min(longest, FIRST_PAUSE_SECONDS * 2 ** min(self._failures, 10))
        if not self._failures:
            _log.info("broker %d cannot be fetched from, it is tried again: %s", self._leader_id, error)
        self._failures += 1
        self._changed.wait(pause)

    def _fetch(self, wanted: Mapping[Place, Wanted]) -> None:
        settings = self._replicas.settings
        deadline = Deadline((settings.replica_socket_timeout_ms + self._limits.max_wait_ms) / 1000)
        connection = self._connect(deadline)
        request = self._session.encode(wanted, self._limits, self._replicas.identity)
        connection.send(Api.FETCH, VERSION, [request], deadline)
        response = read_response(connection.receive(deadline))
        self._session.answered(response)
        for partition in self.fetcher.take(response.answers):
            self._move_into_range(connection, partition, deadline)
        if self.fetcher.passed_over:
            self._session.forget()

    def _connect(self, deadline: Deadline) -> Connection:
        if self._connection is None:
            address = self._replicas.address_of(self._leader_id)
            if address is None:
                raise WireError(f"broker {self._leader_id} is not registered")
            self._connection = Connection(
                address, deadline, client_id=self._client_id, settings=self._replicas.security
            )
        return self._connection

    def _disconnect(self) -> None:
        self._session.forget()
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    def _move_into_range(self, connection: Connection, partition: Partition, deadline: Deadline) -> None:
        ends = [self._leader_offset(connection, partition, at, deadline) for at in (EARLIEST_LOCAL, LATEST)]
        if None not in ends:
            self.fetcher.move_into_range(partition, *(end for end in ends if end is not None))

    def _leader_offset(
        self, connection: Connection, partition: Partition, at: int, deadline: Deadline
    ) -> int | None:
        """One end of the leader's log; None when it is not, or no longer, the leader."""
        query = {
            "partition_index": partition.index,
            "current_leader_epoch": partition.leader_epoch,
            "timestamp": at,
        }
        fields = {
            "replica_id": self._replicas.settings.node_id,
            "isolation_level": 0,
            "topics": [{"name": partition.topic, "partitions": [query]}],
        }
        oldest, newest = LIST_OFFSETS_VERSIONS
        answer = connection.call(Api.LIST_OFFSETS, fields, deadline, oldest=oldest, newest=newest)
        (topic,) = answer.topics
        (found,) = topic.partitions
        return None if found.error_code else int(found.offset)
