"""JSON values: checked against their schema, in time that no pattern can blow up."""

from __future__ import annotations

from typing import Any

import jsonschema_rs
import msgspec

from penstock.schemas.errors import InvalidSchema, InvalidValue
from penstock.schemas.json_schema.schema import DEFAULT_DRAFT, JsonSchema
from penstock.schemas.json_text import TooDeep, check_depth, parse_json


class JsonCodec:
    def __init__(self, schema: JsonSchema) -> None:
        self._validator = _validator(schema)

    def encode(self, value: Any) -> bytes:
        self._check(value)
        return msgspec.json.encode(value)

    def decode(self, payload: bytes) -> Any:
        try:
            check_depth(payload)
            value = msgspec.json.decode(payload)
        except (TooDeep, msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise InvalidValue(f"The bytes are not JSON: {error}") from error
        self._check(value)
        return value

    def _check(self, value: Any) -> None:
        try:
            self._validator.validate(value)
        except jsonschema_rs.ValidationError as error:
            raise InvalidValue(f"The value does not fit its JSON schema: {str(error)[:500]}") from error


def _validator(schema: JsonSchema) -> Any:
    """Patterns in linear time; only what needs more (a look-ahead) gets one that backtracks, bounded."""
    root = schema.document.root
    if isinstance(root, dict) and "$schema" not in root:
        root = {"$schema": DEFAULT_DRAFT, **root}
    resources = [(name, parse_json(text)) for name, text in schema.references.items()]
    registry = jsonschema_rs.Registry(resources) if resources else None
    for options in (jsonschema_rs.RegexOptions(), jsonschema_rs.FancyRegexOptions(backtrack_limit=10_000)):
        try:
            return jsonschema_rs.validator_for(root, registry=registry, pattern_options=options, offline=True)
        except (jsonschema_rs.ValidationError, jsonschema_rs.ReferencingError, ValueError) as error:
            failure = error
    raise InvalidSchema(f"Values cannot be checked by this JSON schema: {str(failure)[:500]}") from failure
