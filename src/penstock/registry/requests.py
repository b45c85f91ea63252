"""Bodies of requests and answers, as Confluent's clients write and read them."""

from __future__ import annotations

from typing import Any

import msgspec

from penstock.registry.records import ReferenceValue


class EntityBody(msgspec.Struct, rename="camel"):
    """A record or a field of a schema, by its path."""

    entity_path: str
    entity_type: str


class TagsBody(msgspec.Struct, rename="camel"):
    schema_entity: EntityBody
    tags: list[str] = []


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
    schema_tags_to_add: list[TagsBody] | None = None
    schema_tags_to_remove: list[TagsBody] | None = None
    propagate_schema_tags: bool | None = None


class TagRequest(msgspec.Struct, rename="camel"):
    """Tags to add to a version and to take from it, and the metadata and rules of the new version."""

    new_version: int | None = None
    tags_to_add: list[TagsBody] | None = None
    tags_to_remove: list[TagsBody] | None = None
    metadata: dict[str, Any] | None = None
    rule_set: dict[str, Any] | None = None
    rules_to_merge: dict[str, Any] | None = None
    rules_to_remove: list[str] | None = None


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
    validate_new_schemas: bool | None = None
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
    schema_tags: list[TagsBody] | None = None
    aliases: list[str] | None = None
    max_id: int | None = None
    ts: int | None = None
    create_ts: int | None = None
    deleted: bool | None = None


class AssociationNew(msgspec.Struct, rename="camel"):
    """A subject for a topic's keys or values, and a schema to register under it."""

    subject: str | None = None
    association_type: str | None = None
    lifecycle: str | None = None
    frozen: bool | None = None
    schema: SchemaRequest | None = None
    normalize: bool | None = None


class AssociationRequest(msgspec.Struct, rename="camel"):
    resource_name: str = ""
    resource_namespace: str = ""
    resource_id: str = ""
    resource_type: str | None = None
    associations: list[AssociationNew] | None = None


class AssociationOperation(msgspec.Struct, rename="camel"):
    """One change of a batch: CREATE, UPSERT or DELETE."""

    op_type: str
    subject: str | None = None
    association_type: str | None = None
    lifecycle: str | None = None
    frozen: bool | None = None
    schema: SchemaRequest | None = None
    normalize: bool | None = None
    cascade_lifecycle: bool | None = None


class AssociationOperations(msgspec.Struct, rename="camel"):
    resource_name: str = ""
    resource_namespace: str = ""
    resource_id: str = ""
    resource_type: str | None = None
    associations: list[AssociationOperation] = []


class AssociationBatch(msgspec.Struct):
    requests: list[AssociationOperations] = []


class AssociationInfo(msgspec.Struct, omit_defaults=True, rename="camel"):
    subject: str
    association_type: str
    lifecycle: str
    frozen: bool
    schema: SchemaAnswer | None = None


class AssociationsAnswer(msgspec.Struct, omit_defaults=True, rename="camel"):
    resource_name: str
    resource_namespace: str
    resource_id: str
    resource_type: str | None
    associations: list[AssociationInfo]


class ErrorBody(msgspec.Struct):
    error_code: int
    message: str


class AssociationResult(msgspec.Struct, omit_defaults=True):
    error: ErrorBody | None = None
    result: AssociationsAnswer | None = None


class AssociationBatchAnswer(msgspec.Struct):
    results: list[AssociationResult]


class AssociationAnswer(msgspec.Struct, omit_defaults=True, rename="camel"):
    """An association as it is asked for."""

    subject: str
    resource_name: str
    resource_namespace: str
    resource_id: str
    association_type: str
    resource_type: str | None = None
    lifecycle: str | None = None
    frozen: bool | None = None
    create_ts: int | None = None
    update_ts: int | None = None
    guid: str | None = None


class ExporterRequest(msgspec.Struct, rename="camel"):
    """An exporter, or what of it is to change."""

    name: str | None = None
    context_type: str | None = None
    context: str | None = None
    subjects: list[str] | None = None
    subject_rename_format: str | None = None
    config: dict[str, str] | None = None


class ExporterAnswer(msgspec.Struct, rename="camel"):
    name: str
    context_type: str
    context: str
    subjects: list[str]
    subject_rename_format: str
    config: dict[str, str]


class ExporterStatus(msgspec.Struct):
    name: str
    state: str
    offset: int
    ts: int
    trace: str


class NameAnswer(msgspec.Struct):
    name: str


class SubjectVersion(msgspec.Struct):
    subject: str
    version: int


class ContextId(msgspec.Struct):
    context: str
    id: int


class Verdict(msgspec.Struct, omit_defaults=True, rename={"compatible": "is_compatible"}):
    compatible: bool
    messages: list[str] | None = None
