"""The codec of a schema: its values between JSON and bytes, by `penstock.schemas`."""

from __future__ import annotations

from penstock.rest.schema_records import Codec
from penstock.rest.schema_registry import SchemaText


def make_codec(schema: SchemaText) -> Codec:
    """ValueError, with a sentence, for a schema that cannot be used."""
    raise ValueError(f"schemas of type {schema.kind} cannot be used yet")
