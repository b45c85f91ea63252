"""The brokers behind a list of addresses: who leads what, and open connections to lend.

`Cluster` keeps what it learnt until somebody says that it is wrong (`forget`). It may be used by several
threads: each borrows a connection for as long as it needs one.
"""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import Any, Final, NamedTuple

from penstock.protocol.apis import Api
from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages import id_bytes
from penstock.protocol.topic_partition import TopicPartition
from penstock.security.client_settings import ClientSettings
from penstock.wire.connection import PLAINTEXT, Address, Connection
from penstock.wire.deadline import Deadline, retrying
from penstock.wire.errors import NotAuthenticated, Refused, UnknownTopic, Unreachable, WireError, error_code

REQUEST_SECONDS: Final = 30.0
CREATED_SECONDS: Final = 10.0
_IDLE_PER_BROKER: Final = 4
_METADATA_VERSIONS: Final = (4, 12)


class PartitionInfo(NamedTuple):
    leader: int
    leader_epoch: int
    """-1 where the broker is too old to say."""
    error: ErrorCode


class TopicInfo(NamedTuple):
    name: str
    topic_id: bytes
    """Sixteen zeros where the broker knows no ids."""
    internal: bool
    partitions: dict[int, PartitionInfo]


class Leader(NamedTuple):
    node_id: int
    leader_epoch: int
    topic_id: bytes


