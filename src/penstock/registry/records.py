"""Records of `_schemas` as Confluent's registry writes them: JSON keys by `keytype`, JSON values.

SCHEMA          subject and version → id, GUID, schema, type, references, whether it is deleted
CONFIG, MODE    subject (null for the whole registry) → settings, mode
DELETE_SUBJECT  subject → the last version that is deleted with it
CLEAR_SUBJECT   subject: all its versions are gone for good
CONTEXT         tenant and context: the context exists, also without a subject
NOOP            nothing; with a value, the highest id that was ever given (ids are never reused)

Keys are written byte for byte as Confluent's, because compaction and tombstones go by bytes. Fields of values
that this registry does not know are dropped when it writes the record again.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

SCHEMA: Final = "SCHEMA"
CONFIG: Final = "CONFIG"
MODE: Final = "MODE"
DELETE_SUBJECT: Final = "DELETE_SUBJECT"
CLEAR_SUBJECT: Final = "CLEAR_SUBJECT"
CONTEXT: Final = "CONTEXT"
NOOP: Final = "NOOP"
TENANT: Final = "default"
_MAGIC: Final = {SCHEMA: 1}


class Key(msgspec.Struct, frozen=True, omit_defaults=True):
    keytype: str
    subject: str | None = None
    version: int | None = None
    context: str | None = None
    """Of a CONTEXT only."""


class ReferenceValue(msgspec.Struct, frozen=True):
    """A reference in a schema, as requests, answers and records have it."""

    name: str
    subject: str
    version: int


class SchemaValue(msgspec.Struct, frozen=True, omit_defaults=True, rename="camel"):
    subject: str
    version: int
    id: int
    schema: str
    schema_type: str = "AVRO"
    references: tuple[ReferenceValue, ...] = ()
    metadata: dict[str, Any] | None = None
    rule_set: dict[str, Any] | None = None
    guid: str | None = None
    deleted: bool = False
    ts: int | None = None
    """When the record was written, in milliseconds; from the record's own time when it is not in it."""


class ConfigValue(msgspec.Struct, frozen=True, omit_defaults=True, rename="camel"):
    """Settings; None leaves the decision to the wider scope."""

    compatibility_level: str | None = None
    compatibility_group: str | None = None
    normalize: bool | None = None
    alias: str | None = None
    validate_fields: bool | None = None
    validate_rules: bool | None = None
    compatibility_policy: str | None = None
    default_metadata: dict[str, Any] | None = None
    override_metadata: dict[str, Any] | None = None
    default_rule_set: dict[str, Any] | None = None
    override_rule_set: dict[str, Any] | None = None


class ModeValue(msgspec.Struct, frozen=True):
    mode: str


class DeleteSubjectValue(msgspec.Struct, frozen=True):
    subject: str
    version: int


class ContextValue(msgspec.Struct, frozen=True):
    tenant: str
    context: str


class NoopValue(msgspec.Struct, frozen=True, rename="camel"):
    max_id: int = 0
    context: str = "."


Value = SchemaValue | ConfigValue | ModeValue | DeleteSubjectValue | ContextValue | NoopValue | None
_VALUES: Final[dict[str, type]] = {
    SCHEMA: SchemaValue,
    CONFIG: ConfigValue,
    MODE: ModeValue,
    DELETE_SUBJECT: DeleteSubjectValue,
    CONTEXT: ContextValue,
    NOOP: NoopValue,
}


class Record(msgspec.Struct, frozen=True):
    """A value of None takes the key away."""

    key: Key
    value: Value


def encode(record: Record) -> tuple[bytes, bytes | None]:
    key = encode_key(record.key)
    if record.value is None:
        return key, None
    value = msgspec.to_builtins(record.value)
    if isinstance(record.value, SchemaValue):
        value.pop("ts", None)  # the record has a time of its own
        value["deleted"] = record.value.deleted
    return key, msgspec.json.encode(value)


def encode_key(key: Key) -> bytes:
    fields: dict[str, Any] = {"keytype": key.keytype}
    if key.keytype == CONTEXT:
        fields |= {"tenant": TENANT, "context": key.context}
    elif key.keytype in (CONFIG, MODE) or key.subject is not None:
        fields["subject"] = key.subject
    if key.version is not None:
        fields["version"] = key.version
    return msgspec.json.encode(fields | {"magic": _MAGIC.get(key.keytype, 0)})


def decode(key: bytes | None, value: bytes | None, timestamp_ms: int | None = None) -> Record | None:
    """None for what is no record of a registry, such as a kind of a later version."""
    if key is None:
        return None
    try:
        parsed = msgspec.json.decode(key, type=Key)
        if value is None or parsed.keytype not in _VALUES:
            return Record(parsed, None) if parsed.keytype in (*_VALUES, CLEAR_SUBJECT) else None
        found: Value = msgspec.json.decode(value, type=_VALUES[parsed.keytype])
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None
    if isinstance(found, SchemaValue) and found.ts is None:
        found = msgspec.structs.replace(found, ts=timestamp_ms)
    return Record(parsed, found)
