"""The console's JSON API: a table of routes for `web`, and one method for each route.

Topic lists come from the shared feed, so a thousand callers cost the broker one question a second. An error
of the Kafka client becomes a status, a code and its sentence in `_answering`. Called by `app`.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

import msgspec

from penstock import __version__
from penstock.client.errors import (
    BrokerUnreachable,
    ClientError,
    GroupNotFound,
    InvalidValue,
    PartitionNotFound,
    TopicExists,
    TopicNotFound,
    Unsupported,
    is_denied,
)
from penstock.client.sending import NewRecord
from penstock.client.users import UserNotFound
from penstock.console.api_messages import message_routes
from penstock.console.api_operations import operation_routes
from penstock.console.api_security import security_routes
from penstock.console.api_services import service_routes
from penstock.console.overview import POLL_S
from penstock.console.query import STARTS, parse_number, parse_query
from penstock.console.rest_service import ServiceAway, ServiceRefused
from penstock.console.services import Services
from penstock.console.shapes import (
    ClusterShape,
    PageShape,
    ProducedShape,
    TopicDetailShape,
    TopicsShape,
    cluster_shape,
    decoded_shape,
    page_shape,
    produced_shape,
    topic_detail_shape,
    topic_shape,
)
from penstock.security.access import ByBroker
from penstock.security.operations import Operation, ResourceType
from penstock.web import Call, HttpError, Problem, Query, Route, Service, make_app
from penstock.web.application import App
from penstock.web.routes import Handler

BODY_BYTES_MAX: Final = 4 * 1024 * 1024
VALUE_BYTES: Final = 64 * 1024
VALUE_BYTES_MAX: Final = 1024 * 1024

CODES: Final[Mapping[type[ClientError], int]] = {
    InvalidValue: 40001,
    TopicNotFound: 40401,
    PartitionNotFound: 40402,
    GroupNotFound: 40403,
    UserNotFound: 40404,
    TopicExists: 40901,
    Unsupported: 50101,
    BrokerUnreachable: 50301,
    ServiceAway: 50302,
}
"""The first three digits are the status. Any other error of the broker's is 50201."""
OTHER: Final = 50201
DENIED: Final = 40301
"""The broker does not let the caller."""


class NewTopic(msgspec.Struct):
    """What the broker decides when a field is left out is its own default."""

    name: str
    partitions: int | None = None
    replication_factor: int | None = None
    configs: dict[str, str] = {}


class NewHeader(msgspec.Struct):
    name: str
    value: str | None = None


class NewMessage(msgspec.Struct):
    key: str | None = None
    value: str | None = None
    headers: list[NewHeader] = []
    partition: int | None = None


class Created(msgspec.Struct):
    name: str


def api_app(services: Services) -> App:
    """The API with its own description at /openapi.json."""
    summary = "Clusters, topics and messages, as the console's pages show them."
    service = Service("Penstock Console", __version__, summary, body_bytes_max=BODY_BYTES_MAX)
    return make_app(service, api_routes(services))


def api_routes(services: Services) -> tuple[Route, ...]:
    api = Api(services)
    one = "/api/topics/{name}"
    messages = f"{one}/messages"
    invalid = Problem(400, "A value that cannot be", CODES[InvalidValue])
    no_topic = Problem(404, "No such topic", CODES[TopicNotFound])
    no_partition = Problem(404, "No such partition", CODES[PartitionNotFound])
    table = (
        Route("GET", "/api/cluster", api.cluster, "The cluster and its brokers.", returns=ClusterShape,
              access=ByBroker(Operation.DESCRIBE, ResourceType.CLUSTER)),
        Route("GET", "/api/topics", api.topics, "Topics with records and rates.", returns=TopicsShape,
              access=ByBroker(Operation.DESCRIBE, ResourceType.TOPIC), query=_TOPICS),
        Route("POST", "/api/topics", api.create_topic, "Creates a topic.", body=NewTopic, returns=Created,
              status=201, access=ByBroker(Operation.CREATE, ResourceType.TOPIC),
              problems=(invalid, Problem(409, "The name is taken", CODES[TopicExists]))),
        Route("GET", one, api.topic, "Partitions with their offsets, and settings.",
              returns=TopicDetailShape, problems=(no_topic,),
              access=ByBroker(Operation.DESCRIBE, ResourceType.TOPIC)),
        Route("DELETE", one, api.delete_topic, "Deletes a topic.", status=204, problems=(no_topic,),
              access=ByBroker(Operation.DELETE, ResourceType.TOPIC)),
        Route("GET", messages, api.messages, "A page of messages.", returns=PageShape, query=_PAGE,
              access=ByBroker(Operation.READ, ResourceType.TOPIC),
              problems=(invalid, no_topic, no_partition)),
        Route("POST", messages, api.produce, "Writes a record.", body=NewMessage, returns=ProducedShape,
              status=201, access=ByBroker(Operation.WRITE, ResourceType.TOPIC),
              problems=(invalid, no_topic, no_partition)),
        *message_routes(services, (invalid, no_topic, no_partition)),
        *operation_routes(services, invalid, no_topic),
        *service_routes(services, invalid),
        *security_routes(services, invalid, no_topic),
    )  # fmt: skip
    away = Problem(503, "No broker answers", CODES[BrokerUnreachable])
    return tuple(
        replace(route, handler=_answering(route.handler), problems=(*route.problems, away)) for route in table
    )