class Cluster:
    """Opens nothing until it is asked something."""

    def __init__(
        self, bootstrap_servers: str, *, client_id: str = "penstock", settings: ClientSettings = PLAINTEXT
    ) -> None:
        """`settings` say how the connections are secured."""
        self.bootstrap_servers = bootstrap_servers
        self._client_id = client_id
        self._settings = settings
        self._bootstrap = [Address.parse(text) for text in bootstrap_servers.split(",") if text.strip()]
        if not self._bootstrap:
            raise ValueError(
                "no bootstrap servers: give the address of at least one broker, as localhost:9092"
            )
        self._lock = threading.Lock()  # guards the three below; never held across a socket
        self._brokers: dict[int, Address] = {}
        self._topics: dict[str, TopicInfo] = {}
        self._idle: dict[Address, list[Connection]] = {}

    @classmethod
    def of(cls, settings: ClientSettings) -> Cluster:
        """The cluster that the settings name, reached as they say."""
        return cls(settings.bootstrap_servers, client_id=settings.client_id, settings=settings)

    def close(self) -> None:
        """Close the connections that are not lent; the others close when they come back."""
        with self._lock:
            idle, self._idle = self._idle, {}
        for connections in idle.values():
            for connection in connections:
                connection.close()

    def topics(
        self, names: Collection[str] | None, deadline: Deadline, *, create: bool = False
    ) -> dict[str, TopicInfo]:
        """What the cluster says now of the named topics, or of all. Topics that do not exist are left out.

        With `create` the broker is asked to create what is missing, if its settings let it.
        """
        fields = {
            "topics": None if names is None else [{"name": name, "topic_id": None} for name in names],
            "allow_auto_topic_creation": create,
            "include_cluster_authorized_operations": False,
            "include_topic_authorized_operations": False,
        }
        oldest, newest = _METADATA_VERSIONS

        def ask() -> Any:
            with self.any_connection(deadline) as connection:
                return connection.call(
                    Api.METADATA, fields, deadline.sooner(REQUEST_SECONDS), oldest=oldest, newest=newest
                )

        answer = retrying(deadline, f"metadata from {self.bootstrap_servers}", ask)
        found = {topic.name: topic for topic in map(_topic_info, answer.topics) if topic is not None}
        with self._lock:
            self._brokers = {broker.node_id: Address(broker.host, broker.port) for broker in answer.brokers}
            if names is None:
                self._topics.clear()
            for name in names or ():
                self._topics.pop(name, None)
            self._topics.update(found)
        return found

    def brokers(self, deadline: Deadline) -> list[int]:
        """The ids of all brokers, as the cluster says now."""
        self.topics((), deadline)
        with self._lock:
            return sorted(self._brokers)

    def topic(self, name: str, deadline: Deadline, *, create: bool = False) -> TopicInfo:
        """The topic as last seen; asks when it was not seen yet. `UnknownTopic` when there is none."""
        with self._lock:
            known = self._topics.get(name)
        if known is not None:
            return known
        found = self.topics([name], deadline, create=create).get(name)
        if found is None and create:
            return self._await_created(name, deadline)
        if found is None:
            raise UnknownTopic(f"topic {name!r} does not exist at {self.bootstrap_servers}: create it first")
        return found

    def _await_created(self, name: str, deadline: Deadline) -> TopicInfo:
        """A topic that the broker creates on being asked for it is there a moment later."""

        def look() -> TopicInfo:
            found = self.topics([name], deadline, create=True).get(name)
            if found is None:
                raise Refused(ErrorCode.LEADER_NOT_AVAILABLE, "it is not there")
            return found

        patience = deadline.sooner(CREATED_SECONDS)
        try:
            return retrying(patience, f"topic {name!r}", look)
        except WireError as error:
            if not error.retriable:
                raise
            raise UnknownTopic(
                f"topic {name!r} does not exist at {self.bootstrap_servers}, and the broker did not make it "
                f"by itself in {patience.seconds:.0f} s: create it first"
            ) from error

    def leader(self, partition: TopicPartition, deadline: Deadline) -> Leader:
        """Who leads the partition, as last seen. A retriable `Refused` when nobody does."""
        topic = self.topic(partition.topic, deadline)
        info = topic.partitions.get(partition.partition)
        if info is None:
            raise UnknownTopic(
                f"topic {partition.topic!r} at {self.bootstrap_servers} has {len(topic.partitions)} "
                f"partitions and no partition {partition.partition}"
            )
        if info.leader < 0:
            raise Refused(ErrorCode.LEADER_NOT_AVAILABLE, f"{partition} has no leader now")
        return Leader(info.leader, info.leader_epoch, topic.topic_id)

    def forget(self, topic: str) -> None:
        """What was known of the topic has proved wrong: ask anew next time."""
        with self._lock:
            self._topics.pop(topic, None)

    @contextmanager
    def connection(self, node_id: int, deadline: Deadline) -> Iterator[Connection]:
        """A connection to that broker, for this thread alone until the block ends."""
        with self._lock:
            address = self._brokers.get(node_id)
        if address is None:
            raise Unreachable(f"broker {node_id} is not in the metadata of {self.bootstrap_servers}")
        with self.connection_to(address, deadline) as connection:
            yield connection

    @contextmanager
    def any_connection(self, deadline: Deadline) -> Iterator[Connection]:
        """A connection to whichever broker answers first: those already known, then the bootstrap list."""
        with self._lock:
            known = list(dict.fromkeys([*self._idle, *self._brokers.values(), *self._bootstrap]))
        failures = []
        for address in known:
            try:
                connection = self._borrow(address, deadline)
            except NotAuthenticated:
                raise  # another broker would say the same
            except WireError as error:
                failures.append(str(error))
                continue
            try:
                yield connection
            finally:
                self._give_back(connection)
            return
        raise Unreachable("; ".join(dict.fromkeys(failures)))

    @contextmanager
    def connection_to(self, address: Address, deadline: Deadline) -> Iterator[Connection]:
        """The same for a broker whose address was learnt elsewhere."""
        connection = self._borrow(address, deadline)
        try:
            yield connection
        finally:
            self._give_back(connection)

    def _borrow(self, address: Address, deadline: Deadline) -> Connection:
        while True:
            with self._lock:
                kept = self._idle.get(address)
                connection = kept.pop() if kept else None
            if connection is None:
                return Connection(address, deadline, client_id=self._client_id, settings=self._settings)
            if connection.idle:
                return connection
            connection.close()

    def _give_back(self, connection: Connection) -> None:
        if connection.idle:
            with self._lock:
                kept = self._idle.setdefault(connection.address, [])
                if len(kept) < _IDLE_PER_BROKER:
                    kept.append(connection)
                    return
        connection.close()


def _topic_info(topic: Any) -> TopicInfo | None:
    code = error_code(topic.error_code)
    if code in (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.LEADER_NOT_AVAILABLE):
        return None
    if code is not ErrorCode.NONE:
        raise Refused(code, f"topic {topic.name!r}: the broker says {code.name}")
    partitions = {
        partition.partition_index: PartitionInfo(
            partition.leader_id, getattr(partition, "leader_epoch", -1), error_code(partition.error_code)
        )
        for partition in topic.partitions
    }
    return TopicInfo(topic.name, id_bytes(getattr(topic, "topic_id", None)), topic.is_internal, partitions)
