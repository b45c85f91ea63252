"""Bodies of requests and answers, as Confluent's clients write and read them."""

from __future__ import annotations

from typing import Any

import msgspec

from penstock.registry.records import ReferenceValue


class SchemaRequest(msgspec.Struct, rename="camel"):
    """A schema to register, to look up or to check."""

    schema: str | None = None
    schema_type: str | None = None
    references: list[ReferenceValue] | None = None
    metadata: dict[str, Any] | None = None
    rule_set: dict[str, Any] | None = None
    version: int | None = None
    id: int | None = None
    subject: str | None = None
    schema_tags_to_add: list[Any] | None = None
    schema_tags_to_remove: list[Any] | None = None
    propagate_schema_tags: bool | None = None


class ConfigRequest(msgspec.Struct, omit_defaults=True, rename="camel"):
    compatibility: str | None = None
    normalize: bool | None = None
    compatibility_group: str | None = None
    compatibility_policy: str | None = None
    alias: str | None = None
    alias_for_deks: str | None = None
    validate_fields: bool | None = None
    validate_rules: bool | None = None
    validate_new_schemas: bool | None = None
    default_metadata: dict[str, Any] | None = None
    override_metadata: dict[str, Any] | None = None
    default_rule_set: dict[str, Any] | None = None
    override_rule_set: dict[str, Any] | None = None


class ConfigAnswer(msgspec.Struct, omit_defaults=True, rename="camel"):
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


class ModeBody(msgspec.Struct):
    mode: str | None


class SchemaAnswer(msgspec.Struct, omit_defaults=True, rename="camel"):
    """A version of a subject, or a schema by its id; what does not apply is left out."""

    subject: str | None = None
    version: int | None = None
    id: int | None = None
    guid: str | None = None
    schema_type: str | None = None
    references: tuple[ReferenceValue, ...] = ()
    metadata: dict[str, Any] | None = None
    rule_set: dict[str, Any] | None = None
    schema: str | None = None
    max_id: int | None = None
    ts: int | None = None
    deleted: bool | None = None


class SubjectVersion(msgspec.Struct):
    subject: str
    version: int


class ContextId(msgspec.Struct):
    context: str
    id: int


class Verdict(msgspec.Struct, omit_defaults=True, rename={"compatible": "is_compatible"}):
    compatible: bool
    messages: list[str] | None = None
