"""Version 2: topics, partitions, offsets and brokers, asked for. Nothing is changed here."""

from __future__ import annotations

from typing import Any

from penstock.client.metadata import PartitionInfo, TopicInfo
from penstock.rest.errors import RestError, partition_not_found, topic_not_found
from penstock.rest.proxy import Proxy
from penstock.rest.v2.shapes import Brokers, Offsets, Partition, Replica, Topic
from penstock.web import Call

NO_LEADER = -1


class TopicRoutes:
    def __init__(self, proxy: Proxy) -> None:
        self._proxy = proxy

    async def root(self, _call: Call) -> dict[str, Any]:
        return {}

    async def brokers(self, call: Call) -> Brokers:
        cluster = await self._proxy.ask(self._proxy.clients(call).admin.cluster)
        return Brokers([broker.node_id for broker in cluster.brokers])

    async def all(self, call: Call) -> list[str]:
        _, topics = await self._proxy.ask(self._proxy.clients(call).admin.describe)
        return [topic.name for topic in topics]

    async def get(self, call: Call) -> Topic:
        found = await self._topic(call)
        entries = await self._proxy.ask(self._proxy.clients(call).admin.configs, found.name)
        configs = {entry.name: entry.value for entry in entries}
        return Topic(found.name, configs, [_partition(each) for each in found.partitions])

    async def partitions(self, call: Call) -> list[Partition]:
        return [_partition(each) for each in (await self._topic(call)).partitions]

    async def partition(self, call: Call) -> Partition:
        return _partition((await self._partition(call))[1])

    async def offsets(self, call: Call) -> Offsets:
        topic, found = await self._partition(call)
        asked = [(topic, found.index)]
        starts = await self._proxy.ask(self._proxy.clients(call).admin.start_offsets, asked)
        ends = await self._proxy.ask(self._proxy.clients(call).admin.end_offsets, asked)
        if not starts or not ends:
            raise RestError(40404, f"Leader not available: partition {found.index} of {topic!r} has none.")
        return Offsets(starts[asked[0]], ends[asked[0]])

    async def _topic(self, call: Call) -> TopicInfo:
        name = call.path["topic"]
        _, topics = await self._proxy.ask(self._proxy.clients(call).admin.describe)
        found = next((topic for topic in topics if topic.name == name), None)
        if found is None:
            raise topic_not_found(name)
        return found

    async def _partition(self, call: Call) -> tuple[str, PartitionInfo]:
        topic = await self._topic(call)
        index = partition_id(call, topic.name)
        found = next((each for each in topic.partitions if each.index == index), None)
        if found is None:
            raise partition_not_found(topic.name, index)
        return topic.name, found


def partition_id(call: Call, topic: str) -> int:
    """The partition that the path names; what is no number names none."""
    text = call.path["partition"]
    if not (text.isascii() and text.isdecimal() and len(text) <= 9):
        raise RestError(40402, f"Partition not found: {text!r:.80} is not the number of one of {topic!r}.")
    return int(text)


def _partition(found: PartitionInfo) -> Partition:
    replicas = [Replica(node, node == found.leader, node in found.isr) for node in found.replicas]
    return Partition(found.index, NO_LEADER if found.leader is None else found.leader, replicas)
