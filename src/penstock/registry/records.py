"""Records of `_schemas` as Confluent's registry writes them: JSON keys by `keytype`, JSON values.

SCHEMA          subject and version → id, GUID, schema, type, references, whether it is deleted
CONFIG, MODE    subject (null for the whole registry) → settings, mode
DELETE_SUBJECT  subject → the last version that is deleted with it
CLEAR_SUBJECT   subject: all its versions are gone for good
CONTEXT         tenant and context: the context exists, also without a subject
ASSOCIATION     resource and kind (key, value) → the subject of a topic's keys or values
EXPORTER        name → what is copied to another registry
EXPORTER_STATE  name → whether it runs, and how far it is
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
ASSOCIATION: Final = "ASSOCIATION"
EXPORTER: Final = "EXPORTER"
EXPORTER_STATE: Final = "EXPORTER_STATE"
NOOP: Final = "NOOP"
TENANT: Final = "default"
_MAGIC: Final = {SCHEMA: 1}
# Structs without `gc`: none of them is part of a cycle, and a registry keeps very many.


class Key(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    keytype: str
    subject: str | None = None
    version: int | None = None
    context: str | None = None
    """Of a CONTEXT only."""
    resource: str | None = None
    association: str | None = None
    """Both of an ASSOCIATION only."""
    name: str | None = None
    """Of an exporter and of its state."""


class ReferenceValue(msgspec.Struct, frozen=True, gc=False):
    """A reference in a schema, as requests, answers and records have it."""

    name: str
    subject: str
    version: int


class SchemaValue(msgspec.Struct, frozen=True, gc=False, omit_defaults=True, rename="camel"):
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
    create_ts: int | None = None
    """When the version was registered, where its record was written again since."""


class ConfigValue(msgspec.Struct, frozen=True, gc=False, omit_defaults=True, rename="camel"):
    """Settings; None leaves the decision to the wider scope."""

    compatibility_level: str | None = None
    compatibility_group: str | None = None
    normalize: bool | None = None
    alias: str | None = None
    validate_fields: bool | None = None
    validate_rules: bool | None = None
    validate_new_schemas: bool | None = None
    compatibility_policy: str | None = None
    default_metadata: dict[str, Any] | None = None
    override_metadata: dict[str, Any] | None = None
    default_rule_set: dict[str, Any] | None = None
    override_rule_set: dict[str, Any] | None = None


class ModeValue(msgspec.Struct, frozen=True, gc=False):
    mode: str


class DeleteSubjectValue(msgspec.Struct, frozen=True, gc=False):
    subject: str
    version: int


class ContextValue(msgspec.Struct, frozen=True, gc=False):
    tenant: str
    context: str


class NoopValue(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    max_id: int = 0
    context: str = "."


class AssociationValue(msgspec.Struct, frozen=True, gc=False, omit_defaults=True, rename="camel"):
    """A subject that the keys or values of a resource have. The resource is a topic, by an id of its own."""

    subject: str
    resource_name: str
    resource_namespace: str
    resource_id: str
    association_type: str
    resource_type: str = "topic"
    lifecycle: str = "WEAK"
    """STRONG: the subject belongs to the resource and goes with it. WEAK: it may have others."""
    frozen: bool = False
    """A frozen association is not changed, and deleted only together with its subject."""
    create_ts: int | None = None
    update_ts: int | None = None


class ExporterValue(msgspec.Struct, frozen=True, gc=False, omit_defaults=True, rename="camel"):
    """What is copied, where to, and under which names."""

    name: str
    context_type: str = "AUTO"
    context: str = ""
    subjects: tuple[str, ...] = ("*",)
    subject_rename_format: str = "${subject}"
    config: dict[str, str] = {}


class ExporterStateValue(msgspec.Struct, frozen=True, gc=False, omit_defaults=True, rename="camel"):
    state: str
    offset: int = -1
    """Everything that the topic had before this offset is copied."""
    ts: int = 0
    trace: str = ""
    """Why the last attempt failed; empty when it did not."""
    owner: str = ""
    """The process that copies. Another one takes over when `ts` gets old."""
    epoch: int = 0
    """One more with each reset: copies of an earlier epoch are made again."""


Value = (
    SchemaValue | ConfigValue | ModeValue | DeleteSubjectValue | ContextValue | NoopValue
    | AssociationValue | ExporterValue | ExporterStateValue | None
)  # fmt: skip
_VALUES: Final[dict[str, type]] = {
    SCHEMA: SchemaValue,
    CONFIG: ConfigValue,
    MODE: ModeValue,
    DELETE_SUBJECT: DeleteSubjectValue,
    CONTEXT: ContextValue,
    NOOP: NoopValue,
    ASSOCIATION: AssociationValue,
    EXPORTER: ExporterValue,
    EXPORTER_STATE: ExporterStateValue,
}


class Record(msgspec.Struct, frozen=True, gc=False):
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
    elif isinstance(record.value, AssociationValue):
        value.pop("updateTs", None)
    return key, msgspec.json.encode(value)


def encode_key(key: Key) -> bytes:
    fields: dict[str, Any] = {"keytype": key.keytype}
    if key.keytype == CONTEXT:
        fields |= {"tenant": TENANT, "context": key.context}
    elif key.keytype == ASSOCIATION:
        fields |= {"resource": key.resource, "association": key.association}
    elif key.keytype in (EXPORTER, EXPORTER_STATE):
        fields["name"] = key.name
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
    elif isinstance(found, AssociationValue):
        created = found.create_ts if found.create_ts is not None else timestamp_ms
        found = msgspec.structs.replace(found, create_ts=created, update_ts=timestamp_ms)
    return Record(parsed, found)
