"""Version 3: settings of topics, brokers and the whole cluster; asked, set, taken back, several at once."""

from __future__ import annotations

from penstock.client.configs import Alteration, Owner
from penstock.rest.errors import RestError
from penstock.rest.proxy import Proxy
from penstock.rest.v3 import resources, shapes
from penstock.rest.v3.lookup import View, view_of
from penstock.rest.v3.shapes import Listing
from penstock.web import Call


class ConfigRoutes:
    """The path says whose settings: a topic's, a broker's or those of all brokers."""

    def __init__(self, proxy: Proxy) -> None:
        self._proxy = proxy

    async def all(self, call: Call) -> Listing[shapes.Config]:
        view, owner = await self._owner(call)
        entries = await self._proxy.ask(self._proxy.clients(call).configs.describe, owner)
        data = [resources.config(view.links, owner, each) for each in entries]
        at = view.links.listing(*resources.config_parts(owner))
        return Listing(f"{resources.config_kind(owner)}List", at, data)

    async def defaults(self, call: Call) -> Listing[shapes.Config]:
        """What a topic of that name would have, were it new: without its own settings."""
        view, owner = await self._owner(call)
        entries = await self._proxy.ask(self._proxy.clients(call).configs.of_new_topic)
        data = [resources.config(view.links, owner, each) for each in entries]
        at = view.links.listing("topics", owner.name, "default-configs")
        return Listing("KafkaTopicConfigList", at, data)

    async def list_of_all_topics(self, call: Call) -> Listing[shapes.Config]:
        view = await view_of(self._proxy, call)
        return await self._list_of(call, view, [Owner.topic(topic.name) for topic in view.topics], "topics")

    async def list_of_all_brokers(self, call: Call) -> Listing[shapes.Config]:
        view = await view_of(self._proxy, call)
        owners = [Owner.broker(broker.node_id) for broker in view.info.brokers]
        return await self._list_of(call, view, owners, "brokers")

    async def get(self, call: Call) -> shapes.Config:
        view, owner = await self._owner(call)
        entries = await self._proxy.ask(self._proxy.clients(call).configs.describe, owner)
        found = next((each for each in entries if each.name == call.path["name"]), None)
        if found is None:
            raise RestError(
                404, f"HTTP 404 Not Found: {owner} has no setting named {call.path['name']!r:.80}."
            )
        return resources.config(view.links, owner, found)

    async def put(self, call: Call) -> None:
        _, owner = await self._owner(call)
        change = Alteration(call.path["name"], call.body.value)
        await self._proxy.ask(self._proxy.clients(call).configs.alter, owner, [change])

    async def delete(self, call: Call) -> None:
        _, owner = await self._owner(call)
        change = Alteration(call.path["name"], None, "DELETE")
        await self._proxy.ask(self._proxy.clients(call).configs.alter, owner, [change])

    async def alter(self, call: Call) -> None:
        _, owner = await self._owner(call)
        changes = [Alteration(each.name, each.value, each.operation or "SET") for each in call.body.data]
        validate_only = call.body.validate_only
        configs = self._proxy.clients(call).configs
        await self._proxy.ask(lambda: configs.alter(owner, changes, validate_only=validate_only))

    async def _owner(self, call: Call) -> tuple[View, Owner]:
        view = await view_of(self._proxy, call)
        if "topic_name" in call.path:
            return view, Owner.topic(view.topic(call.path["topic_name"]).name)
        if "broker_id" in call.path:
            return view, Owner.broker(view.broker(call.path["broker_id"]).node_id)
        return view, Owner.cluster()

    async def _list_of(
        self, call: Call, view: View, owners: list[Owner], what: str
    ) -> Listing[shapes.Config]:
        data: list[shapes.Config] = []
        for owner in owners:
            entries = await self._proxy.ask(self._proxy.clients(call).configs.describe, owner)
            data += [resources.config(view.links, owner, each) for each in entries]
        kind = "KafkaTopicConfigList" if what == "topics" else "KafkaBrokerConfigList"
        return Listing(kind, view.links.listing(what, "-", "configs"), data)
