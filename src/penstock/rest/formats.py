"""The formats in which records are embedded in JSON, and the media types that name them.

Pure. The version-2 routes choose a format by media type (`Content-Type` to produce, `Accept` to consume), the
version-3 ones by a field of the body.
"""

from __future__ import annotations

from enum import Enum
from typing import Final


class Format(Enum):
    """How a key or a value is written inside a JSON body."""

    BINARY = "binary"
    JSON = "json"
    STRING = "string"
    AVRO = "avro"
    JSONSCHEMA = "jsonschema"
    PROTOBUF = "protobuf"

    @property
    def has_schema(self) -> bool:
        return self in SCHEMA_TYPES


SCHEMA_TYPES: Final = {Format.AVRO: "AVRO", Format.JSONSCHEMA: "JSON", Format.PROTOBUF: "PROTOBUF"}
"""A format's name in the Schema Registry."""
FORMATS_BY_SCHEMA_TYPE: Final = {name: form for form, name in SCHEMA_TYPES.items()}

V2: Final = "application/vnd.kafka.v2+json"
JSON: Final = "application/json"
EMBEDDED: Final = (Format.BINARY, Format.JSON, Format.AVRO, Format.JSONSCHEMA, Format.PROTOBUF)
"""What version 2 embeds; STRING is version 3's alone."""
EMBEDDED_V2: Final = {f"application/vnd.kafka.{form.value}.v2+json": form for form in EMBEDDED}
EMBEDDED_V1: Final = {
    f"application/vnd.kafka.{form.value}.v1+json": form for form in (Format.BINARY, Format.JSON, Format.AVRO)
}
PLAIN: Final = (V2, "application/vnd.kafka+json", JSON)
PLAIN_V1: Final = ("application/vnd.kafka.v1+json",)

PRODUCE_TYPES: Final = (
    EMBEDDED_V2 | EMBEDDED_V1 | dict.fromkeys((*PLAIN, *PLAIN_V1, "application/octet-stream"), Format.BINARY)
)
"""Content types of a version-2 produce request; without a format it is base64, as with Confluent's."""
RECORDS_TYPES: Final = dict(EMBEDDED_V2)
"""What `Accept` may ask for when records are read."""
ANSWER_TYPES: Final = (*PLAIN, *EMBEDDED_V2, *PLAIN_V1, *EMBEDDED_V1)
BODY_TYPES: Final = (*PLAIN, *EMBEDDED_V2)
"""Content types of every other version-2 body."""


def content_type_of(form: Format) -> str:
    return f"application/vnd.kafka.{form.value}.v2+json"
