"""What the three formats have in common: a parsed schema, its references, and the name of its format."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from penstock.schemas.differences import Difference

AVRO = "AVRO"
JSON = "JSON"
PROTOBUF = "PROTOBUF"

References = Mapping[str, str]
"""The texts of referenced schemas by the name under which they are referred to, in the order of their need:
a schema comes after those that it refers to itself."""


@dataclass(frozen=True, slots=True)
class Reference:
    """A name in a schema, and the version of a subject that it stands for."""

    name: str
    subject: str
    version: int


class ParsedSchema(Protocol):
    """A schema that is valid in its format."""

    @property
    def schema_type(self) -> str: ...

    @property
    def canonical(self) -> str:
        """The text that is stored, laid out as Confluent's registry does."""
        ...

    @property
    def identity(self) -> str:
        """A text that schemas share which differ in layout alone, however other registries write them."""
        ...

    @property
    def normalised(self) -> str:
        """A text that schemas share which mean the same, whatever the order of their parts."""
        ...

    def differences(self, writer: ParsedSchema) -> list[Difference]:
        """Why this schema cannot read what `writer` wrote; none when it can. Both are of one format."""
        ...
