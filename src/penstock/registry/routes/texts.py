"""The text of a schema in the form that a client asks for."""

from __future__ import annotations

from penstock.registry.parsing import parse_content
from penstock.registry.records import SchemaValue
from penstock.registry.state import State
from penstock.registry.subjects import parse_subject
from penstock.schemas.schema import AVRO, PROTOBUF
from penstock.web import Call
from penstock.web.routes import Response


def formatted(state: State, value: SchemaValue, form: str) -> str | None:
    """None for the text as it is kept. An unknown form is no mistake, as in Confluent's."""
    if form == "serialized" and value.schema_type == PROTOBUF:
        from penstock.schemas.protobuf.schema import ProtobufSchema

        parsed = parse_content(state, parse_subject(value.subject), value)
        return parsed.serialised if isinstance(parsed, ProtobufSchema) else None
    if form == "resolved" and value.schema_type == AVRO:
        from penstock.schemas.avro.schema import AvroSchema

        parsed = parse_content(state, parse_subject(value.subject), value)
        return parsed.resolved if isinstance(parsed, AvroSchema) else None
    return None


def raw_schema(text: str, call: Call) -> Response:
    """The schema itself as the body."""
    return Response(text.encode(), media_type=call.media_type)
