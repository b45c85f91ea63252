"""Values to bytes and back, for each format. Values are JSON: what the REST Proxy takes and gives.

Avro in Avro's JSON encoding (`{"string": "x"}` in a union), Protobuf in ProtoJSON, JSON as it is. The id
in front of the bytes is `wire_format`'s; the message indexes of Protobuf belong to the message and are here.
"""

from __future__ import annotations

from typing import Any, Protocol

from penstock.schemas.errors import InvalidValue
from penstock.schemas.schema import ParsedSchema


class Codec(Protocol):
    """Written once for a schema and used for many values; thread-safe."""

    def encode(self, value: Any) -> bytes:
        """InvalidValue when the value does not fit the schema."""
        ...

    def decode(self, payload: bytes) -> Any:
        """InvalidValue when the bytes are not of the schema."""
        ...


def codec_for(schema: ParsedSchema) -> Codec:
    # Each format brings a library; only those that are used are loaded.
    from penstock.schemas.avro.schema import AvroSchema

    if isinstance(schema, AvroSchema):
        from penstock.schemas.avro.values import AvroCodec

        return AvroCodec(schema)
    from penstock.schemas.json_schema.schema import JsonSchema

    if isinstance(schema, JsonSchema):
        from penstock.schemas.json_schema.values import JsonCodec

        return JsonCodec(schema)
    from penstock.schemas.protobuf.schema import ProtobufSchema

    if isinstance(schema, ProtobufSchema):
        from penstock.schemas.protobuf.values import ProtobufCodec

        return ProtobufCodec(schema)
    raise InvalidValue(f"Values of {schema.schema_type} cannot be written.")
