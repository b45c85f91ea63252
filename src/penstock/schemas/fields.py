"""The names of a schema's top-level fields."""

from __future__ import annotations

from penstock.schemas.schema import ParsedSchema


def top_level_fields(schema: ParsedSchema) -> set[str]:
    """The fields of an Avro record, of a JSON object, or of the first message of a Protobuf file."""
    from penstock.schemas.avro.model import RecordSchema
    from penstock.schemas.avro.schema import AvroSchema
    from penstock.schemas.json_schema.schema import JsonSchema
    from penstock.schemas.protobuf.schema import ProtobufSchema

    if isinstance(schema, AvroSchema):
        return (
            {field.name for field in schema.root.fields} if isinstance(schema.root, RecordSchema) else set()
        )
    if isinstance(schema, ProtobufSchema):
        return {field.name for message in schema.file.message_type[:1] for field in message.field}
    assert isinstance(schema, JsonSchema)
    root = schema.document.root
    properties = root.get("properties") if isinstance(root, dict) else None
    return set(properties) if isinstance(properties, dict) else set()
