"""Version 3: from the JSON of a record to the bytes that the broker gets, by format or by schema."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from typing import Final, NamedTuple

import msgspec

from penstock.client.sending import NewRecord
from penstock.rest.encoding import ABSENT, NULL, encode, from_base64
from penstock.rest.errors import RestError, bad_request
from penstock.rest.formats import Format
from penstock.rest.proxy import Proxy
from penstock.rest.schema_records import Registered, SchemaRecords
from penstock.rest.v2.consumers import milliseconds
from penstock.rest.v3.requests import Data, ProduceRecord, WrittenData
from penstock.web import Call

FORMATS = {form.name: form for form in Format}
PLAIN = {form.name: form for form in Format if not form.has_schema}
LINE_END: Final = b"\r\n"
STRATEGIES = ("TOPIC_NAME", "RECORD_NAME", "TOPIC_RECORD_NAME")


@dataclass(frozen=True, slots=True)
class Encoded:
    """A key or a value as bytes, and what the answer says of it."""

    data: bytes | None
    about: WrittenData | None


NOTHING = Encoded(None, None)


class Plain(NamedTuple):
    """A record without schemas, and the end of its line: what the answer says of its key and its value."""

    value: bytes | None
    key: bytes | None
    end: bytes


def encode_plain(record: ProduceRecord) -> Plain | None:
    """A record without schemas and without anything that is rare; None for others."""
    if record.partition_id is not None or record.headers or record.timestamp is not None:
        return None
    key, value = record.key, record.value
    if not (_is_plain(key) and _is_plain(value)):
        return None
    made_key = None if key is None else encode(PLAIN[key.type or ""], key.data)
    made = None if value is None else encode(PLAIN[value.type or ""], value.data)
    end = _line_end(
        key.type if key else None, len(made_key or b""), value.type if value else None, len(made or b"")
    )
    return Plain(made, made_key, end)


def _is_plain(data: Data | None) -> bool:
    return data is None or (
        data.type in PLAIN
        and data.schema_id is None
        and data.schema is None
        and data.subject is None
        and data.schema_version is None
        and data.subject_name_strategy is None
    )


@lru_cache(maxsize=4096)
def _line_end(key: str | None, key_bytes: int, value: str | None, value_bytes: int) -> bytes:
    """From the timestamp to the end of the line."""
    about = {
        name: WrittenData(form, size=size)
        for name, form, size in (("key", key, key_bytes), ("value", value, value_bytes))
        if form is not None
    }
    return (b"," + msgspec.json.encode(about)[1:] if about else b"}") + LINE_END


def line_start(cluster_id: str, topic: str) -> bytes:
    """Of the answers to the records of one stream, to their partitions."""
    told = {"error_code": 200, "cluster_id": cluster_id, "topic_name": topic}
    return msgspec.json.encode(told)[:-1] + b',"partition_id":'


@lru_cache(maxsize=1024)
def line_time(timestamp_ms: int | None) -> bytes:
    at = iso_time(timestamp_ms)
    return b"" if at is None else b',"timestamp":"' + at.encode() + b'"'


async def encode_record(
    proxy: Proxy, call: Call, topic: str, record: ProduceRecord
) -> tuple[NewRecord, Encoded, Encoded]:
    """The record, its key and its value."""
    if record.partition_id is not None and not 0 <= record.partition_id < 2**31:
        raise RestError(
            40402, f"Partition not found: topic {topic!r} has no partition {record.partition_id}."
        )
    key = await _encode(proxy, call, topic, record.key, "key")
    value = await _encode(proxy, call, topic, record.value, "value")
    headers = tuple(
        (each.name, None if each.value is None else from_base64(each.value, "header"))
        for each in record.headers
    )
    at = milliseconds(record.timestamp) if record.timestamp is not None else None
    return NewRecord(value.data, key.data, headers, record.partition_id, at), key, value


@lru_cache(maxsize=1024)
def iso_time(timestamp_ms: int | None) -> str | None:
    if timestamp_ms is None:
        return None
    try:
        at = datetime.fromtimestamp(timestamp_ms / 1000, UTC)
    except (ValueError, OverflowError, OSError):  # years that Python does not have
        return None
    return at.isoformat(timespec="milliseconds").replace("+00:00", "Z")


async def _encode(proxy: Proxy, call: Call, topic: str, data: Data | None, what: str) -> Encoded:
    if data is None:
        return NOTHING
    check(data)
    form = FORMATS[data.type] if data.type else None
    if form is not None and not form.has_schema:
        plain = encode(form, data.data)
        return Encoded(plain, WrittenData(form.name, size=len(plain or b"")))
    if data == Data(ABSENT):
        return Encoded(None, None)
    schema = await proxy.ask(_schema, proxy.clients(call).schemas, topic, form, data, what)
    made = schema.encode(data.data) if bytes(data.data) != NULL else None
    about = WrittenData(
        schema.format.name, schema.subject, schema.schema_id, schema.version, len(made or b"")
    )
    return Encoded(made, about)


def check(data: Data) -> None:
    """What may be said together, as Confluent's has it."""
    if data.type is not None and data.type not in FORMATS:
        raise bad_request(f"Bad Request: type={data.type!r:.80} is not one of {', '.join(FORMATS)}.")
    if data.subject is not None and data.subject_name_strategy is not None:
        raise bad_request("Bad Request: Only one of 'subject_name_strategy' or 'subject' can be used.")
    if data.subject_name_strategy is not None and data.subject_name_strategy not in STRATEGIES:
        raise bad_request(
            f"Bad Request: subject_name_strategy={data.subject_name_strategy!r:.80} is not one of "
            f"{', '.join(STRATEGIES)}."
        )
    named = {
        "schema_id": data.schema_id,
        "schema_version": data.schema_version,
        "schema": data.schema,
    }
    given = [name for name, value in named.items() if value is not None]
    if len(given) > 1:
        raise bad_request("Bad Request: Only one of 'schema_id', 'schema_version' or 'schema' can be used.")
    _check_type(data, given)


