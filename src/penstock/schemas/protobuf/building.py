"""What descriptors mean: names resolved, numbers checked, imports found, by Protobuf's own library."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Final

from google.protobuf.descriptor_pb2 import FileDescriptorProto
from google.protobuf.descriptor_pool import DescriptorPool

from penstock.schemas.errors import InvalidSchema
from penstock.schemas.protobuf.parsing import parse_proto

_OF_GOOGLE: Final = (
    "any", "api", "descriptor", "duration", "empty", "field_mask", "source_context", "struct", "timestamp",
    "type", "wrappers",
)  # fmt: skip
_BUILT_IN: Final = {
    "confluent/meta.proto": """
        syntax = "proto3"; package confluent; import "google/protobuf/descriptor.proto";
        message Meta { string doc = 1; map<string, string> params = 2; repeated string tags = 3; }
        extend google.protobuf.FileOptions { Meta file_meta = 1088; }
        extend google.protobuf.MessageOptions { Meta message_meta = 1088; }
        extend google.protobuf.FieldOptions { Meta field_meta = 1088; }
        extend google.protobuf.EnumOptions { Meta enum_meta = 1088; }
        extend google.protobuf.EnumValueOptions { Meta enum_value_meta = 1088; }""",
    "confluent/type/decimal.proto": """
        syntax = "proto3"; package confluent.type;
        message Decimal { bytes value = 1; uint32 precision = 2; int32 scale = 3; }""",
}
"""Files that a schema may import without a reference, besides Google's."""


def build_pool(file: FileDescriptorProto, imports: Mapping[str, FileDescriptorProto]) -> DescriptorPool:
    """A pool of its own with the file and everything that it imports."""
    pool = DescriptorPool()
    _add(pool, file, imports, set(), ())
    return pool


def resolved(file: FileDescriptorProto, imports: Mapping[str, FileDescriptorProto]) -> FileDescriptorProto:
    """The same file with the types of all fields known by their full names."""
    found = FileDescriptorProto()
    build_pool(file, imports).FindFileByName(file.name).CopyToProto(found)
    return found


def _add(
    pool: DescriptorPool,
    file: FileDescriptorProto,
    imports: Mapping[str, FileDescriptorProto],
    added: set[str],
    importing: tuple[str, ...],
) -> None:
    if file.name in importing:
        raise InvalidSchema(f"The file {file.name!r} imports itself: {' → '.join((*importing, file.name))}.")
    for name in file.dependency:
        if name not in added:
            _add(pool, _find(name, imports), imports, added, (*importing, file.name))
    try:
        pool.Add(file)
    except (TypeError, ValueError) as error:
        told = str(error).removeprefix("Couldn't build proto file into descriptor pool: ")
        raise InvalidSchema(f"The schema is no valid Protobuf: {told[:500]}.") from error
    added.add(file.name)


def _find(name: str, imports: Mapping[str, FileDescriptorProto]) -> FileDescriptorProto:
    if name in imports:
        return imports[name]
    if name in _BUILT_IN:
        return parse_proto(_BUILT_IN[name], name)
    stem = name.removeprefix("google/protobuf/").removesuffix(".proto")
    if name == f"google/protobuf/{stem}.proto" and stem in _OF_GOOGLE:
        file = FileDescriptorProto()
        importlib.import_module(f"google.protobuf.{stem}_pb2").DESCRIPTOR.CopyToProto(file)
        return file
    raise InvalidSchema(f"The import {name[:200]!r} is not found. Give a reference with that name.")
