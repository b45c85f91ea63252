"""Version 2: consumer instances. Made, subscribed or assigned, read from, committed, sought, deleted."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from typing import TypeVar
from urllib.parse import quote

import msgspec
from starlette.responses import Response

from penstock.client.paging import Message
from penstock.rest.config import FETCH_MIN_BYTES_MAX, REQUEST_TIMEOUT_MS_MAX, RestSettings
from penstock.rest.consumer import Consumer, InstanceSettings, Partition
from penstock.rest.encoding import decode, undecodable
from penstock.rest.errors import (
    FORMAT_MISMATCH,
    INVALID_CONSUMER_CONFIG,
    INVALID_PAYLOAD,
    PARTITION_NOT_FOUND,
    RestError,
)
from penstock.rest.formats import EMBEDDED, RECORDS_TYPES, Format, content_type_of
from penstock.rest.proxy import Proxy, instance_of
from penstock.rest.schema_records import SchemaRecords
from penstock.rest.v2.reading_stream import STREAMS, ReadingStream
from penstock.rest.v2.shapes import (
    CommittedOffset,
    CommittedOffsets,
    CreatedInstance,
    NewInstance,
    OffsetsToCommit,
    Partitions,
    Positions,
    ReadRecord,
    SubscribedTopics,
    Subscription,
    TopicPartition,
)
from penstock.web import Call

T = TypeVar("T")
OFFSET_RESETS = ("earliest", "latest", "none")
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class ConsumerRoutes:
    def __init__(self, proxy: Proxy) -> None:
        self._proxy = proxy

    async def create(self, call: Call) -> CreatedInstance:
        group, body = call.path["group"], call.body or NewInstance()
        name = body.id or body.name or self._proxy.instances.new_name()
        own = instance_settings(group, name, body, self._proxy.settings)
        await self._proxy.instances.create(str(call.principal), own, self._proxy.settings_of(call))
        path = f"/consumers/{quote(group, safe='')}/instances/{quote(name, safe='')}"
        return CreatedInstance(name, self._proxy.url_of(call) + path)

    async def delete(self, call: Call) -> None:
        await self._proxy.instances.delete(instance_of(call))

    async def subscribe(self, call: Call) -> None:
        wanted: Subscription = call.body
        if (wanted.topics is None) == (wanted.topic_pattern is None):
            raise RestError(INVALID_PAYLOAD, "A subscription has either topics or topic_pattern.")
        if wanted.topics is not None:
            topics = wanted.topics
            await self._use(call, lambda consumer: consumer.subscribe(topics))
        else:
            pattern = wanted.topic_pattern or ""
            await self._use(call, lambda consumer: consumer.subscribe_pattern(pattern))

    async def subscription(self, call: Call) -> SubscribedTopics:
        return SubscribedTopics(await self._use(call, Consumer.subscription))

    async def unsubscribe(self, call: Call) -> None:
        await self._use(call, Consumer.unsubscribe)

    async def assign(self, call: Call) -> None:
        wanted = _partitions(call.body)
        await self._use(call, lambda consumer: consumer.assign(wanted))

    async def assignment(self, call: Call) -> Partitions:
        found = await self._use(call, Consumer.assignment)
        return Partitions([TopicPartition(*partition) for partition in found])

    async def records(self, call: Call) -> Response:
        own = self._proxy.instances.settings_of(instance_of(call))
        asked = RECORDS_TYPES.get(call.media_type)
        if asked is not None and asked is not own.format:
            raise RestError(
                FORMAT_MISMATCH,
                "The requested embedded data format does not match the deserializer for this consumer "
                "instance",
            )
        if call.media_type in STREAMS:
            return self._stream(call)
        timeout_s = _timeout_ms(call.number("timeout"), own.request_timeout_ms) / 1000
        bytes_max = self._proxy.settings.consumer_request_max_bytes
        max_bytes = min(call.number("max_bytes"), bytes_max) if call.number("max_bytes") > 0 else bytes_max
        schemas = self._proxy.clients(call).schemas
        body = await self._proxy.with_instance(
            call,
            lambda consumer: msgspec.json.encode(read_records(consumer, timeout_s, max_bytes, schemas)),
            timeout_s,
        )
        media_type = content_type_of(own.format) if asked is not None else call.media_type
        return Response(body, media_type=media_type)

    def _stream(self, call: Call) -> ReadingStream:
        schemas, max_bytes = (
            self._proxy.clients(call).schemas,
            self._proxy.settings.consumer_request_max_bytes,
        )

        async def read(seconds: float) -> list[ReadRecord]:
            return await self._proxy.with_instance(
                call, lambda consumer: read_records(consumer, seconds, max_bytes, schemas), seconds
            )

        asked = call.number("timeout")
        return ReadingStream(read, call.media_type, asked / 1000 if asked > 0 else None)

    async def commit(self, call: Call) -> list[str]:
        body: OffsetsToCommit | None = call.body
        offsets = None
        if body is not None and body.offsets is not None:
            offsets = {(at.topic, at.partition): (at.offset + 1, at.metadata or "") for at in body.offsets}
        wait = call.text("async") != "true"
        await self._use(call, lambda consumer: consumer.commit(offsets, wait=wait))
        return []

    async def committed(self, call: Call) -> CommittedOffsets:
        if call.body is None:
            raise RestError(PARTITION_NOT_FOUND, "Partition not found: the body names no partitions.")
        wanted = _partitions(call.body)
        found = await self._use(call, lambda consumer: consumer.committed(wanted))
        return CommittedOffsets([CommittedOffset(*at, offset, metadata) for at, offset, metadata in found])

    async def seek(self, call: Call) -> None:
        body: Positions = call.body
        offsets = {(at.topic, at.partition): at.offset for at in body.offsets}
        times = {(at.topic, at.partition): milliseconds(at.timestamp) for at in body.timestamps}

        def both(consumer: Consumer) -> None:
            consumer.seek(offsets)
            consumer.seek_to_times(times)

        await self._use(call, both)

    async def seek_to_beginning(self, call: Call) -> None:
        wanted = _partitions(call.body)
        await self._use(call, lambda consumer: consumer.seek_to_beginning(wanted))

    async def seek_to_end(self, call: Call) -> None:
        wanted = _partitions(call.body)
        await self._use(call, lambda consumer: consumer.seek_to_end(wanted))

    async def _use(self, call: Call, what: Callable[[Consumer], T]) -> T:
        return await self._proxy.with_instance(call, what)


def instance_settings(group: str, name: str, body: NewInstance, settings: RestSettings) -> InstanceSettings:
    """What the client asked for, checked, and the proxy's settings for the rest."""
    return InstanceSettings(
        group,
        name,
        _format(body.format),
        _offset_reset(body.auto_offset_reset, settings.consumer.get("auto.offset.reset", "latest")),
        _flag("auto.commit.enable", body.auto_commit_enable, default=True),
        _number("fetch.min.bytes", body.fetch_min_bytes, settings.fetch_min_bytes, -1, FETCH_MIN_BYTES_MAX),
        _number(
            "consumer.request.timeout.ms",
            body.request_timeout_ms,
            settings.consumer_request_timeout_ms,
            0,
            REQUEST_TIMEOUT_MS_MAX,
        ),
    )


