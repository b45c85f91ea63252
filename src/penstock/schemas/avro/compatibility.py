"""Whether a reader's Avro schema can read what a writer's schema wrote: Avro's rules of schema resolution.

The verdicts and the names of the reasons are those of Avro's Java library, with one rule of the specification
that it leaves out: two decimals match only if their precision and scale do, because others misread values.
"""

from __future__ import annotations

from typing import Final

from penstock.schemas.avro.model import (
    Array,
    AvroType,
    Enum,
    Field,
    Fixed,
    Map,
    Primitive,
    RecordSchema,
    Union,
)
from penstock.schemas.differences import Budget, Difference

PROMOTIONS: Final = {
    "long": {"int"},
    "float": {"int", "long"},
    "double": {"int", "long", "float"},
    "bytes": {"string"},
    "string": {"bytes"},
}
"""What a reader of a primitive type reads besides its own."""


def compare(reader: AvroType, writer: AvroType) -> list[Difference]:
    """Every reason why the reader cannot read; none when it can."""
    return _Comparison().compare(reader, writer, "/")


class _Comparison:
    def __init__(self) -> None:
        self._seen: dict[tuple[int, int], list[Difference]] = {}
        self._budget = Budget()

    def compare(self, reader: AvroType, writer: AvroType, path: str) -> list[Difference]:
        pair = id(reader), id(writer)
        if pair not in self._seen:
            self._budget.spend()
            self._seen[pair] = []  # a pair within itself is compatible unless something else is not
            self._seen[pair] = self._compare(reader, writer, path)
        return self._seen[pair]

    def _compare(self, reader: AvroType, writer: AvroType, path: str) -> list[Difference]:
        if isinstance(writer, Union):
            return self._from_union(reader, writer, path)
        if isinstance(reader, Union):
            return self._to_union(reader, writer, path)
        if isinstance(reader, Array) and isinstance(writer, Array):
            return self.compare(reader.items, writer.items, _below(path, "items"))
        if isinstance(reader, Map) and isinstance(writer, Map):
            return self.compare(reader.values, writer.values, _below(path, "values"))
        if isinstance(reader, Fixed) and isinstance(writer, Fixed):
            return [
                *_names(reader, writer, path),
                *_sizes(reader, writer, path),
                *_decimals(reader, writer, path),
            ]
        if isinstance(reader, Enum) and isinstance(writer, Enum):
            return [*_names(reader, writer, path), *_symbols(reader, writer, path)]
        if isinstance(reader, RecordSchema) and isinstance(writer, RecordSchema):
            return [*_names(reader, writer, path), *self._fields(reader, writer, path)]
        if isinstance(reader, Primitive) and isinstance(writer, Primitive):
            return _primitives(reader, writer, path)
        return [_type_mismatch(reader, writer, path)]

    def _from_union(self, reader: AvroType, writer: Union, path: str) -> list[Difference]:
        """Every branch of the writer must be readable."""
        found: list[Difference] = []
        for index, branch in enumerate(writer.branches):
            here = _below(path, str(index))
            differences = self.compare(reader, branch, here)
            if differences and isinstance(reader, Union):
                found.append(_missing_branch(branch, here))
            else:
                found += differences
        return found

    def _to_union(self, reader: Union, writer: AvroType, path: str) -> list[Difference]:
        """Some branch of the reader must read it."""
        if any(not self.compare(branch, writer, path) for branch in reader.branches):
            return []
        return [_missing_branch(writer, path)]

    def _fields(self, reader: RecordSchema, writer: RecordSchema, path: str) -> list[Difference]:
        written = {field.name: field for field in writer.fields}
        found: list[Difference] = []
        for index, field in enumerate(reader.fields):
            here = _below(_below(path, "fields"), str(index))
            sources = [written[name] for name in (field.name, *field.aliases) if name in written]
            if sources:
                found += self.compare(field.type, sources[0].type, _below(here, "type"))
            elif not field.has_default:
                found.append(_missing_default(field, here))
        return found


def _names(
    reader: RecordSchema | Enum | Fixed, writer: RecordSchema | Enum | Fixed, path: str
) -> list[Difference]:
    """Unqualified names match, or one of the reader's aliases is the writer's full name."""
    if reader.name == writer.name or writer.fullname in reader.aliases:
        return []
    at = _below(path, "name")
    return [
        Difference(
            "NAME_MISMATCH",
            at,
            f"The type at path {at} is named {reader.fullname} in the {{reader}} schema and otherwise in the "
            "{writer} schema",
            f"expected: {writer.fullname}",
        )
    ]


def _sizes(reader: Fixed, writer: Fixed, path: str) -> list[Difference]:
    if reader.size == writer.size:
        return []
    at = _below(path, "size")
    return [
        Difference(
            "FIXED_SIZE_MISMATCH",
            at,
            f"The fixed type at path {at} has another size in the {{reader}} than in the {{writer}} schema",
            f"expected: {writer.size}, found: {reader.size}",
        )
    ]


def _symbols(reader: Enum, writer: Enum, path: str) -> list[Difference]:
    missing = sorted(set(writer.symbols) - set(reader.symbols))
    if not missing or reader.default is not None:
        return []
    at = _below(path, "symbols")
    named = f"[{', '.join(missing)}]"
    return [
        Difference(
            "MISSING_ENUM_SYMBOLS",
            at,
            f"The enum at path {at} of the {{reader}} schema lacks symbols {named} of the {{writer}} "
            "schema and has no default",
            named,
        )
    ]


def _primitives(reader: Primitive, writer: Primitive, path: str) -> list[Difference]:
    if reader.kind != writer.kind and writer.kind not in PROMOTIONS.get(reader.kind, ()):
        return [_type_mismatch(reader, writer, path)]
    return _decimals(reader, writer, path)


def _decimals(reader: Primitive | Fixed, writer: Primitive | Fixed, path: str) -> list[Difference]:
    ours, theirs = (each.properties for each in (reader, writer))
    if ours.get("logicalType") != "decimal" or theirs.get("logicalType") != "decimal":
        return []
    read, written = (f"decimal({each.get('precision')}, {each.get('scale', 0)})" for each in (ours, theirs))
    if read == written:
        return []
    return [
        Difference(
            "TYPE_MISMATCH",
            path,
            f"The decimal at path {path} has another precision or scale in the {{reader}} schema than in the "
            "{writer} schema",
            f"expected: {written}, found: {read}",
        )
    ]


def _type_mismatch(reader: AvroType, writer: AvroType, path: str) -> Difference:
    return Difference(
        "TYPE_MISMATCH",
        path,
        f"The type at path {path} of the {{reader}} schema cannot read that of the {{writer}} schema",
        f"reader type: {reader.kind.upper()} not compatible with writer type: {writer.kind.upper()}",
    )


def _missing_branch(writer: AvroType, path: str) -> Difference:
    return Difference(
        "MISSING_UNION_BRANCH",
        path,
        f"The union at path {path} of the {{reader}} schema lacks a type of the {{writer}} schema",
        f"reader union lacking writer type: {writer.kind.upper()}",
    )


def _missing_default(field: Field, path: str) -> Difference:
    return Difference(
        "READER_FIELD_MISSING_DEFAULT_VALUE",
        path,
        f"The field {field.name} at path {path} of the {{reader}} schema has no default value and is missing "
        "in the {writer} schema",
        field.name,
    )


def _below(path: str, part: str) -> str:
    return f"{path}{part}" if path == "/" else f"{path}/{part}"
