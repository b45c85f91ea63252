"""Arrays whose items take no bytes: five bytes can claim any number of them, so no reader may believe it."""

from __future__ import annotations

from penstock.schemas.avro.model import Array, AvroType, Fixed, Map, Primitive, RecordSchema, Union


def has_weightless_array(root: AvroType) -> bool:
    """Whether some array of the schema has items that take no bytes, such as nulls or empty records."""
    waiting, seen = [root], set[int]()
    while waiting:
        kind = waiting.pop()
        if id(kind) in seen:
            continue
        seen.add(id(kind))
        if isinstance(kind, Array) and is_weightless(kind.items, frozenset()):
            return True
        waiting += _parts(kind)
    return False


def is_weightless(kind: AvroType, around: frozenset[int]) -> bool:
    """A record inside itself never ends, so it has a weight."""
    if isinstance(kind, Primitive):
        return kind.kind == "null"
    if isinstance(kind, Fixed):
        return kind.size == 0
    if isinstance(kind, RecordSchema) and id(kind) not in around:
        within = around | {id(kind)}
        return all(is_weightless(field.type, within) for field in kind.fields)
    return False


def _parts(kind: AvroType) -> list[AvroType]:
    if isinstance(kind, Array):
        return [kind.items]
    if isinstance(kind, Map):
        return [kind.values]
    if isinstance(kind, Union):
        return list(kind.branches)
    return [field.type for field in kind.fields] if isinstance(kind, RecordSchema) else []
