"""The codec of a schema: its values between JSON text and bytes. `penstock.schemas` knows the formats."""

from __future__ import annotations

from typing import Any

import msgspec

from penstock.client.schema_registry import Schema
from penstock.schemas.codecs import codec_for
from penstock.schemas.formats import parse
from penstock.schemas.json_text import check_depth
from penstock.schemas.schema import ParsedSchema


class SchemaCodec:
    def __init__(self, schema: ParsedSchema) -> None:
        self._codec = codec_for(schema)
        self.name = record_name(schema)

    def encode(self, text: bytes) -> bytes:
        check_depth(text)
        return self._codec.encode(msgspec.json.decode(text))

    def decode(self, payload: bytes) -> Any:
        return self._codec.decode(payload)


def make_codec(schema: Schema) -> SchemaCodec:
    """ValueError, with a sentence, for a schema that cannot be used."""
    return SchemaCodec(parse(schema.schema_type, schema.text, dict(schema.references), strict=False))


def record_name(schema: ParsedSchema) -> str:
    """The full name of what the schema describes: a record, a message, or the title of a JSON Schema."""
    from penstock.schemas.avro.model import Named
    from penstock.schemas.avro.schema import AvroSchema
    from penstock.schemas.json_schema.schema import JsonSchema
    from penstock.schemas.protobuf.schema import ProtobufSchema

    if isinstance(schema, AvroSchema):
        return schema.root.fullname if isinstance(schema.root, Named) else ""
    if isinstance(schema, ProtobufSchema):
        package = f"{schema.file.package}." if schema.file.package else ""
        return f"{package}{schema.file.message_type[0].name}" if schema.file.message_type else ""
    assert isinstance(schema, JsonSchema)
    root = schema.document.root
    return str(root.get("title", "")) if isinstance(root, dict) else ""
