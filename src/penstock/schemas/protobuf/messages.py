"""The messages of a schema as descriptors, by name and by place, for readers of more than ProtoJSON."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from google.protobuf.descriptor import Descriptor, FileDescriptor

from penstock.schemas.errors import InvalidSchema
from penstock.schemas.protobuf.building import build_pool
from penstock.schemas.protobuf.schema import parse_protobuf


def describe(text: str, references: Mapping[str, str]) -> FileDescriptor:
    """The file that `text` is; `references` are its imports by name."""
    schema = parse_protobuf(text, references)
    return build_pool(schema.file, schema.imports).FindFileByName(schema.file.name)


def message_named(file: FileDescriptor, name: str) -> Descriptor:
    """The message of that name, simple or with its package."""
    for full_name in (name, f"{file.package}.{name}"):
        try:
            return file.pool.FindMessageTypeByName(full_name)
        except KeyError:
            continue
    known = ", ".join(file.message_types_by_name)
    raise InvalidSchema(f"the schema has no message {name!r}: there are {known}")


def message_at(file: FileDescriptor, path: Iterable[int]) -> Descriptor:
    """The message at a path of indexes, outermost first."""
    within: list[Any] = list(file.message_types_by_name.values())
    found: Descriptor | None = None
    for index in path:
        if index >= len(within):
            raise InvalidSchema(f"the schema has no message {index} at this place")
        found = within[index]
        within = list(found.nested_types)
    assert found is not None, "a path has at least one index"
    return found


def path_of(message: Descriptor) -> tuple[int, ...]:
    """Where the message stands in its file, as `message_at` takes it."""
    outer = message.containing_type
    if outer is None:
        return (list(message.file.message_types_by_name).index(message.name),)
    return (*path_of(outer), [each.name for each in outer.nested_types].index(message.name))
