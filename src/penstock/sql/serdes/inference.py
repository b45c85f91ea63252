"""Columns that a statement leaves out, from the schema of a registry; and the schema of given columns."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Final

from penstock.client.schema_registry import NotRegistered, RegistryError, Schema
from penstock.expressions import types as t
from penstock.plan.row_schemas import ColumnSchema, Format
from penstock.schemas.errors import InvalidSchema
from penstock.sql.serdes import avro_format, avro_schema, json_schema_format, protobuf_schema
from penstock.sql.serdes.codec import FormatError
from penstock.sql.serdes.schemas import Schemas, subject_of

SCHEMA_TYPES: Final = {"AVRO": "AVRO", "JSON_SR": "JSON", "PROTOBUF": "PROTOBUF", "PROTOBUF_NOSR": "PROTOBUF"}
KEY_NAME, VALUE_NAME = "ROWKEY", "ROWVAL"


def schema_of(form: Format, columns: Sequence[ColumnSchema]) -> Schema:
    """The schema that is registered for these columns."""
    given = dict(form.properties)
    full_name = given.get("schema_full_name", "")
    match form.name:
        case "AVRO":
            name = full_name or avro_schema.FULL_NAME
            return Schema("AVRO", avro_format.schema_text(columns, wrapped=form.wrapped, full_name=name))
        case "JSON_SR":
            return Schema("JSON", json_schema_format.schema_text(columns, wrapped=form.wrapped))
        case _:
            nullable = given.get("protobuf_nullable_representation", "").upper()
            text = protobuf_schema.schema_text(columns, full_name=full_name, nullable=nullable)
            return Schema("PROTOBUF", text)


def infer_columns(form: Format, topic: str, schemas: Schemas, *, is_key: bool) -> tuple[ColumnSchema, ...]:
    """The columns of a topic's keys or values, from the latest schema of its subject, or by its id.

    Names become upper case, unless the schema is given by id. A value that is no record is one column.
    """
    given = dict(form.properties)
    found = _found(form, topic, schemas, is_key=is_key)
    if found.schema_type != SCHEMA_TYPES[form.name]:
        raise FormatError(
            f"{'Key' if is_key else 'Value'} format is {form.name}, and the registered schema is "
            f"{found.schema_type}: the format and the schema must be of one kind"
        )
    try:
        kind = sql_type(found, given.get("schema_full_name", ""))
    except (InvalidSchema, KeyError, TypeError, ValueError) as error:
        raise FormatError(f"Unable to verify if the {'key' if is_key else 'value'} schema for topic: {topic} "
                          f"is compatible with ksqlDB. Reason: {error}") from error  # fmt: skip
    if kind is None:
        raise FormatError(f"The schema of topic {topic} has no field of a type that SQL has")
    if "schema_id" not in given:
        kind = in_upper_case(kind)
    if isinstance(kind, t.Struct) and (not is_key or len(kind.fields) > 1):
        return tuple(ColumnSchema(field.name, field.type) for field in kind.fields)
    return (ColumnSchema(KEY_NAME if is_key else VALUE_NAME, kind),)


def is_bare(columns: Sequence[ColumnSchema]) -> bool:
    """Whether inferred columns are one value without a record around it."""
    return len(columns) == 1 and columns[0].name in (KEY_NAME, VALUE_NAME)


def sql_type(schema: Schema, full_name: str = "") -> t.SqlType | None:
    if schema.schema_type == "AVRO":
        named: dict[str, Any] = {}
        for _, text in schema.references:
            avro_schema.sql_type_of(json.loads(text), named)
        return avro_schema.sql_type_of(_avro(schema.text), named)
    if schema.schema_type == "JSON":
        return json_schema_format.sql_type_of(json.loads(schema.text))
    from penstock.schemas.protobuf.messages import message_at, message_named

    file = protobuf_schema.described(schema)
    message = message_named(file, full_name) if full_name else message_at(file, (0,))
    return protobuf_schema.struct_of_message(message)


def _avro(text: str) -> Any:
    return json.loads(text) if text.strip()[:1] in '{["' else text.strip()


def _found(form: Format, topic: str, schemas: Schemas, *, is_key: bool) -> Schema:
    subject = subject_of(topic, is_key=is_key)
    part = "keys" if is_key else "values"
    schema_id = dict(form.properties).get("schema_id")
    try:
        return schemas.latest(subject).schema if schema_id is None else schemas.by_id(int(schema_id))
    except NotRegistered as error:
        wanted = f"Subject: {subject}" if schema_id is None else f"Schema Id: {schema_id}"
        raise FormatError(
            f"Schema for message {part} on topic '{topic}' does not exist in the Schema Registry.\n{wanted}\n"
            "Register it, or write the columns in the statement"
        ) from error
    except RegistryError as error:
        raise FormatError(f"Schema registry fetch for topic {topic} request failed: {error}") from error


def in_upper_case(kind: t.SqlType) -> t.SqlType:
    match kind:
        case t.Struct(fields=fields):
            return t.struct_of([(field.name.upper(), in_upper_case(field.type)) for field in fields])
        case t.Array(item=item):
            return t.Array(in_upper_case(item))
        case t.Map(key=key, value=value):
            return t.Map(key, in_upper_case(value))
        case _:
            return kind