class Api:
    """One method for each route."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._backend = services.backend

    async def cluster(self, _call: Call) -> ClusterShape:
        overview = await self._services.overview.current(2 * POLL_S)
        return cluster_shape(overview.snapshot, self._backend.bootstrap_servers)

    async def topics(self, call: Call) -> TopicsShape:
        overview = await self._services.overview.current(2 * POLL_S)
        search, internal = call.text("search").casefold(), call.flag("internal")
        chosen = [t for t in overview.topics if search in t.name.casefold() and (internal or not t.internal)]
        return {"topics": [topic_shape(topic) for topic in chosen]}

    async def create_topic(self, call: Call) -> Created:
        new: NewTopic = call.body
        await self._backend.create_topic(new.name, new.partitions, new.replication_factor, new.configs)
        self._services.overview.refresh()
        return Created(new.name)

    async def topic(self, call: Call) -> TopicDetailShape:
        return topic_detail_shape(await self._backend.topic(call.path["name"]))

    async def delete_topic(self, call: Call) -> None:
        await self._backend.delete_topic(call.path["name"])
        self._services.overview.refresh()

    async def messages(self, call: Call) -> PageShape:
        query = parse_query(call.path["name"], {name: call.text(name) for name in call.query})
        asked = call.text("max_bytes")
        max_bytes = parse_number("max_bytes", asked, least=1, most=VALUE_BYTES_MAX) if asked else VALUE_BYTES
        page = await self._backend.messages(query)
        shape = page_shape(page, max_bytes)
        for message, shown in zip(page.messages, shape["messages"], strict=True):
            for part, of_key in (("key", True), ("value", False)):
                decoded = await self._backend.decoded(message, of_key)
                if decoded is not None:
                    shown[part] = decoded_shape(decoded, shown[part], max_bytes)  # type: ignore[literal-required]
        return shape

    async def produce(self, call: Call) -> ProducedShape:
        new: NewMessage = call.body
        headers = tuple((header.name, _encoded(header.value)) for header in new.headers)
        record = NewRecord(_encoded(new.value), _encoded(new.key), headers, new.partition)
        return produced_shape(await self._backend.produce(call.path["name"], record))


_TOPICS: Final = (
    Query("search", str, "", "A part of the name."),
    Query("internal", bool, False, "Internal topics, too."),
)
_PAGE: Final = (
    Query("from", str, "", f"Where to start: {', '.join(STARTS)}."),
    Query("offset", str, "", "With from=offset: the offset in each partition."),
    Query("timestamp", str, "", "With from=timestamp: ISO 8601, or milliseconds since 1970."),
    Query("partition", str, "", "One partition's number only."),
    Query("limit", str, "", "How many messages, 50 when it is left out."),
    Query("cursor", str, "", "The `next` of the page before, instead of `from`."),
    Query("max_bytes", str, "", f"Where keys and values are cut, {VALUE_BYTES} when it is left out."),
)


def _answering(handler: Handler) -> Handler:
    """The handler, with every error of the Kafka client as a status, a code and a sentence."""

    @functools.wraps(handler)
    async def answer(call: Call) -> Any:
        try:
            return await handler(call)
        except ClientError as error:
            if isinstance(error, ServiceRefused):
                raise HttpError(error.status, str(error), error.error_code or error.status * 100) from error
            code = DENIED if is_denied(error) else CODES.get(type(error), OTHER)
            raise HttpError(code // 100, str(error), code) from error

    return answer


def _encoded(text: str | None) -> bytes | None:
    return None if text is None else text.encode()
