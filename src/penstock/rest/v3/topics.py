"""Version 3: clusters, brokers, topics, partitions and replicas."""

from __future__ import annotations

from penstock.client.admin import check_topic_name
from penstock.client.errors import InvalidValue
from penstock.client.metadata import TopicInfo
from penstock.rest.errors import INVALID_PAYLOAD, RestError
from penstock.rest.proxy import Proxy
from penstock.rest.v3 import resources, shapes
from penstock.rest.v3.lookup import View, number, view_of
from penstock.rest.v3.requests import NewTopic
from penstock.rest.v3.shapes import Listing
from penstock.web import Answer, Call


class ClusterRoutes:
    def __init__(self, proxy: Proxy) -> None:
        self._proxy = proxy

    async def clusters(self, call: Call) -> Listing[shapes.Cluster]:
        view = await view_of(self._proxy, call)
        return Listing("KafkaClusterList", view.links.clusters(), [resources.cluster(view.links, view.info)])

    async def cluster(self, call: Call) -> shapes.Cluster:
        view = await view_of(self._proxy, call)
        return resources.cluster(view.links, view.info)

    async def brokers(self, call: Call) -> Listing[shapes.Broker]:
        view = await view_of(self._proxy, call)
        data = [resources.broker(view.links, each) for each in view.info.brokers]
        return Listing("KafkaBrokerList", view.links.listing("brokers"), data)

    async def broker(self, call: Call) -> shapes.Broker:
        view = await view_of(self._proxy, call)
        return resources.broker(view.links, view.broker(call.path["broker_id"]))

    async def replicas_of_broker(self, call: Call) -> Listing[shapes.Replica]:
        view = await view_of(self._proxy, call)
        node_id = view.broker(call.path["broker_id"]).node_id
        data = [
            resources.replica(view.links, topic.name, partition, node_id)
            for topic in view.topics
            for partition in topic.partitions
            if node_id in partition.replicas
        ]
        at = view.links.listing("brokers", node_id, "partition-replicas")
        return Listing("KafkaReplicaList", at, data)


class TopicRoutes:
    def __init__(self, proxy: Proxy) -> None:
        self._proxy = proxy

    async def all(self, call: Call) -> Listing[shapes.Topic]:
        view = await view_of(self._proxy, call)
        data = [resources.topic(view.links, each) for each in view.topics]
        return Listing("KafkaTopicList", view.links.listing("topics"), data)

    async def get(self, call: Call) -> shapes.Topic:
        view = await view_of(self._proxy, call)
        return resources.topic(view.links, view.topic(call.path["topic_name"]))

    async def create(self, call: Call) -> Answer:
        view = await view_of(self._proxy, call)
        wanted: NewTopic = call.body
        try:
            check_topic_name(wanted.topic_name)
        except InvalidValue as error:
            raise RestError(INVALID_PAYLOAD, f"Payload error. {error}") from error
        replicas = _replicas(wanted.replicas_assignments or {})
        configs = {each.name: each.value or "" for each in wanted.configs}

        def ask() -> None:
            self._proxy.clients(call).admin.create_topic(
                wanted.topic_name,
                wanted.partitions_count,
                wanted.replication_factor,
                configs,
                replicas=replicas,
                validate_only=wanted.validate_only,
            )

        await self._proxy.ask(ask)
        self_url = view.links.url("topics", wanted.topic_name)
        if wanted.validate_only:
            return Answer(_imagined(view, wanted, replicas), 200, {"location": self_url})
        made = (await view_of(self._proxy, call)).topic(wanted.topic_name)
        return Answer(resources.topic(view.links, made), 201, {"location": self_url})

    async def grow(self, call: Call) -> shapes.Topic:
        view = await view_of(self._proxy, call)
        name = view.topic(call.path["topic_name"]).name
        await self._proxy.ask(
            self._proxy.clients(call).admin.add_partitions, name, call.body.partitions_count
        )
        return resources.topic(view.links, (await view_of(self._proxy, call)).topic(name))

    async def delete(self, call: Call) -> None:
        view = await view_of(self._proxy, call)
        await self._proxy.ask(
            self._proxy.clients(call).admin.delete_topic, view.topic(call.path["topic_name"]).name
        )

    async def partitions(self, call: Call) -> Listing[shapes.Partition]:
        view = await view_of(self._proxy, call)
        topic = view.topic(call.path["topic_name"])
        data = [resources.partition(view.links, topic.name, each) for each in topic.partitions]
        return Listing("KafkaPartitionList", view.links.listing("topics", topic.name, "partitions"), data)

    async def partition(self, call: Call) -> shapes.Partition:
        view = await view_of(self._proxy, call)
        topic = view.topic(call.path["topic_name"])
        return resources.partition(view.links, topic.name, view.partition(topic, call.path["partition_id"]))

    async def offsets(self, call: Call) -> shapes.PartitionWithOffsets:
        view = await view_of(self._proxy, call)
        topic = view.topic(call.path["topic_name"])
        index = view.partition(topic, call.path["partition_id"]).index
        at = (topic.name, index)
        starts = await self._proxy.ask(self._proxy.clients(call).admin.start_offsets, [at])
        ends = await self._proxy.ask(self._proxy.clients(call).admin.end_offsets, [at])
        if at not in starts or at not in ends:
            raise RestError(40404, f"Leader not available: partition {index} of {topic.name!r} has none.")
        return resources.partition_offsets(view.links, topic.name, index, starts[at], ends[at])

    async def replicas(self, call: Call) -> Listing[shapes.Replica]:
        view = await view_of(self._proxy, call)
        topic = view.topic(call.path["topic_name"])
        found = view.partition(topic, call.path["partition_id"])
        data = [resources.replica(view.links, topic.name, found, node) for node in found.replicas]
        at = view.links.listing("topics", topic.name, "partitions", found.index, "replicas")
        return Listing("KafkaReplicaList", at, data)

    async def replica(self, call: Call) -> shapes.Replica:
        view = await view_of(self._proxy, call)
        topic = view.topic(call.path["topic_name"])
        found = view.partition(topic, call.path["partition_id"])
        node_id = number(call.path["broker_id"], 404, "broker")
        if node_id not in found.replicas:
            raise RestError(404, f"HTTP 404 Not Found: broker {node_id} has no replica of it.")
        return resources.replica(view.links, topic.name, found, node_id)


def _replicas(assignments: dict[str, list[int]]) -> list[list[int]] | None:
    """The brokers of partition 0, 1 and so on; none may be missing."""
    if not assignments:
        return None
    by_index = {number(text, INVALID_PAYLOAD, "partition"): nodes for text, nodes in assignments.items()}
    if sorted(by_index) != list(range(len(by_index))):
        raise RestError(
            INVALID_PAYLOAD, "Payload error. replicas_assignments must name partitions 0, 1 and so on."
        )
    return [by_index[index] for index in range(len(by_index))]


def _imagined(view: View, wanted: NewTopic, replicas: list[list[int]] | None) -> shapes.Topic:
    """The topic that would be; what the broker would have chosen is 0."""
    made = resources.topic(view.links, TopicInfo(wanted.topic_name, ()))
    made.partitions_count = len(replicas) if replicas else wanted.partitions_count or 0
    made.replication_factor = len(replicas[0]) if replicas else wanted.replication_factor or 0
    return made
