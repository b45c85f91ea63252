"""A JSON schema as `formats` knows it: parsed from text, checked against its draft, with its references."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import jsonschema_rs

from penstock.schemas.differences import Difference
from penstock.schemas.errors import InvalidSchema
from penstock.schemas.json_schema.compatibility import compare
from penstock.schemas.json_schema.places import Document, check_references
from penstock.schemas.json_text import parse_json, write_json
from penstock.schemas.schema import JSON, ParsedSchema, References

DEFAULT_DRAFT: Final = "http://json-schema.org/draft-07/schema#"


@dataclass(frozen=True, slots=True)
class JsonSchema:
    document: Document
    references: References

    @property
    def schema_type(self) -> str:
        return JSON

    @property
    def canonical(self) -> str:
        return write_json(self.document.root)

    @property
    def identity(self) -> str:
        return self.canonical

    @property
    def normalised(self) -> str:
        return write_json(_sorted(self.document.root))

    def differences(self, writer: ParsedSchema) -> list[Difference]:
        assert isinstance(writer, JsonSchema)
        return compare(self.document.place, writer.document.place)


def parse_json_schema(text: str, references: References, *, strict: bool = True) -> JsonSchema:
    """`strict` also checks the schema against its draft, as for one that is new."""
    named: dict[str, Document] = {}
    for name, each in references.items():
        named[name] = Document(_json(each), named)
    document = Document(_json(text), named)
    if not isinstance(document.root, dict | bool):
        raise InvalidSchema("A JSON schema is an object, true or false.")
    check_references(document)
    if strict:
        _check_draft(document.root)
    return JsonSchema(document, references)


def _check_draft(root: Any) -> None:
    if isinstance(root, dict) and not isinstance(root.get("$schema"), str):
        root = {"$schema": DEFAULT_DRAFT, **root}
    try:
        jsonschema_rs.meta.validate(root)
    except jsonschema_rs.ReferencingError as error:
        raise InvalidSchema(f"The $schema {str(root.get('$schema'))[:200]!r} is no known draft.") from error
    except (jsonschema_rs.ValidationError, ValueError) as error:
        raise InvalidSchema(f"The schema is no valid JSON schema: {str(error)[:500]}") from error


def _json(text: str) -> Any:
    try:
        return parse_json(text)
    except ValueError as error:
        raise InvalidSchema(f"The schema is {error}.") from error


def _sorted(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _sorted(value[key]) for key in sorted(value)}
    return [_sorted(each) for each in value] if isinstance(value, list) else value