def read_records(
    consumer: Consumer, timeout_s: float, max_bytes: int, schemas: SchemaRecords
) -> list[ReadRecord]:
    """What the answer has. A record that cannot be decoded ends it, and is an error if it is the first."""
    messages = consumer.read(timeout_s, max_bytes)
    records: list[ReadRecord] = []
    for at, message in enumerate(messages):
        try:
            records.append(_read_record(consumer.own.format, message, schemas))
        except (ValueError, RecursionError, RestError) as error:
            consumer.step_back(messages[at:])
            if records:
                break
            if isinstance(error, RestError):  # the Schema Registry does not answer
                raise
            where = (message.topic, message.partition, message.offset)
            raise undecodable(*where, consumer.own.format, str(error)) from error
    consumer.answered(messages[: len(records)])
    return records


def milliseconds(timestamp: str | int) -> int:
    """A time as Kafka has it, from ISO 8601 or already so."""
    if isinstance(timestamp, int):
        return timestamp
    try:
        at = datetime.fromisoformat(timestamp)
    except ValueError:
        raise RestError(
            INVALID_PAYLOAD, f"{timestamp!r:.80} is not a time; write it as 2026-01-31T12:00:00Z."
        ) from None
    return int(((at if at.tzinfo else at.replace(tzinfo=UTC)) - EPOCH).total_seconds() * 1000)


def _read_record(form: Format, message: Message, schemas: SchemaRecords) -> ReadRecord:
    if form.has_schema:
        key, value = schemas.decode(form, message.key), schemas.decode(form, message.value)
    else:
        key, value = decode(form, message.key), decode(form, message.value)
    return ReadRecord(message.topic, key, value, message.partition, message.offset)


def _partitions(body: Partitions) -> list[Partition]:
    return [(at.topic, at.partition) for at in body.partitions]


def _timeout_ms(asked: int, own: int) -> int:
    return own if asked <= 0 else min(asked, own)


def _format(text: str | None) -> Format:
    found = next((form for form in EMBEDDED if form.value == (text or "binary").lower()), None)
    if found is None:
        raise _invalid("format", text, [form.value for form in EMBEDDED])
    return found


def _offset_reset(text: str | None, default: str) -> str:
    value = default if text is None else text.lower()
    if value not in OFFSET_RESETS:
        raise _invalid("auto.offset.reset", text, OFFSET_RESETS)
    return "error" if value == "none" else value


def _flag(name: str, value: bool | str | None, *, default: bool) -> bool:
    if value is None or isinstance(value, bool):
        return default if value is None else value
    if value.lower() not in ("true", "false"):
        raise _invalid(name, value, ("true", "false"))
    return value.lower() == "true"


def _number(name: str, value: int | str | None, default: int, low: int, high: int) -> int:
    if value is None:
        return default
    digits = str(value)
    if not digits.removeprefix("-").isdecimal() or len(digits) > 12 or not low <= int(digits) <= high:
        raise _invalid(name, digits, (f"a whole number from {low} to {high}",))
    return int(digits)


def _invalid(name: str, value: str | None, allowed: Iterable[str]) -> RestError:
    return RestError(
        INVALID_CONSUMER_CONFIG,
        f"Invalid consumer configuration: {name} is {value!r:.80}; allowed: {', '.join(allowed)}.",
    )
