"""`Admin`: topics of a cluster, their partitions, offsets and settings; create, delete, grow.

Every call has a deadline and raises a `ClientError` whose text is a sentence. Thread-safe, as librdkafka's
client is. Record contents are `messages`' business. Called by the command line and by the console's backend.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeout
from dataclasses import replace
from typing import Any

from penstock.client.configs import Configs, Owner
from penstock.client.errors import INVALID, BrokerUnreachable, ClientError, InvalidValue, TopicNotFound
from penstock.client.librdkafka import Connection, admin_binding
from penstock.client.metadata import (
    BrokerInfo,
    ClusterInfo,
    ConfigEntry,
    PartitionInfo,
    TopicDetail,
    TopicInfo,
)

DEFAULT_TIMEOUT_S = 10.0
TOPIC_NAME = re.compile(r"[A-Za-z0-9._-]{1,249}")
PARTITIONS_MAX = 100_000
REPLICAS_MAX = 32_767

Partition = tuple[str, int]
"""Topic and partition index, the key of every offset mapping here."""


class Admin:
    """One librdkafka admin client. `settings` are extra librdkafka settings, such as security ones.

    `configs.Configs` and `groups.Groups` ask through it, too.
    """

    def __init__(
        self,
        bootstrap_servers: str,
        *,
        timeout_s: float = DEFAULT_TIMEOUT_S,
        settings: Mapping[str, Any] | None = None,
    ) -> None:
        self.connection = Connection(bootstrap_servers, timeout_s, settings)
        self._binding = admin_binding()
        self.client = self._binding.AdminClient(self.connection.settings())

    # -- asking

    def cluster(self) -> ClusterInfo:
        return self.describe()[0]

    def topics(self, *, with_offsets: bool = True) -> list[TopicInfo]:
        """All topics by name; `with_offsets` costs one more round trip to each leader."""
        topics = self.describe()[1]
        return self.with_offsets(topics) if with_offsets else topics

    def describe(self) -> tuple[ClusterInfo, list[TopicInfo]]:
        """Cluster and topics (without offsets) from one metadata request, which never creates a topic."""
        metadata = self._metadata()
        topics = [_topic_info(found) for _, found in sorted(metadata.topics.items())]
        cluster = ClusterInfo(
            cluster_id=metadata.cluster_id,
            controller_id=_known(metadata.controller_id),
            brokers=tuple(BrokerInfo(b.id, b.host, b.port) for _, b in sorted(metadata.brokers.items())),
            topics=len(topics),
            partitions=sum(len(topic.partitions) for topic in topics),
        )
        return cluster, topics

    def topic(self, name: str) -> TopicInfo:
        """One topic with its offsets."""
        found = next((topic for topic in self.describe()[1] if topic.name == name), None)
        if found is None:
            raise TopicNotFound(name)
        return self.with_offsets([found])[0]

    def topic_detail(self, name: str) -> TopicDetail:
        return TopicDetail(self.topic(name), tuple(self.configs(name)))

    def with_offsets(self, topics: Sequence[TopicInfo]) -> list[TopicInfo]:
        """The same topics, with the start and end of each partition that has a leader."""
        partitions = partitions_of(topics)
        return apply_offsets(topics, self.start_offsets(partitions), self.end_offsets(partitions))

    def start_offsets(self, partitions: Iterable[Partition]) -> dict[Partition, int]:
        return self._list_offsets(partitions, self._binding.OffsetSpec.earliest())

    def end_offsets(self, partitions: Iterable[Partition]) -> dict[Partition, int]:
        """High watermarks: the offset of the next record that consumers will see."""
        return self._list_offsets(partitions, self._binding.OffsetSpec.latest())

    def offsets_at(self, partitions: Iterable[Partition], timestamp_ms: int) -> dict[Partition, int]:
        """First offset at or after a time; a partition without such a record is left out."""
        if timestamp_ms < 0:
            raise InvalidValue(
                f"The timestamp {timestamp_ms} is before 1970. Give milliseconds since 1970, UTC."
            )
        found = self._list_offsets(partitions, self._binding.OffsetSpec.for_timestamp(timestamp_ms))
        return {partition: offset for partition, offset in found.items() if offset >= 0}

    def configs(self, topic: str) -> list[ConfigEntry]:
        """Every setting of a topic by name, defaults included."""
        return Configs(self).describe(Owner.topic(topic))

    # -- changing

    def create_topic(
        self,
        name: str,
        partitions: int | None = None,
        replication_factor: int | None = None,
        configs: Mapping[str, str] | None = None,
        *,
        replicas: Sequence[Sequence[int]] | None = None,
        validate_only: bool = False,
    ) -> None:
        """Create a topic; None for partitions or replicas takes the broker's default.

        `replicas` names the brokers of each partition, in place of both. `validate_only` asks, but creates
        nothing.
        """
        check_topic_name(name)
        if partitions is not None and not 1 <= partitions <= PARTITIONS_MAX:
            raise InvalidValue(f"A topic cannot have {partitions} partitions. Ask for 1 to {PARTITIONS_MAX}.")
        if replication_factor is not None and not 1 <= replication_factor <= REPLICAS_MAX:
            raise InvalidValue(
                f"A replication factor of {replication_factor} is not possible. Ask for 1 to {REPLICAS_MAX}."
            )
        own: dict[str, Any] = {"replication_factor": -1 if replication_factor is None else replication_factor}
        if replicas:
            own = {"replica_assignment": [list(brokers) for brokers in replicas]}
            partitions = len(replicas)
        new = self._binding.NewTopic(
            name,
            num_partitions=-1 if partitions is None else partitions,
            config=dict(configs or {}),
            **own,
        )
        futures = self.client.create_topics(
            [new],
            request_timeout=self.timeout_s,
            operation_timeout=self.timeout_s,
            validate_only=validate_only,
        )
        self.result(futures[name], f"create topic {name!r}", name)

    def delete_topic(self, name: str) -> None:
        futures = self.client.delete_topics(
            [name], request_timeout=self.timeout_s, operation_timeout=self.timeout_s
        )
        self.result(futures[name], f"delete topic {name!r}", name)

    def add_partitions(self, name: str, total: int) -> None:
        """Grow a topic to `total` partitions; existing records stay where they are."""
        current = len(self.topic(name).partitions)
        if total <= current:
            raise InvalidValue(
                f"Topic {name!r} has {current} partitions and cannot be changed to {total}. "
                f"Ask for more than {current}; partitions are never taken away."
            )
        futures = self.client.create_partitions(
            [self._binding.NewPartitions(name, total)],
            request_timeout=self.timeout_s,
            operation_timeout=self.timeout_s,
        )
        self.result(futures[name], f"add partitions to topic {name!r}", name)

    # -- how

    @property
    def timeout_s(self) -> float:
        return self.connection.timeout_s

    def _metadata(self) -> Any:
        from confluent_kafka import KafkaException

        try:
            return self.client.list_topics(timeout=self.timeout_s)
        except KafkaException as error:
            self.client.poll(0)  # hands over what the connections complained of
            raise self.connection.error(error, "read the cluster's metadata") from error

    def _list_offsets(self, partitions: Iterable[Partition], spec: Any) -> dict[Partition, int]:
        from confluent_kafka import TopicPartition

        asked = {TopicPartition(topic, index): spec for topic, index in partitions}
        if not asked:
            return {}
        futures = self.client.list_offsets(asked, request_timeout=self.timeout_s)
        return self._answers(futures)

    def _answers(self, futures: Mapping[Any, Future[Any]]) -> dict[Partition, int]:
        """Offsets that came; a partition without a leader has none.

        Raises only when no answer came at all.
        """
        deadline = time.monotonic() + self.timeout_s + 1
        offsets: dict[Partition, int] = {}
        failed: ClientError | None = None
        for asked, future in futures.items():
            try:
                answer = self.result(future, f"read offsets of topic {asked.topic!r}", asked.topic, deadline)
                offsets[asked.topic, asked.partition] = answer.offset
            except BrokerUnreachable as error:
                failed = error
            except ClientError:
                continue
        if failed is not None and not offsets:
            raise failed
        return offsets

    def result(
        self, future: Future[Any], doing: str, topic: str | None = None, deadline: float | None = None
    ) -> Any:
        """A future's result within the deadline (librdkafka's own comes first; ours is the safety net)."""
        from confluent_kafka import KafkaException

        remaining = self.timeout_s + 1 if deadline is None else max(0.0, deadline - time.monotonic())
        try:
            return future.result(timeout=remaining)
        except KafkaException as error:
            self.client.poll(0)
            raise self.connection.error(error, doing, topic) from error
        except FutureTimeout as error:
            address, reason = self.connection.bootstrap_servers, self.connection.reason
            raise BrokerUnreachable(address, self.timeout_s, reason) from error


def check_topic_name(name: str) -> None:
    """Kafka's rule, applied before asking: the binding refuses some names with words of its own."""
    if not TOPIC_NAME.fullmatch(name) or name in (".", ".."):
        raise InvalidValue(
            f"{name!r:.300} is not a topic name. {INVALID['TOPIC_EXCEPTION']} It must not be '.' or '..'."
        )


def partitions_of(topics: Iterable[TopicInfo]) -> list[Partition]:
    """The partitions that have a leader, which alone can be asked for offsets."""
    return [(t.name, p.index) for t in topics for p in t.partitions if p.leader is not None]


def apply_offsets(
    topics: Iterable[TopicInfo], starts: Mapping[Partition, int], ends: Mapping[Partition, int]
) -> list[TopicInfo]:
    return [
        replace(
            topic,
            partitions=tuple(
                replace(
                    partition,
                    log_start_offset=starts.get((topic.name, partition.index)),
                    high_watermark=ends.get((topic.name, partition.index)),
                )
                for partition in topic.partitions
            ),
        )
        for topic in topics
    ]


def _topic_info(found: Any) -> TopicInfo:
    partitions = tuple(
        PartitionInfo(index, _known(p.leader), tuple(p.replicas), tuple(p.isrs))
        for index, p in sorted(found.partitions.items())
    )
    return TopicInfo(found.topic, partitions)


def _known(node_id: int | None) -> int | None:
    return None if node_id is None or node_id < 0 else node_id
