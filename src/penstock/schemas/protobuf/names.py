"""Names of types as they are written: the shortest one that means the type in its scope."""

from __future__ import annotations

from collections.abc import Iterator

from google.protobuf.descriptor_pb2 import DescriptorProto, FileDescriptorProto


class Names:
    """The types that a file defines."""

    def __init__(self, file: FileDescriptorProto) -> None:
        prefix = f"{file.package}." if file.package else ""
        self._types = set(_types(file, prefix))
        self._package = file.package

    def shortest(self, full: str, scope: str) -> str:
        """`full` begins with a dot. A type of another file keeps its full name, without the dot if it may."""
        name = full.lstrip(".")
        if name not in self._types:
            return name if not self._is_shadowed(name, scope) else f".{name}"
        parts = name.split(".")
        for start in range(len(parts) - 1, -1, -1):
            candidate = ".".join(parts[start:])
            if self._meaning(candidate, scope) == name:
                return candidate
        return f".{name}"

    def _meaning(self, written: str, scope: str) -> str | None:
        """What a written name means: its first part is looked up from the innermost scope outwards."""
        first = written.partition(".")[0]
        while True:
            full = f"{scope}.{first}" if scope else first
            if full in self._types or self._is_namespace(full):
                return f"{scope}.{written}" if scope else written
            if not scope:
                return None
            scope = scope.rpartition(".")[0]

    def _is_namespace(self, name: str) -> bool:
        return f"{self._package}.".startswith(f"{name}.")

    def _is_shadowed(self, name: str, scope: str) -> bool:
        found = self._meaning(name.partition(".")[0], scope)
        return found is not None and found != name.partition(".")[0]


def _types(file: FileDescriptorProto, prefix: str) -> Iterator[str]:
    for message in file.message_type:
        yield from _within(message, prefix)
    for enum in file.enum_type:
        yield prefix + enum.name


def _within(message: DescriptorProto, prefix: str) -> Iterator[str]:
    full = prefix + message.name
    yield full
    for nested in message.nested_type:
        yield from _within(nested, f"{full}.")
    for enum in message.enum_type:
        yield f"{full}.{enum.name}"
