"""An Avro schema as `formats` knows it: parsed from text, with the texts of its references."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.schemas.avro import compatibility, writing
from penstock.schemas.avro.model import AvroType
from penstock.schemas.avro.parsing import Types, parse_type
from penstock.schemas.differences import Difference
from penstock.schemas.errors import InvalidSchema
from penstock.schemas.json_text import parse_json, write_json
from penstock.schemas.schema import AVRO, ParsedSchema, References


@dataclass(frozen=True, slots=True)
class AvroSchema:
    root: AvroType
    references: References
    referenced: frozenset[str]
    """Full names that the references define."""

    @property
    def schema_type(self) -> str:
        return AVRO

    @property
    def canonical(self) -> str:
        return write_json(writing.canonical(self.root, set(self.referenced)))

    @property
    def identity(self) -> str:
        return self.canonical

    @property
    def normalised(self) -> str:
        return write_json(writing.normalised(self.root, set(self.referenced)))

    @property
    def resolved(self) -> str:
        """The canonical text with the types of references written out."""
        return write_json(writing.canonical(self.root, set()))

    def differences(self, writer: ParsedSchema) -> list[Difference]:
        assert isinstance(writer, AvroSchema)
        return compatibility.compare(self.root, writer.root)


def parse_avro(text: str, references: References, *, strict: bool = True) -> AvroSchema:
    """`strict` also checks defaults, as for a schema that is new."""
    types: Types = {}
    for each in references.values():
        parse_type(_json(each), types, check_defaults=False)
    referenced = frozenset(types)
    root = parse_type(_json(text), types, check_defaults=strict)
    return AvroSchema(root, references, referenced)


def _json(text: str) -> object:
    """JSON, or the bare name of a type, which Avro allows as well."""
    if text.strip().replace(".", "").replace("_", "").isalnum() and not text.strip()[0].isdigit():
        return text.strip()
    try:
        return parse_json(text)
    except ValueError as error:
        raise InvalidSchema(f"The schema is {error}.") from error
