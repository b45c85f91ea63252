"""Version 3: consumer groups, their consumers, assignments and lag."""

from __future__ import annotations

from penstock.client.metadata import GroupInfo, GroupMember, PartitionLag
from penstock.rest.errors import RestError
from penstock.rest.proxy import Proxy
from penstock.rest.v3 import resources, shapes
from penstock.rest.v3.links import Links
from penstock.rest.v3.lookup import number, view_of
from penstock.rest.v3.shapes import Listing
from penstock.web import Call


class GroupRoutes:
    def __init__(self, proxy: Proxy) -> None:
        self._proxy = proxy

    async def all(self, call: Call) -> Listing[shapes.ConsumerGroup]:
        links = await self._links(call)
        found = await self._proxy.ask(self._proxy.clients(call).groups.describe_all)
        data = [resources.group(links, each) for each in found]
        return Listing("KafkaConsumerGroupList", links.listing("consumer-groups"), data)

    async def get(self, call: Call) -> shapes.ConsumerGroup:
        links, found = await self._group(call)
        return resources.group(links, found)

    async def consumers(self, call: Call) -> Listing[shapes.Consumer]:
        links, found = await self._group(call)
        data = [resources.member(links, found.group_id, each) for each in found.members]
        at = links.listing("consumer-groups", found.group_id, "consumers")
        return Listing("KafkaConsumerList", at, data)

    async def consumer(self, call: Call) -> shapes.Consumer:
        links, group, member = await self._member(call)
        return resources.member(links, group.group_id, member)

    async def assignments(self, call: Call) -> Listing[shapes.Assignment]:
        links, group, member = await self._member(call)
        data = [resources.assignment(links, group.group_id, member, *at) for at in member.partitions]
        parts = ("consumer-groups", group.group_id, "consumers", member.member_id, "assignments")
        return Listing("KafkaConsumerAssignmentList", links.listing(*parts), data)

    async def assignment(self, call: Call) -> shapes.Assignment:
        links, group, member = await self._member(call)
        at = _partition(call)
        if at not in member.partitions:
            raise RestError(404, f"HTTP 404 Not Found: that consumer does not have {at[0]:.250}-{at[1]}.")
        return resources.assignment(links, group.group_id, member, *at)

    async def lags(self, call: Call) -> Listing[shapes.Lag]:
        links, group, found = await self._lags(call)
        data = [resources.lag(links, group.group_id, each) for each in found]
        at = links.listing("consumer-groups", group.group_id, "lags")
        return Listing("KafkaConsumerLagList", at, data)

    async def lag(self, call: Call) -> shapes.Lag:
        links, group, lags = await self._lags(call)
        at = _partition(call)
        found = next((each for each in lags if (each.topic, each.partition) == at), None)
        if found is None:
            raise RestError(404, f"HTTP 404 Not Found: the group has no offset of {at[0]:.250}-{at[1]}.")
        return resources.lag(links, group.group_id, found)

    async def lag_summary(self, call: Call) -> shapes.LagSummary:
        links, group, lags = await self._lags(call)
        if not lags:
            raise RestError(404, f"HTTP 404 Not Found: group {group.group_id!r:.250} has committed nothing.")
        return resources.lag_summary(links, group.group_id, lags)

    async def _links(self, call: Call) -> Links:
        return (await view_of(self._proxy, call)).links

    async def _group(self, call: Call) -> tuple[Links, GroupInfo]:
        links = await self._links(call)
        return links, await self._proxy.ask(
            self._proxy.clients(call).groups.describe, call.path["consumer_group_id"]
        )

    async def _member(self, call: Call) -> tuple[Links, GroupInfo, GroupMember]:
        links, group = await self._group(call)
        asked = call.path["consumer_id"]
        found = next((each for each in group.members if each.member_id == asked), None)
        if found is None:
            raise RestError(404, f"HTTP 404 Not Found: the group has no consumer {asked!r:.250}.")
        return links, group, found

    async def _lags(self, call: Call) -> tuple[Links, GroupInfo, list[PartitionLag]]:
        links = await self._links(call)
        group, lags = await self._proxy.ask(
            self._proxy.clients(call).groups.lags, call.path["consumer_group_id"]
        )
        return links, group, lags


def _partition(call: Call) -> tuple[str, int]:
    return call.path["topic_name"], number(call.path["partition_id"], 404, "partition")
