"""What descriptors mean: names resolved, numbers checked, imports found, by Protobuf's own library."""

from __future__ import annotations

from collections.abc import Mapping

from google.protobuf.descriptor_pb2 import FileDescriptorProto
from google.protobuf.descriptor_pool import DescriptorPool

from penstock.schemas.errors import InvalidSchema
from penstock.schemas.protobuf.imports import find_import


def build_pool(file: FileDescriptorProto, imports: Mapping[str, FileDescriptorProto]) -> DescriptorPool:
    """A pool of its own with the file and everything that it imports."""
    pool = DescriptorPool()
    _add(pool, file, imports, set(), ())
    return pool


def resolved(file: FileDescriptorProto, imports: Mapping[str, FileDescriptorProto]) -> FileDescriptorProto:
    """The same file with the types of all fields known by their full names."""
    found = FileDescriptorProto()
    build_pool(file, imports).FindFileByName(file.name).CopyToProto(found)
    found.dependency[:] = file.dependency
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
    found = [find_import(name, imports) for name in file.dependency]
    for each in found:
        if each.name not in added:
            _add(pool, each, imports, added, (*importing, file.name))
    names = [each.name for each in found]
    if names != list(file.dependency):  # an import may have another name than the reference that it means
        copy = FileDescriptorProto()
        copy.CopyFrom(file)
        copy.dependency[:] = names
        file = copy
    try:
        pool.Add(file)
    except (TypeError, ValueError) as error:
        told = str(error).removeprefix("Couldn't build proto file into descriptor pool: ")
        raise InvalidSchema(f"The schema is no valid Protobuf: {told[:500]}.") from error
    added.add(file.name)
