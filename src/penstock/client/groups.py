"""`Groups`: consumer groups, their members, what they have committed and how far they are behind.

Thin over `admin.Admin`, whose deadline and errors it shares; it joins no group. Called by the command line,
the REST Proxy and `streams.resetting`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import islice
from typing import Any, Final, TypeVar

from penstock.client.admin import Admin, Partition, partitions_of
from penstock.client.errors import BrokerRefused, GroupNotFound, InvalidValue, TopicNotFound
from penstock.client.metadata import GroupInfo, GroupMember, PartitionLag
from penstock.client.targets import Places, Target

T = TypeVar("T")

GROUP_ID_NOT_FOUND: Final = "GROUP_ID_NOT_FOUND"
MOVING: Final = {"NOT_COORDINATOR", "COORDINATOR_NOT_AVAILABLE", "COORDINATOR_LOAD_IN_PROGRESS"}
"""Said while a coordinator begins to serve, here or elsewhere; librdkafka's admin client gives up at once."""

RETRY_S: Final = 0.05
ASKED_AT_A_TIME: Final = 50
"""Groups whose offsets are asked for before the first answer is waited for."""


class Groups:
    def __init__(self, admin: Admin) -> None:
        self._admin = admin

    def names(self) -> list[str]:
        """The ids of all groups, in order."""
        future = self._admin.client.list_consumer_groups(request_timeout=self._admin.timeout_s)
        listing = self._admin.result(future, "list the consumer groups")
        return sorted(group.group_id for group in listing.valid)

    def describe_all(self) -> list[GroupInfo]:
        """Every group; one that ends meanwhile is left out."""
        names = self.names()
        found = (self._describe(names) if names else {}).values()
        return [group for group in found if group is not None]

    def describe(self, group_id: str) -> GroupInfo:
        if not group_id:
            raise InvalidValue("The id of a consumer group is empty. Give at least one character.")
        found = self._describe([group_id])[group_id]
        if found is None:
            raise GroupNotFound(group_id)
        return found

    def committed(self, group_id: str) -> dict[Partition, int]:
        """Where the group goes on, for each partition that it has committed."""
        from confluent_kafka import ConsumerGroupTopicPartitions

        def ask() -> Any:
            asked = [ConsumerGroupTopicPartitions(group_id)]
            futures = self._admin.client.list_consumer_group_offsets(
                asked, request_timeout=self._admin.timeout_s
            )
            return self._admin.result(futures[group_id], f"read the offsets of group {group_id!r}")

        answer = self._when_served(ask)
        return {(at.topic, at.partition): at.offset for at in answer.topic_partitions if at.offset >= 0}

    def committed_of_all(self, group_ids: Iterable[str]) -> dict[str, dict[Partition, int]]:
        """As `committed`, for many groups at a time; a group that ends meanwhile is left out."""
        from confluent_kafka import ConsumerGroupTopicPartitions

        found: dict[str, dict[Partition, int]] = {}
        for some in batched(group_ids, ASKED_AT_A_TIME):
            futures = {
                name: self._admin.client.list_consumer_group_offsets(
                    [ConsumerGroupTopicPartitions(name)], request_timeout=self._admin.timeout_s
                )[name]
                for name in some
            }
            for name, future in futures.items():
                try:
                    answer = self._admin.result(future, f"read the offsets of group {name!r}")
                except BrokerRefused:
                    continue
                found[name] = {
                    (at.topic, at.partition): at.offset for at in answer.topic_partitions if at.offset >= 0
                }
        return found

    def set_offsets(self, group_id: str, offsets: Mapping[Partition, int]) -> None:
        """Commit offsets for a group without members; Kafka refuses while it has some."""
        from confluent_kafka import ConsumerGroupTopicPartitions, TopicPartition

        if not offsets:
            return
        places = [TopicPartition(topic, index, offset) for (topic, index), offset in offsets.items()]
        doing = f"set the offsets of group {group_id!r}"

        def ask() -> None:
            asked = [ConsumerGroupTopicPartitions(group_id, places)]
            futures = self._admin.client.alter_consumer_group_offsets(
                asked, request_timeout=self._admin.timeout_s
            )
            for at in self._admin.result(futures[group_id], doing).topic_partitions:
                if at.error is not None:
                    raise self._admin.connection.error(at.error, f"{doing} for {at.topic}-{at.partition}")

        self._when_served(ask)

    def offsets_for(
        self, topics: Iterable[str], target: Target, committed: Mapping[Partition, int]
    ) -> dict[Partition, int]:
        """What `target` means for every partition of the topics, to a group that has `committed` so far."""
        there = {topic.name: topic for topic in self._admin.topics(with_offsets=False)}
        for name in topics:
            if name not in there:
                raise TopicNotFound(name)
        places = partitions_of(there[name] for name in topics)
        at_time = target.timestamp_ms
        return target.offsets(
            Places(
                first=self._admin.start_offsets(places),
                end=self._admin.end_offsets(places),
                committed=committed,
                at_time={} if at_time is None else self._admin.offsets_at(places, at_time),
            )
        )

    def delete(self, group_id: str) -> None:
        """Forget a group and its offsets; Kafka refuses while it has members."""
        self.describe(group_id)

        def ask() -> None:
            futures = self._admin.client.delete_consumer_groups(
                [group_id], request_timeout=self._admin.timeout_s
            )
            self._admin.result(futures[group_id], f"delete group {group_id!r}")

        self._when_served(ask)

    def lags(self, group_id: str) -> tuple[GroupInfo, list[PartitionLag]]:
        """The group, and its lag on each partition that it has committed and that still exists."""
        group = self.describe(group_id)
        committed = self.committed(group_id)
        ends = self._admin.end_offsets(committed)
        owners = {partition: member for member in group.members for partition in member.partitions}
        return group, [
            PartitionLag(*partition, offset, ends[partition], owners.get(partition))
            for partition, offset in sorted(committed.items())
            if partition in ends
        ]

    def with_times(self, lags: Iterable[PartitionLag]) -> list[PartitionLag]:
        """The same, with the time of the first record that was not read, where there is one."""
        from penstock.client.unread import first_unread_ms

        found = list(lags)
        behind = {(lag.topic, lag.partition): lag.committed_offset for lag in found if lag.lag}
        times = first_unread_ms(self._admin.connection, behind, self._admin.timeout_s)
        return [replace(lag, first_unread_ms=times.get((lag.topic, lag.partition))) for lag in found]

    def _describe(self, names: list[str]) -> dict[str, GroupInfo | None]:
        def ask() -> dict[str, GroupInfo | None]:
            futures = self._admin.client.describe_consumer_groups(
                names, request_timeout=self._admin.timeout_s
            )
            return {name: self._described(name, future) for name, future in futures.items()}

        return self._when_served(ask)

    def _described(self, name: str, future: Any) -> GroupInfo | None:
        """None when there is no such group: brokers say so by an error or by the state DEAD."""
        try:
            found = self._admin.result(future, f"describe consumer group {name!r}")
        except BrokerRefused as error:
            if error.kafka_code == GROUP_ID_NOT_FOUND:
                return None
            raise
        info = _group_info(found)
        return None if info.state == "DEAD" else info

    def _when_served(self, ask: Callable[[], T]) -> T:
        """What `ask` gives; asked again while a coordinator begins to serve, until the deadline."""
        end = time.monotonic() + self._admin.timeout_s
        while True:
            try:
                return ask()
            except BrokerRefused as error:
                if error.kafka_code not in MOVING or time.monotonic() > end:
                    raise
            time.sleep(RETRY_S)


def batched(names: Iterable[str], size: int) -> Iterator[list[str]]:
    """The names, `size` at a time."""
    waiting = iter(names)
    while some := list(islice(waiting, size)):
        yield some


def _group_info(found: Any) -> GroupInfo:
    return GroupInfo(
        found.group_id,
        found.state.name,
        found.type.name,
        found.is_simple_consumer_group,
        found.partition_assignor,
        found.coordinator.id if found.coordinator is not None else None,
        tuple(_member(member) for member in found.members),
    )


def _member(found: Any) -> GroupMember:
    assigned = found.assignment.topic_partitions if found.assignment is not None else []
    partitions = tuple(sorted((at.topic, at.partition) for at in assigned or ()))
    return GroupMember(found.member_id, found.group_instance_id, found.client_id, found.host, partitions)
