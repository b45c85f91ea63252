"""Version 2: producing to a topic or to one of its partitions, in the embedded format of the content type."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Raw

from penstock.client.errors import ClientError
from penstock.client.errors import TopicNotFound as UnknownTopic
from penstock.client.sending import NewRecord
from penstock.rest.clients import Clients
from penstock.rest.encoding import NULL, encode
from penstock.rest.errors import (
    AUTHENTICATION,
    AUTHORIZATION,
    KEY_SCHEMA_MISSING,
    TOPIC_NOT_FOUND,
    VALUE_SCHEMA_MISSING,
    RestError,
    from_client,
)
from penstock.rest.formats import PRODUCE_TYPES, Format
from penstock.rest.producing import Outcome
from penstock.rest.proxy import Proxy
from penstock.rest.schema_records import Registered
from penstock.rest.v2.shapes import PartitionOffset, Produce, Produced
from penstock.rest.v2.topics import partition_id
from penstock.web import Answer, Call
from penstock.web.negotiation import header


class ProduceRoutes:
    def __init__(self, proxy: Proxy) -> None:
        self._proxy = proxy

    async def to_topic(self, call: Call) -> Answer:
        return await self._produce(call, None)

    async def to_partition(self, call: Call) -> Answer:
        return await self._produce(call, partition_id(call, call.path["topic"]))

    async def _produce(self, call: Call, partition: int | None) -> Answer:
        topic, body = call.path["topic"], call.body
        assert isinstance(body, Produce)
        form = format_of(header(call.request, b"content-type"))
        clients = self._proxy.clients(call)
        key_schema, value_schema = await self._schemas(clients, form, topic, body)
        records = [
            NewRecord(
                _encode(form, value_schema, each.value, VALUE_SCHEMA_MISSING, "values", "value"),
                _encode(form, key_schema, each.key, KEY_SCHEMA_MISSING, "keys", "key"),
                partition=partition if each.partition is None else each.partition,
            )
            for each in body.records
        ]
        outcomes = await clients.producing.produce(topic, records)
        offsets = [_offset(outcome) for outcome in outcomes]
        ids = (schema.schema_id if schema is not None else None for schema in (key_schema, value_schema))
        return Answer(Produced(offsets, *ids), _status(topic, outcomes, offsets))

    async def _schemas(
        self, clients: Clients, form: Format, topic: str, body: Produce
    ) -> tuple[Registered | None, Registered | None]:
        if not form.has_schema:
            return None, None
        key = await self._schema(clients, form, f"{topic}-key", body.key_schema, body.key_schema_id)
        value = await self._schema(clients, form, f"{topic}-value", body.value_schema, body.value_schema_id)
        return key, value

    async def _schema(
        self, clients: Clients, form: Format, subject: str, text: str | None, schema_id: int | None
    ) -> Registered | None:
        if schema_id is not None:
            return await self._proxy.ask(clients.schemas.by_id, subject, schema_id, form)
        if text is not None:
            return await self._proxy.ask(clients.schemas.by_text, form, subject, text)
        return None


def format_of(content_type: str) -> Format:
    """The media types were checked before: what is not there is base64, as with Confluent's."""
    return PRODUCE_TYPES.get(content_type.partition(";")[0].strip().lower(), Format.BINARY)


def _encode(
    form: Format, schema: Registered | None, data: Raw, missing: int, these: str, this: str
) -> bytes | None:
    if not form.has_schema:
        return encode(form, data)
    if schema is not None:
        return schema.encode(data) if bytes(data) != NULL else None
    if bytes(data) == NULL:
        return None
    raise RestError(missing, f"Request includes {these} but does not include {this} schema")


def _offset(outcome: Outcome) -> PartitionOffset:
    if not isinstance(outcome, ClientError):
        return PartitionOffset(outcome.partition, outcome.offset, None, None)
    code = TOPIC_NOT_FOUND if isinstance(outcome, UnknownTopic) else from_client(outcome).error_code
    return PartitionOffset(None, None, code, str(outcome))


def _status(topic: str, outcomes: Sequence[Outcome], offsets: Sequence[PartitionOffset]) -> int:
    """200 also when records failed, which say so themselves; not when the client may not write at all, and
    not when there is nothing to write to.
    """
    codes = {each.error_code for each in offsets}
    if codes & {AUTHENTICATION, AUTHORIZATION}:
        return 401 if AUTHENTICATION in codes else 403
    if codes == {TOPIC_NOT_FOUND}:
        raise RestError(TOPIC_NOT_FOUND, str(outcomes[0]))
    return 200
