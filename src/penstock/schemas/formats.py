"""The formats by name: `parse` is the one way from text to a schema."""

from __future__ import annotations

from typing import Final

from penstock.schemas.errors import InvalidSchema
from penstock.schemas.schema import AVRO, JSON, PROTOBUF, ParsedSchema, References

TYPES: Final = (JSON, PROTOBUF, AVRO)
TEXT_BYTES_MAX: Final = 1_000_000
"""The longest schema that is read; a record of Kafka holds no more by default."""


def parse(
    schema_type: str, text: str, references: References | None = None, *, strict: bool = True
) -> ParsedSchema:
    """A valid schema, or InvalidSchema with a sentence. `strict` holds for schemas that are new."""
    given = references or {}
    if len(text) > TEXT_BYTES_MAX:
        raise InvalidSchema(f"The schema has {len(text)} characters; at most {TEXT_BYTES_MAX} are read.")
    try:
        return _parse(schema_type, text, given, strict=strict)
    except RecursionError as error:
        raise InvalidSchema("The schema is nested too deep.") from error


def _parse(schema_type: str, text: str, references: References, *, strict: bool) -> ParsedSchema:
    # Each format brings a library; only those that are used are loaded.
    if schema_type == AVRO:
        from penstock.schemas.avro.schema import parse_avro

        return parse_avro(text, references, strict=strict)
    if schema_type == JSON:
        from penstock.schemas.json_schema.schema import parse_json_schema

        return parse_json_schema(text, references, strict=strict)
    if schema_type == PROTOBUF:
        from penstock.schemas.protobuf.schema import parse_protobuf

        return parse_protobuf(text, references, strict=strict)
    raise InvalidSchema(f"The schema type {schema_type[:80]!r} is unknown. Use one of {', '.join(TYPES)}.")
