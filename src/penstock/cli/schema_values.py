"""Values with a schema's id in front of them, as JSON; the schemas come from a registry and are kept."""

from __future__ import annotations

from typing import Any

from penstock.client.schema_registry import Schema, SchemaRegistry
from penstock.schemas.codecs import Codec, codec_for
from penstock.schemas.errors import InvalidFrame
from penstock.schemas.formats import parse
from penstock.schemas.wire_format import HEADER_BYTES, read_header


class SchemaValues:
    """Reads values of one registry. `RegistryError` and `SchemaError` are the caller's."""

    def __init__(self, registry: SchemaRegistry) -> None:
        self._registry = registry
        self._codecs: dict[int, Codec] = {}

    def read(self, data: bytes) -> tuple[int, Any]:
        """The id of the schema and the value; InvalidFrame when there is no id in front."""
        schema_id = read_header(data)
        if schema_id not in self._codecs:
            self._codecs[schema_id] = codec_of(self._registry.by_id(schema_id))
        return schema_id, self._codecs[schema_id].decode(data[HEADER_BYTES:])

    def decoded(self, data: bytes | None) -> tuple[int, Any] | None:
        """The same; None for null and for what was written without a schema, which is shown as it is."""
        if data is None:
            return None
        try:
            return self.read(data)
        except InvalidFrame:
            return None


def codec_of(schema: Schema) -> Codec:
    """SchemaError when the registry's text is no schema."""
    return codec_for(parse(schema.schema_type, schema.text, dict(schema.references), strict=False))
