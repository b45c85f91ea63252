"""The text of a schema in the form that a client asks for."""

from __future__ import annotations

import msgspec

from penstock.registry.lookups import schema_answer
from penstock.registry.parsing import parse_content
from penstock.registry.records import SchemaValue
from penstock.registry.requests import SchemaAnswer
from penstock.registry.state import State, target_of
from penstock.registry.subjects import DEFAULT, Subject, parse_subject
from penstock.registry.tagging import tags_told
from penstock.schemas.schema import AVRO, PROTOBUF
from penstock.web import Call, Query
from penstock.web.routes import Response

FORMAT = Query("format", str, "", "`resolved` for Avro, `serialized` for Protobuf.")
REFERENCE_FORMAT = Query("referenceFormat", str, "", "`qualified` for the subjects of references in full.")
FIND_TAGS = Query("findTags", str, "", "Tags whose entities are wanted; `*` for all. May be repeated.")


def told(state: State, value: SchemaValue, call: Call, *, bare: bool = False) -> SchemaAnswer:
    """The answer to a version or an id, in the forms that the query names. Routes without a parameter of that
    name take its default.
    """
    answer = schema_answer(state, value, text=formatted(state, value, call.text("format")), bare=bare)
    if call.query.get("referenceFormat", "").lower() == "qualified":
        around = parse_subject(value.subject)
        answer.references = tuple(
            msgspec.structs.replace(each, subject=_qualified(target_of(around, each)))
            for each in value.references
        )
    if wanted := [word for word in call.request.query_params.getlist("findTags") if word]:
        answer.schema_tags = tags_told(state, value, wanted)
    return answer


def _qualified(subject: Subject) -> str:
    """`:.CONTEXT:NAME`, also in the default context."""
    return f":{DEFAULT}:{subject.name}" if subject.context == DEFAULT else str(subject)


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
