"""Records of `_schemas` as Confluent's registry writes them: JSON keys by `keytype`, JSON values.

SCHEMA          subject and version → id, schema, type, references, whether it is deleted
CONFIG, MODE    subject (none for the whole registry) → settings, mode
DELETE_SUBJECT  subject → the last version that is deleted with it
CLEAR_SUBJECT   subject: all its versions are gone for good
NOOP            nothing; with a value, the highest id that was ever given (ids are never reused)
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

SCHEMA: Final = "SCHEMA"
CONFIG: Final = "CONFIG"
MODE: Final = "MODE"
DELETE_SUBJECT: Final = "DELETE_SUBJECT"
CLEAR_SUBJECT: Final = "CLEAR_SUBJECT"
NOOP: Final = "NOOP"
_MAGIC: Final = {SCHEMA: 1}


class Key(msgspec.Struct, frozen=True, omit_defaults=True):
    keytype: str
    subject: str | None = None
    version: int | None = None


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
    deleted: bool = False


class ConfigValue(msgspec.Struct, frozen=True, omit_defaults=True, rename="camel"):
    compatibility_level: str | None = None
    compatibility_group: str | None = None
    normalize: bool | None = None


class ModeValue(msgspec.Struct, frozen=True):
    mode: str


class DeleteSubjectValue(msgspec.Struct, frozen=True):
    subject: str
    version: int


class NoopValue(msgspec.Struct, frozen=True, rename="camel"):
    max_id: int = 0
    context: str = "."


Value = SchemaValue | ConfigValue | ModeValue | DeleteSubjectValue | NoopValue | None
_VALUES: Final[dict[str, type]] = {
    SCHEMA: SchemaValue,
    CONFIG: ConfigValue,
    MODE: ModeValue,
    DELETE_SUBJECT: DeleteSubjectValue,
    NOOP: NoopValue,
}


class Record(msgspec.Struct, frozen=True):
    """A value of None takes the key away."""

    key: Key
    value: Value


def encode(record: Record) -> tuple[bytes, bytes | None]:
    key: dict[str, Any] = {"keytype": record.key.keytype}
    if record.key.subject is not None:
        key["subject"] = record.key.subject
    if record.key.version is not None:
        key["version"] = record.key.version
    key["magic"] = _MAGIC.get(record.key.keytype, 0)
    if record.value is None:
        return msgspec.json.encode(key), None
    value = msgspec.to_builtins(record.value)
    if isinstance(record.value, SchemaValue):
        value["deleted"] = record.value.deleted
    return msgspec.json.encode(key), msgspec.json.encode(value)


def decode(key: bytes | None, value: bytes | None) -> Record | None:
    """None for what is no record of a registry, such as a kind of a later version."""
    if key is None:
        return None
    try:
        parsed = msgspec.json.decode(key, type=Key)
        if value is None or parsed.keytype not in _VALUES:
            return Record(parsed, None) if parsed.keytype in (*_VALUES, CLEAR_SUBJECT) else None
        return Record(parsed, msgspec.json.decode(value, type=_VALUES[parsed.keytype]))
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None
