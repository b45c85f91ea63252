"""A Protobuf schema as `formats` knows it: from .proto text, or from a descriptor in base64."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from google.protobuf.descriptor_pb2 import FileDescriptorProto
from google.protobuf.message import DecodeError

from penstock.schemas.differences import Difference
from penstock.schemas.errors import InvalidSchema
from penstock.schemas.protobuf.building import build_pool, resolved
from penstock.schemas.protobuf.compatibility import compare, types_of
from penstock.schemas.protobuf.custom_options import interpreted
from penstock.schemas.protobuf.parsing import parse_proto
from penstock.schemas.protobuf.writing import write_proto
from penstock.schemas.schema import PROTOBUF, ParsedSchema, References

MAIN: Final = "default"
"""The name of a file that came as text, which has none."""


@dataclass(frozen=True, slots=True)
class ProtobufSchema:
    file: FileDescriptorProto
    """With the names of types resolved."""
    written: FileDescriptorProto
    """With the names of types as they are written."""
    imports: Mapping[str, FileDescriptorProto]
    references: References

    @property
    def schema_type(self) -> str:
        return PROTOBUF

    @property
    def canonical(self) -> str:
        return write_proto(self.written)

    @property
    def identity(self) -> str:
        return write_proto(self.file)

    @property
    def normalised(self) -> str:
        return write_proto(self.file, normalised=True)

    @property
    def serialised(self) -> str:
        """The descriptor in base64, as clients without a parser want it."""
        whole = interpreted(self.file, build_pool(self.written, self.imports))
        return base64.b64encode(whole.SerializeToString()).decode()

    def differences(self, writer: ParsedSchema) -> list[Difference]:
        assert isinstance(writer, ProtobufSchema)
        return compare(types_of(self.file, self.imports), types_of(writer.file, writer.imports))


def parse_protobuf(text: str, references: References, *, strict: bool = True) -> ProtobufSchema:
    del strict  # Protobuf has no rule that holds for new schemas only
    imports = {name: _file(each, name) for name, each in references.items()}
    written = _file(text, MAIN)
    return ProtobufSchema(resolved(written, imports), written, imports, references)


def _file(text: str, name: str) -> FileDescriptorProto:
    if not text.strip():
        raise InvalidSchema("The schema is empty.")
    file = _from_base64(text)
    if file is None:
        return parse_proto(text, name)
    if not file.name or name != MAIN:
        file.name = name
    return file


def _from_base64(text: str) -> FileDescriptorProto | None:
    """The descriptor, or None when the text is .proto text."""
    if any(sign in text for sign in "{;\n ") or not text:
        return None
    try:
        return FileDescriptorProto.FromString(base64.b64decode(text, validate=True))
    except (binascii.Error, DecodeError, ValueError) as error:
        raise InvalidSchema("The schema is neither .proto text nor a descriptor in base64.") from error
