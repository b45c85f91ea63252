"""Whether a reader's Protobuf schema reads what a writer's wrote: Confluent's rules.

Fields are matched by number; types may change within a group that has one encoding; names of fields are free.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from google.protobuf.descriptor_pb2 import DescriptorProto, FieldDescriptorProto
from google.protobuf.descriptor_pb2 import FileDescriptorProto as File

from penstock.schemas.differences import Budget, Difference

_F: Final = FieldDescriptorProto
GROUPS: Final = {
    **dict.fromkeys((_F.TYPE_INT32, _F.TYPE_INT64, _F.TYPE_UINT32, _F.TYPE_UINT64, _F.TYPE_BOOL), "number"),
    _F.TYPE_ENUM: "number",
    **dict.fromkeys((_F.TYPE_SINT32, _F.TYPE_SINT64), "signed number"),
    **dict.fromkeys((_F.TYPE_STRING, _F.TYPE_BYTES), "text"),
    **dict.fromkeys((_F.TYPE_FIXED32, _F.TYPE_SFIXED32), "fixed32"),
    **dict.fromkeys((_F.TYPE_FIXED64, _F.TYPE_SFIXED64), "fixed64"),
    _F.TYPE_FLOAT: "float",
    _F.TYPE_DOUBLE: "double",
}
"""Scalars of one group are written alike."""

_SENTENCES: Final = {
    "PACKAGE_CHANGED": "The package of the {reader} schema is another than that of the {writer} schema",
    "MESSAGE_REMOVED": "The {reader} schema lacks the message at path %s of the {writer} schema",
    "FIELD_KIND_CHANGED": "The field at path %s is a scalar, a message or a map in the {reader} schema and "
    "another of these in the {writer} schema",
    "FIELD_SCALAR_KIND_CHANGED": "The field at path %s has a type in the {reader} schema that is not "
    "written as that in the {writer} schema",
    "FIELD_NAMED_TYPE_CHANGED": "The field at path %s has another message type in the {reader} schema than "
    "in the {writer} schema",
    "FIELD_NUMERIC_LABEL_CHANGED": "The number at path %s is repeated in one of the {reader} and {writer} "
    "schemas only",
    "REQUIRED_FIELD_ADDED": "The required field at path %s of the {reader} schema is missing, or may be "
    "missing, in the {writer} schema",
    "REQUIRED_FIELD_REMOVED": "The {reader} schema lacks the required field at path %s of the {writer} "
    "schema",
    "ONEOF_FIELD_REMOVED": "The {reader} schema lacks the field at path %s of a oneof of the {writer} schema",
    "MULTIPLE_FIELDS_MOVED_TO_ONEOF": "The oneof at path %s of the {reader} schema holds several fields "
    "that the {writer} schema may set at once",
    "FIELD_MOVED_TO_EXISTING_ONEOF": "The oneof at path %s of the {reader} schema holds a field that is "
    "outside of it in the {writer} schema",
}


@dataclass(frozen=True, slots=True)
class Types:
    """A file with every message and enum in reach, by full name with its dot."""

    file: File
    messages: Mapping[str, DescriptorProto]
    packages: Mapping[str, str]
    """The package of each message."""


def types_of(file: File, imports: Mapping[str, File]) -> Types:
    messages: dict[str, DescriptorProto] = {}
    packages: dict[str, str] = {}
    for each in (*imports.values(), file):
        prefix = f".{each.package}." if each.package else "."
        _gather(each.message_type, prefix, each.package, messages, packages)
    return Types(file, messages, packages)


def compare(reader: Types, writer: Types) -> list[Difference]:
    """Every reason why the reader cannot read."""
    found: list[Difference] = []
    if reader.file.package != writer.file.package:
        found.append(_difference("PACKAGE_CHANGED", "#/"))
    return found + _Comparison(reader, writer).types(writer.file.message_type, reader.file.message_type, "#/")


class _Comparison:
    def __init__(self, reader: Types, writer: Types) -> None:
        self._reader = reader
        self._writer = writer
        self._budget = Budget()
        self._named_pairs: dict[tuple[str, str], bool] = {}
        """Messages that fields are of: whether they are known to be compatible. Each pair is told once."""

    def types(
        self, olds: Iterable[DescriptorProto], news: Iterable[DescriptorProto], path: str
    ) -> list[Difference]:
        """Messages of a file or within a message, by name."""
        before, after = _by_name(olds), _by_name(news)
        found: list[Difference] = []
        for name, old in before.items():
            here = f"{path}{name}"
            if name not in after:
                found.append(_difference("MESSAGE_REMOVED", here))
            else:
                found += self.messages(old, after[name], here)
        return found

    def messages(self, old: DescriptorProto, new: DescriptorProto, path: str) -> list[Difference]:
        self._budget.spend()
        found = _oneofs(old, new, path)
        before, after = ({field.number: field for field in each.field} for each in (old, new))
        gone = _oneofs_gone_whole(old, after)
        for number in sorted(before.keys() | after.keys()):
            field = after.get(number)
            oneof = _oneof_name(new, field) if field is not None else None
            here = f"{path}/{oneof}/{number}" if oneof else f"{path}/{number}"
            if field is None:
                found += _removed(old, before[number], gone, path)
            elif number not in before:
                if field.label == _F.LABEL_REQUIRED:
                    found.append(_difference("REQUIRED_FIELD_ADDED", here))
            else:
                found += self._fields(before[number], field, here)
        return found + self.types(old.nested_type, new.nested_type, f"{path}.")

    def _fields(self, old: FieldDescriptorProto, new: FieldDescriptorProto, path: str) -> list[Difference]:
        if new.label == _F.LABEL_REQUIRED != old.label:
            return [_difference("REQUIRED_FIELD_ADDED", path)]
        old_map, new_map = self._map(old, self._writer), self._map(new, self._reader)
        kinds = _kind(old, old_map), _kind(new, new_map)
        if kinds[0] != kinds[1]:
            return [_difference("FIELD_KIND_CHANGED", path)]
        if old_map is not None and new_map is not None:
            pairs = zip(old_map.field, new_map.field, strict=True)
            return [each for pair in pairs for each in self._fields(*pair, path)]
        if kinds[0] == "message":
            return self._named(old, new, path)
        if GROUPS[old.type] != GROUPS[new.type]:
            return [_difference("FIELD_SCALAR_KIND_CHANGED", path)]
        repeated = _F.LABEL_REPEATED in (old.label, new.label)
        if repeated and old.label != new.label and GROUPS[old.type] != "text":
            return [_difference("FIELD_NUMERIC_LABEL_CHANGED", path)]
        return []

    def _named(self, old: FieldDescriptorProto, new: FieldDescriptorProto, path: str) -> list[Difference]:
        """Messages must have one name within their packages; those of other files are compared here."""
        names = old.type_name, new.type_name
        if _local(old.type_name, self._writer) != _local(new.type_name, self._reader):
            return [_difference("FIELD_NAMED_TYPE_CHANGED", path)]
        before, after = self._writer.messages.get(names[0]), self._reader.messages.get(names[1])
        if before is None or after is None:
            return []
        inner: list[Difference] = []
        if names not in self._named_pairs:
            self._named_pairs[names] = True  # a message within itself
            inner = self.messages(before, after, path)
            self._named_pairs[names] = not inner
        return [] if self._named_pairs[names] else [*inner, _difference("FIELD_NAMED_TYPE_CHANGED", path)]

    def _map(self, field: FieldDescriptorProto, types: Types) -> DescriptorProto | None:
        if field.type != _F.TYPE_MESSAGE:
            return None
        message = types.messages.get(field.type_name)
        return message if message is not None and message.options.map_entry else None


def _kind(field: FieldDescriptorProto, map_entry: DescriptorProto | None) -> str:
    if map_entry is not None:
        return "map"
    return "message" if field.type in (_F.TYPE_MESSAGE, _F.TYPE_GROUP) else "scalar"


def _removed(
    old: DescriptorProto, field: FieldDescriptorProto, gone: set[str], path: str
) -> list[Difference]:
    oneof = _oneof_name(old, field)
    if oneof is None:
        required = field.label == _F.LABEL_REQUIRED
        return [_difference("REQUIRED_FIELD_REMOVED", f"{path}/{field.number}")] if required else []
    return [] if oneof in gone else [_difference("ONEOF_FIELD_REMOVED", f"{path}/{oneof}/{field.number}")]


def _oneofs_gone_whole(old: DescriptorProto, after: Mapping[int, FieldDescriptorProto]) -> set[str]:
    """Oneofs of which no field is left: that is no loss of one alternative but a decision."""
    members: dict[str, set[int]] = {}
    for field in old.field:
        if (name := _oneof_name(old, field)) is not None:
            members.setdefault(name, set()).add(field.number)
    return {name for name, numbers in members.items() if not numbers & after.keys()}


def _oneofs(old: DescriptorProto, new: DescriptorProto, path: str) -> list[Difference]:
    """Fields that could be set at once must not come to exclude each other."""
    before = {field.number: _oneof_name(old, field) for field in old.field}
    groups: dict[str, set[str]] = {}
    alone: dict[str, int] = {}
    for field in new.field:
        name = _oneof_name(new, field)
        if name is not None and field.number in before:
            former = before[field.number]
            groups.setdefault(name, set()).add(f"oneof {former}" if former else f"field {field.number}")
            alone[name] = alone.get(name, 0) + (former is None)
    return [
        _difference(
            "MULTIPLE_FIELDS_MOVED_TO_ONEOF" if alone[name] > 1 else "FIELD_MOVED_TO_EXISTING_ONEOF",
            f"{path}/{name}",
        )
        for name, former in groups.items()
        if len(former) > 1
    ]


def _oneof_name(message: DescriptorProto, field: FieldDescriptorProto) -> str | None:
    """The oneof of a field; what `optional` means in proto3 is none."""
    if not field.HasField("oneof_index") or field.proto3_optional:
        return None
    return str(message.oneof_decl[field.oneof_index].name)


def _local(full: str, types: Types) -> str:
    package = types.packages.get(full, "")
    return full.removeprefix(f".{package}." if package else ".")


def _by_name(messages: Iterable[DescriptorProto]) -> dict[str, DescriptorProto]:
    return {each.name: each for each in messages if not each.options.map_entry}


def _gather(
    found: Iterable[DescriptorProto],
    prefix: str,
    package: str,
    messages: dict[str, DescriptorProto],
    packages: dict[str, str],
) -> None:
    for message in found:
        full = prefix + message.name
        messages[full] = message
        packages[full] = package
        _gather(message.nested_type, f"{full}.", package, messages, packages)


def _difference(kind: str, path: str) -> Difference:
    return Difference(kind, path, _SENTENCES[kind].replace("%s", path))
