"""Followers fetch from leaders and leaders change ISRs, over simulated links: what
`server.cluster.replica_fetchers` and `server.cluster.isr_changes` do with threads and sockets."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from penstock.controller.channel import ControllerChannel
from penstock.coordinator.promise import Promise
from penstock.protocol import messages
from penstock.protocol.apis import Api
from penstock.protocol.errors import KafkaError
from penstock.protocol.list_offsets import EARLIEST_LOCAL, LATEST
from penstock.replication.fetching import Fetcher
from penstock.replication.partition import Partition
from penstock.replication.partitions import Partitions
from penstock.server.cluster.decoded_channel import DecodedChannel
from penstock.server.cluster.isr_changes import VERSION as ALTER_PARTITION
from penstock.server.cluster.isr_changes import Asked, IsrChanges
from penstock.server.cluster.replica_fetchers import Replicas
from penstock.testing.simulation.cluster.controllers import Wakes
from penstock.testing.simulation.cluster.links import Link
from penstock.testing.simulation.cluster.process import Process
from penstock.wire.replica_fetch import VERSION, Limits, ReplicaSession, read_response

PAUSE_MS: Final = 20.0
RETRY_MS: Final = 100.0
LIST_OFFSETS_VERSION: Final = 8

LinkTo = Callable[[str, int], Link]


class SimulatedFetchers:
    """One fetcher for each leader. The metadata follower calls it."""

    def __init__(self, process: Process, replicas: Replicas, link_to: LinkTo) -> None:
        self._process = process
        self._replicas = replicas
        self._link_to = link_to
        self._by_leader: dict[int, _LeaderFetcher] = {}
        self._places: dict[tuple[bytes, int], _LeaderFetcher] = {}

    def follow(self, partition: Partition) -> None:
        self.leave(partition)
        if partition.leads or partition.leader_id < 0:
            return
        fetcher = self._by_leader.get(partition.leader_id)
        if fetcher is None:
            fetcher = _LeaderFetcher(self._process, self._replicas, self._link_to, partition.leader_id)
            self._by_leader[partition.leader_id] = fetcher
        self._places[partition.topic_id, partition.index] = fetcher
        fetcher.fetcher.add(partition)

    def leave(self, partition: Partition) -> None:
        fetcher = self._places.pop((partition.topic_id, partition.index), None)
        if fetcher is not None:
            fetcher.fetcher.remove(partition)

    def settle(self) -> None:
        for fetcher in self._by_leader.values():
            fetcher.wake()


class _LeaderFetcher:
    """What a fetcher's thread does, as events: one request at a time."""

    def __init__(self, process: Process, replicas: Replicas, link_to: LinkTo, leader_id: int) -> None:
        settings = replicas.settings
        self.fetcher = Fetcher(replicas.clock, settings.replica_fetch_backoff_ms / 1000)
        self._process = process
        self._replicas = replicas
        self._link_to = link_to
        self._leader_id = leader_id
        self._link: Link | None = None
        self._session = ReplicaSession()
        self._busy = False
        self._limits = Limits(
            settings.replica_fetch_wait_max_ms,
            settings.replica_fetch_min_bytes,
            settings.replica_fetch_response_max_bytes,
            settings.replica_fetch_max_bytes,
        )
        self._timeout_ms = float(settings.replica_socket_timeout_ms + settings.replica_fetch_wait_max_ms)

    def wake(self) -> None:
        if not self._busy:
            self._busy = True
            self._process.after(0, self._turn)

    def _turn(self) -> None:
        wanted = self.fetcher.ask()
        link = self._connect() if wanted else None
        if link is None:
            self._rest()
            return
        request = self._session.encode(wanted, self._limits, self._replicas.identity)
        link.ask(Api.FETCH, VERSION, request, self._answered, self._failed, self._timeout_ms)

    def _rest(self) -> None:
        """Nothing is due, or the leader is nowhere."""
        pause = self.fetcher.pause_seconds()
        if pause is None:
            self._busy = False
        else:
            self._process.after(max(PAUSE_MS, pause * 1000), self._turn)

    def _connect(self) -> Link | None:
        address = self._replicas.address_of(self._leader_id)
        if address is not None and self._link is None:
            self._link = self._link_to(address.host, address.port)
        return self._link if address is not None else None

    def _answered(self, data: bytes) -> None:
        response = read_response(memoryview(data))
        self._session.answered(response)
        outside = self.fetcher.take(response.answers)
        if self.fetcher.passed_over:
            self._session.forget()
        self._move_into_range(outside)

    def _failed(self) -> None:
        self._session.forget()
        self._process.after(PAUSE_MS, self._turn)

    def _move_into_range(self, outside: list[Partition]) -> None:
        if not outside:
            self._process.after(0, self._turn)
            return
        partition, *others = outside
        ends: list[int] = []

        def ask(at: int) -> None:
            assert self._link is not None
            fields = self._offsets_query(partition, at)
            body = messages.encode_request(Api.LIST_OFFSETS, LIST_OFFSETS_VERSION, fields)
            self._link.ask(
                Api.LIST_OFFSETS, LIST_OFFSETS_VERSION, body, answered, self._failed, self._timeout_ms
            )

        def answered(data: bytes) -> None:
            found = _only_offset(messages.read_response(Api.LIST_OFFSETS, LIST_OFFSETS_VERSION, data))
            if found is None:
                self._move_into_range(others)
                return
            ends.append(found)
            if len(ends) < 2:
                ask(LATEST)
                return
            self.fetcher.move_into_range(partition, *ends)
            self._move_into_range(others)

        ask(EARLIEST_LOCAL)

    def _offsets_query(self, partition: Partition, at: int) -> dict[str, Any]:
        query = {
            "partition_index": partition.index,
            "current_leader_epoch": partition.leader_epoch,
            "timestamp": at,
        }
        return {
            "replica_id": self._replicas.settings.node_id,
            "isolation_level": 0,
            "topics": [{"name": partition.topic, "partitions": [query]}],
        }


def _only_offset(answer: Any) -> int | None:
    found = answer.topics[0].partitions[0]
    return None if found.error_code else int(found.offset)


class SimulatedIsr:
    """What `server.cluster.isr_changes:IsrThread` does: all that is wanted in one request, one request at
    a time; and now and then a look at followers that lag."""

    def __init__(
        self,
        process: Process,
        changes: IsrChanges,
        partitions: Partitions,
        channel: ControllerChannel,
        lag_ms: float,
    ) -> None:
        self._process = process
        self._changes = changes
        self._partitions = partitions
        self._channel = DecodedChannel(channel)
        self._lag_ms = lag_ms
        self._busy = False
        changes.on_wanted = self._wake
        self._look()

    def _look(self) -> None:
        for partition in self._partitions:
            partition.shrink_isr()
        self._process.after(self._lag_ms / 2, self._look)

    def _wake(self) -> None:
        if not self._busy:
            self._busy = True
            self._process.after(0, self._turn)

    def _turn(self) -> None:
        asked = self._changes.take()
        if not asked:
            self._busy = False
            return
        promise = self._channel.ask(Api.ALTER_PARTITION, ALTER_PARTITION, self._changes.request(asked))
        promise.watch(Wakes(lambda: self._process.after(0, lambda: self._done(asked, promise))))

    def _done(self, asked: Asked, promise: Promise[Any]) -> None:
        try:
            again = self._changes.answered(asked, promise.result())
        except KafkaError:
            again = self._changes.failed(asked.values())
        self._process.after(RETRY_MS if again else 0, self._turn)