def _check_type(data: Data, given: list[str]) -> None:
    if data.type is None:
        if given == ["schema"]:
            raise bad_request("Bad Request: 'schema' needs a 'type': AVRO, JSONSCHEMA or PROTOBUF.")
    elif FORMATS[data.type].has_schema:
        if given != ["schema"]:
            said = f"'{given[0]}'" if given else "'schema_version=latest'"
            raise bad_request(f"Bad Request: {said} cannot be used with 'type'.")
    else:
        more = [name for name in ("subject", "subject_name_strategy") if getattr(data, name) is not None]
        if given or more:
            raise bad_request(f"Bad Request: 'type={data.type}' cannot be used with '{(given + more)[0]}'.")


def _schema(schemas: SchemaRecords, topic: str, form: Format | None, data: Data, what: str) -> Registered:
    if data.schema_id is not None:
        name = "" if _by_topic(data) else schemas.name_by_id(data.schema_id)
        return schemas.by_id(subject_of(data, topic, what, name), data.schema_id)
    if data.schema is not None and form is not None:
        name = "" if _by_topic(data) else schemas.name_of(form, data.schema)
        return schemas.by_text(form, subject_of(data, topic, what, name), data.schema)
    if not _by_topic(data):
        raise bad_request(
            f"Bad Request: Cannot use subject_name_strategy={data.subject_name_strategy} "
            "without schema_id or schema."
        )
    return schemas.by_version(subject_of(data, topic, what, ""), data.schema_version)


def _by_topic(data: Data) -> bool:
    """Whether the subject is known without the schema."""
    return data.subject is not None or data.subject_name_strategy in (None, "TOPIC_NAME")


def subject_of(data: Data, topic: str, what: str, name: str) -> str:
    if data.subject is not None:
        return data.subject
    if not name and not _by_topic(data):
        raise bad_request(
            f"Bad Request: subject_name_strategy={data.subject_name_strategy} needs a schema with a name. "
            "A JSON Schema is named by its title."
        )
    if data.subject_name_strategy == "RECORD_NAME":
        return name
    if data.subject_name_strategy == "TOPIC_RECORD_NAME":
        return f"{topic}-{name}"
    return f"{topic}-{what}"
