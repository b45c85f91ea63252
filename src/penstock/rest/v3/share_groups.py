"""Version 3: share groups (KIP-932), their consumers and what those have."""

from __future__ import annotations

from typing import Final

from msgspec import Struct

from penstock.client.api.admin.groups import MemberDescription
from penstock.client.api.admin.share_groups import ShareGroupDescription
from penstock.protocol.topic_partition import TopicPartition
from penstock.rest import access
from penstock.rest.errors import RestError
from penstock.rest.proxy import Proxy
from penstock.rest.v3.links import Links
from penstock.rest.v3.lookup import check_cluster
from penstock.rest.v3.shapes import Listing, Metadata, Related
from penstock.web import Call, Problem, Route

PLACE: Final = "share-groups"
GROUPS: Final = f"/v3/clusters/{{cluster_id}}/{PLACE}"
GROUP: Final = f"{GROUPS}/{{group_id}}"


class GroupPartition(Struct):
    kind: str
    metadata: Metadata
    topic_name: str
    partition_id: int
    partition: Related


class ShareGroup(Struct):
    kind: str
    metadata: Metadata
    cluster_id: str
    share_group_id: str
    state: str
    coordinator: Related
    consumers: Related
    consumer_count: int
    partition_count: int
    assigned_topic_partitions: list[GroupPartition]


class ShareConsumer(Struct):
    kind: str
    metadata: Metadata
    cluster_id: str
    group_id: str
    consumer_id: str
    client_id: str
    assignments: Related


class ShareAssignment(Struct):
    kind: str
    metadata: Metadata
    cluster_id: str
    group_id: str
    consumer_id: str
    topic_name: str
    partition_id: int
    partition: Related


class ShareGroupRoutes:
    def __init__(self, proxy: Proxy) -> None:
        self._proxy = proxy

    async def all(self, call: Call) -> Listing[ShareGroup]:
        links = await self._links(call)
        groups = self._proxy.clients(call).share_groups
        found = await self._proxy.ask(groups.describe_all)
        places = [await self._proxy.ask(groups.partitions, each.group_id) for each in found]
        data = [_group(links, each, at) for each, at in zip(found, places, strict=True)]
        return Listing("KafkaShareGroupList", links.listing(PLACE), data)

    async def get(self, call: Call) -> ShareGroup:
        links, found = await self._group(call)
        groups = self._proxy.clients(call).share_groups
        return _group(links, found, await self._proxy.ask(groups.partitions, found.group_id))

    async def delete(self, call: Call) -> None:
        await self._links(call)
        await self._proxy.ask(self._proxy.clients(call).share_groups.delete, call.path["group_id"])

    async def consumers(self, call: Call) -> Listing[ShareConsumer]:
        links, found = await self._group(call)
        data = [_consumer(links, found.group_id, each) for each in found.members]
        at = links.listing(PLACE, found.group_id, "consumers")
        return Listing("KafkaShareConsumerList", at, data)

    async def consumer(self, call: Call) -> ShareConsumer:
        links, group, member = await self._member(call)
        return _consumer(links, group.group_id, member)

    async def assignments(self, call: Call) -> Listing[ShareAssignment]:
        links, group, member = await self._member(call)
        data = [_assignment(links, group.group_id, member, at) for at in member.assignment]
        at = links.listing(PLACE, group.group_id, "consumers", member.consumer_id, "assignments")
        return Listing("KafkaShareGroupConsumerAssignmentList", at, data)

    async def _links(self, call: Call) -> Links:
        cluster_id = await check_cluster(self._proxy, call)
        return Links(self._proxy.url_of(call), cluster_id)

    async def _group(self, call: Call) -> tuple[Links, ShareGroupDescription]:
        links = await self._links(call)
        groups = self._proxy.clients(call).share_groups
        return links, await self._proxy.ask(groups.describe, call.path["group_id"])

    async def _member(self, call: Call) -> tuple[Links, ShareGroupDescription, MemberDescription]:
        links, group = await self._group(call)
        asked = call.path["consumer_id"]
        found = next((each for each in group.members if each.consumer_id == asked), None)
        if found is None:
            raise RestError(404, f"HTTP 404 Not Found: the group has no consumer {asked!r:.250}.")
        return links, group, found


def share_group_routes(proxy: Proxy, problems: tuple[Problem, ...]) -> tuple[Route, ...]:
    routes, sees, member = ShareGroupRoutes(proxy), access.SEES_GROUP, f"{GROUP}/consumers/{{consumer_id}}"
    return (
        Route("GET", GROUPS, routes.all, "The share groups.",
              access=sees, returns=Listing[ShareGroup], problems=problems),
        Route("GET", GROUP, routes.get, "A share group.",
              access=sees, returns=ShareGroup, problems=problems),
        Route("DELETE", GROUP, routes.delete, "Delete a share group without consumers.",
              access=access.DELETES_GROUP, status=204, problems=problems),
        Route("GET", f"{GROUP}/consumers", routes.consumers, "Its consumers.",
              access=sees, returns=Listing[ShareConsumer], problems=problems),
        Route("GET", member, routes.consumer, "A consumer of a share group.",
              access=sees, returns=ShareConsumer, problems=problems),
        Route("GET", f"{member}/assignments", routes.assignments, "The partitions that it has.",
              access=sees, returns=Listing[ShareAssignment], problems=problems),
    )  # fmt: skip


def _group(links: Links, found: ShareGroupDescription, places: list[TopicPartition]) -> ShareGroup:
    name = found.group_id
    assigned = {at for member in found.members for at in member.assignment}
    return ShareGroup(
        "KafkaShareGroup",
        links.metadata((PLACE, name), ("share-group", name)),
        links.cluster_id,
        name,
        found.group_state.upper(),
        links.related("brokers", found.coordinator),
        links.related(PLACE, name, "consumers"),
        len(found.members),
        len(assigned),
        [_group_partition(links, name, at) for at in sorted(assigned | set(places))],
    )


def _group_partition(links: Links, group_id: str, at: TopicPartition) -> GroupPartition:
    steps = (("share-group", group_id), ("topic-partition", f"{at.topic}:{at.partition}"))
    return GroupPartition(
        "KafkaShareGroupTopicPartition",
        links.metadata((PLACE, group_id, "assigned-topic-partitions", at.topic, at.partition), *steps),
        at.topic,
        at.partition,
        links.related("topics", at.topic, "partitions", at.partition),
    )


def _consumer(links: Links, group_id: str, found: MemberDescription) -> ShareConsumer:
    at = (PLACE, group_id, "consumers", found.consumer_id)
    return ShareConsumer(
        "KafkaShareGroupConsumer",
        links.metadata(at, ("share-group", group_id), ("consumer", found.consumer_id)),
        links.cluster_id,
        group_id,
        found.consumer_id,
        found.client_id,
        links.related(*at, "assignments"),
    )


def _assignment(
    links: Links, group_id: str, member: MemberDescription, at: TopicPartition
) -> ShareAssignment:
    path = (PLACE, group_id, "consumers", member.consumer_id, "assignments", at.topic, "partitions")
    steps = (("share-group", group_id), ("consumer", member.consumer_id), ("assignment", at.topic))
    return ShareAssignment(
        "KafkaShareGroupConsumerAssignment",
        links.metadata((*path, at.partition), *steps, ("partition", at.partition)),
        links.cluster_id,
        group_id,
        member.consumer_id,
        at.topic,
        at.partition,
        links.related("topics", at.topic, "partitions", at.partition),
    )
