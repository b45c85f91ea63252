"""Version 3: partitions whose replicas are on the move; of the cluster, of a topic, of one partition."""

from __future__ import annotations

from msgspec import Struct

from penstock.client.reassignments import Reassignment, list_reassignments
from penstock.rest.errors import RestError
from penstock.rest.proxy import Proxy
from penstock.rest.v3.lookup import View, view_of
from penstock.rest.v3.shapes import Listing, Metadata, Related
from penstock.web import Call


class ReassignmentShape(Struct):
    kind: str
    metadata: Metadata
    cluster_id: str
    topic_name: str
    partition_id: int
    adding_replicas: list[int]
    removing_replicas: list[int]
    replicas: Related


class ReassignmentRoutes:
    def __init__(self, proxy: Proxy) -> None:
        self._proxy = proxy

    async def all(self, call: Call) -> Listing[ReassignmentShape]:
        view = await view_of(self._proxy, call)
        found = await self._proxy.ask(list_reassignments, self._proxy.clients(call).admin)
        return _listing(view, "-", found)

    async def of_topic(self, call: Call) -> Listing[ReassignmentShape]:
        view = await view_of(self._proxy, call)
        topic = view.topic(call.path["topic_name"]).name
        found = await self._proxy.ask(list_reassignments, self._proxy.clients(call).admin)
        return _listing(view, topic, [each for each in found if each.topic == topic])

    async def of_partition(self, call: Call) -> ReassignmentShape:
        view = await view_of(self._proxy, call)
        topic = view.topic(call.path["topic_name"])
        partition = view.partition(topic, call.path["partition_id"])
        for each in await self._proxy.ask(list_reassignments, self._proxy.clients(call).admin):
            if (each.topic, each.partition) == (topic.name, partition.index):
                return _shape(view, each)
        raise RestError(404, f"HTTP 404 Not Found: {topic.name}-{partition.index} is not being reassigned.")


def _listing(view: View, topic: str, found: list[Reassignment]) -> Listing[ReassignmentShape]:
    at = view.links.listing("topics", topic, "partitions", "-", "reassignment")
    return Listing("KafkaReassignmentList", at, [_shape(view, each) for each in found])


def _shape(view: View, found: Reassignment) -> ReassignmentShape:
    place = ("topics", found.topic, "partitions", found.partition)
    names = (("topic", found.topic), ("partition", found.partition), ("reassignment", found.partition))
    return ReassignmentShape(
        "KafkaReassignment",
        view.links.metadata((*place, "reassignment"), *names),
        view.links.cluster_id,
        found.topic,
        found.partition,
        list(found.adding),
        list(found.removing),
        view.links.related(*place, "replicas"),
    )
