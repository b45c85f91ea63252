"""The options that say how keys and values are written: read once and checked, for source and sink alike."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Final

FIELDS: Final = ("key", "value")
FORMATS: Final = ("bytes", "string", "json", "avro", "protobuf")
URL: Final = "schema.registry.url"
NAMES: Final = frozenset(
    {
        URL,
        *(
            f"{field}{part}"
            for field in FIELDS
            for part in ("Format", "Subject", "Schema", "SchemaVersion", "Message")
        ),
    }
)
ERROR_NAMES: Final = frozenset({"onDecodeError", "deadLetterTopic"})
ON_ERROR: Final = ("fail", "null", "deadletter")
_WITH_SCHEMA: Final = ("json", "avro", "protobuf")


class FormatError(ValueError):
    """An option about formats that is missing or wrong; the message says which and what to write instead."""


@dataclass(frozen=True)
class FieldFormat:
    """How one of the two fields is written. Bytes are what both are when nothing is said."""

    field: str
    """`key` or `value`."""
    format: str
    registry_urls: str | None
    """None for values without a frame, whose schema is `schema`."""
    subject: str | None
    schema: str | None
    """The reader's schema (the writer's in a sink) as text; else the registry is asked for the subject's."""
    schema_version: int | None
    message: str | None

    @property
    def has_schema(self) -> bool:
        return self.format in _WITH_SCHEMA


@dataclass(frozen=True)
class DecodeErrors:
    """What becomes of a record that cannot be decoded."""

    action: str = "fail"
    topic: str | None = None
    """Where it goes with `deadletter`."""


def field_formats(given: Mapping[str, str], topics: Collection[str] | None) -> tuple[FieldFormat, ...]:
    """Those that are not bytes; `topics` are the only ones that there can be, None when that is open."""
    found = (_field_format(given, field, topics) for field in FIELDS)
    return tuple(each for each in found if each.format != "bytes")


def decode_errors(given: Mapping[str, str]) -> DecodeErrors:
    action, topic = given.get("ondecodeerror", "fail").lower(), given.get("deadlettertopic")
    if action not in ON_ERROR:
        raise FormatError(f"onDecodeError is fail, null or deadLetter, not {given['ondecodeerror']!r}")
    if (action == "deadletter") != bool(topic):
        raise FormatError("onDecodeError=deadLetter and deadLetterTopic go together: set both or neither")
    return DecodeErrors(action, topic)


def _field_format(given: Mapping[str, str], field: str, topics: Collection[str] | None) -> FieldFormat:
    format_ = given.get(f"{field}format", "bytes").lower()
    if format_ not in FORMATS:
        raise FormatError(f"{field}Format is one of {', '.join(FORMATS)}, not {given[f'{field}format']!r}")
    names = ("subject", "schema", "schemaversion", "message")
    subject, schema, version, message = (given.get(f"{field}{name}") for name in names)
    if format_ not in _WITH_SCHEMA:
        if any((subject, schema, version, message)):
            raise FormatError(f"{field}Format is {format_}, which has no schema: drop the options about it")
        return FieldFormat(field, format_, None, None, None, None, None)
    if message is not None and format_ != "protobuf":
        raise FormatError(f"{field}Message names a Protobuf message, and {field}Format is {format_}")
    if schema is not None and version is not None:
        raise FormatError(f"{field}Schema and {field}SchemaVersion exclude each other: set one")
    url = given.get(URL)
    if url is None and schema is None:
        raise FormatError(
            f"{field}Format={format_} needs {URL}, or {field}Schema with the schema's text for values "
            "that were written without a registry"
        )
    if url is not None and subject is None and topics is not None and len(topics) == 1:
        subject = f"{next(iter(topics))}-{field}"
    if url is not None and subject is None and schema is None:
        raise FormatError(f"set {field}Subject: with several topics there is no default subject")
    return FieldFormat(field, format_, url, subject, schema, _version(version, field), message)


def _version(text: str | None, field: str) -> int | None:
    if text is None or text.lower() == "latest":
        return None
    if not text.isdecimal() or int(text) < 1:
        raise FormatError(f"{field}SchemaVersion is a number from 1 on, or latest, not {text!r}")
    return int(text)
