"""Where an import leads: to a reference, or to a file that every schema may import without one."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Final

from google.protobuf.descriptor_pb2 import FileDescriptorProto

from penstock.schemas.errors import InvalidSchema
from penstock.schemas.protobuf.parsing import parse_proto

_OF_GOOGLE: Final = {
    "google/protobuf": (
        "any", "api", "descriptor", "duration", "empty", "field_mask", "source_context", "struct",
        "timestamp", "type", "wrappers",
    ),
    "google/type": (
        "calendar_period", "color", "date", "datetime", "dayofweek", "decimal", "expr", "fraction",
        "interval", "latlng", "localized_text", "money", "month", "phone_number", "postal_address",
        "quaternion", "timeofday",
    ),
}  # fmt: skip
_OF_CONFLUENT: Final = {
    "confluent/meta.proto": """
        syntax = "proto3"; package confluent; import "google/protobuf/descriptor.proto";
        message Meta { string doc = 1; map<string, string> params = 2; repeated string tags = 3;
                       repeated Rule rules = 4; }
        message Rule { string name = 1; string doc = 2; string expr = 3; string sql = 4; }
        extend google.protobuf.FileOptions { Meta file_meta = 1088; }
        extend google.protobuf.MessageOptions { Meta message_meta = 1088; }
        extend google.protobuf.FieldOptions { Meta field_meta = 1088; }
        extend google.protobuf.EnumOptions { Meta enum_meta = 1088; }
        extend google.protobuf.EnumValueOptions { Meta enum_value_meta = 1088; }""",
    "confluent/type/decimal.proto": """
        syntax = "proto3"; package confluent.type;
        message Decimal { bytes value = 1; uint32 precision = 2; int32 scale = 3; }""",
}


def find_import(name: str, references: Mapping[str, FileDescriptorProto]) -> FileDescriptorProto:
    """The file that an import means. A reference of another name is meant when its path ends alike, and it is
    the only one.
    """
    if name in references:
        return references[name]
    built_in = _built_in(name)
    if built_in is not None:
        return built_in
    alike = [file for known, file in references.items() if _ends_alike(name, known)]
    if len(alike) == 1:
        return alike[0]
    raise InvalidSchema(f"The import {name[:200]!r} is not found. Give a reference with that name.")


def _built_in(name: str) -> FileDescriptorProto | None:
    if name in _OF_CONFLUENT:
        return parse_proto(_OF_CONFLUENT[name], name)
    folder, _, base = name.rpartition("/")
    stem = base.removesuffix(".proto")
    if base == stem or stem not in _OF_GOOGLE.get(folder, ()):
        return None
    file = FileDescriptorProto()
    importlib.import_module(f"{folder.replace('/', '.')}.{stem}_pb2").DESCRIPTOR.CopyToProto(file)
    return file


def _ends_alike(one: str, other: str) -> bool:
    """Whether the shorter path is the end of the longer one, or both have the same last part."""
    return one.rpartition("/")[2] == other.rpartition("/")[2]
