"""Random Protobuf files: messages with every kind of field, changed in the ways that people change them.

Enums never lose a value. Confluent's rules, which ours are, allow it, but a reader of proto2 takes a value
that it does not know for none, also where the field is required.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass, field
from functools import lru_cache
from random import Random
from typing import Any

from google.protobuf import message_factory
from google.protobuf.descriptor import FieldDescriptor

from penstock.schemas.formats import parse
from penstock.schemas.protobuf.building import build_pool
from penstock.schemas.protobuf.schema import ProtobufSchema

SCALARS = ("int32", "int64", "uint32", "uint64", "sint32", "sint64", "bool", "fixed32", "fixed64",
           "sfixed32", "sfixed64", "float", "double", "string", "bytes", "E")  # fmt: skip
KEYS = ("int32", "int64", "string", "bool")


@dataclass
class Field:
    number: int
    kind: str
    label: str = ""
    """Empty, optional, required or repeated."""
    oneof: str = ""


@dataclass
class File:
    proto2: bool
    fields: dict[int, Field] = field(default_factory=dict)
    inner: dict[int, Field] = field(default_factory=dict)
    """Fields of the message M, which fields of the first message may be of."""
    values: int = 2

    @property
    def text(self) -> str:
        enum = "".join(f"  V{n} = {n};\n" for n in range(self.values))
        first, second = self._message("R", self.fields), self._message("M", self.inner)
        syntax = "proto2" if self.proto2 else "proto3"
        return f'syntax = "{syntax}";\npackage p;\n\n{first}{second}enum E {{\n{enum}}}\n'

    def _message(self, name: str, fields: dict[int, Field]) -> str:
        lines = [f"  {self._field(each)}" for each in fields.values() if not each.oneof]
        for oneof in sorted({each.oneof for each in fields.values() if each.oneof}):
            inside = "".join(f"    {each.kind} f{each.number} = {each.number};\n"
                             for each in fields.values() if each.oneof == oneof)  # fmt: skip
            lines.append(f"  oneof {oneof} {{\n{inside}  }}")
        return f"message {name} {{\n" + "\n".join(lines) + "\n}\n"

    def _field(self, each: Field) -> str:
        label = each.label or ("optional" if self.proto2 and not each.kind.startswith("map") else "")
        if each.kind.startswith("map") or (not self.proto2 and label == "required"):
            label = ""
        return f"{label} {each.kind} f{each.number} = {each.number};".strip()


def pair(random: Random) -> tuple[File, File]:
    first = File(random.random() < 0.4)
    for fields in (first.fields, first.inner):
        for number in random.sample(range(1, 9), random.randint(1, 5)):
            fields[number] = _field(random, number, inner=fields is first.inner)
    second = copy.deepcopy(first)
    for _ in range(random.randint(0, 3)):
        _change(random, second)
    return first, second


@lru_cache(maxsize=64)
def message_class(text: str) -> Any:
    schema = parse("PROTOBUF", text)
    assert isinstance(schema, ProtobufSchema)
    pool = build_pool(schema.written, schema.imports)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("p.R"))


def filled(random: Random, message: Any, depth: int = 2) -> Any:
    """A message with some of its fields set; required ones always."""
    for each in message.DESCRIPTOR.fields:
        if not each.is_required and random.random() < 0.3:
            continue
        if each.message_type is not None and each.message_type.GetOptions().map_entry:
            key, value = each.message_type.fields
            if value.message_type is None:
                getattr(message, each.name)[_scalar(random, key)] = _scalar(random, value)
            else:
                filled(random, getattr(message, each.name)[_scalar(random, key)], depth - 1)
        elif each.is_repeated:
            for _ in range(random.randint(0, 2)):
                if each.message_type is not None:
                    filled(random, getattr(message, each.name).add(), depth - 1)
                else:
                    getattr(message, each.name).append(_scalar(random, each))
        elif each.message_type is not None:
            getattr(message, each.name).SetInParent()
            filled(random, getattr(message, each.name), depth - 1)
        else:
            setattr(message, each.name, _scalar(random, each))
    return message


def check_kept(written: Any, read: Any) -> None:
    """Fields of one number and one type have the value that was written."""
    fields = read.DESCRIPTOR.fields_by_number
    for each in written.DESCRIPTOR.fields:
        other = fields.get(each.number)
        if other is None or each.message_type is not None or other.message_type is not None:
            continue
        if (each.type, each.is_repeated) == (other.type, other.is_repeated) and each.enum_type is None:
            assert getattr(written, each.name) == getattr(read, other.name), (written, read)


def _field(random: Random, number: int, *, inner: bool) -> Field:
    choice = random.random()
    if choice < 0.1:
        value = random.choice(SCALARS if inner else (*SCALARS, "M"))
        return Field(number, f"map<{random.choice(KEYS)}, {value}>")
    kind = random.choice(SCALARS) if inner or choice < 0.8 else "M"
    if random.random() < 0.25:
        return Field(number, kind, oneof=random.choice(("o", "q")))
    return Field(number, kind, random.choice(("", "", "optional", "required", "repeated")))


def _change(random: Random, file: File) -> None:
    fields = random.choice((file.fields, file.inner))
    inner = fields is file.inner
    choice = random.random()
    number = random.randint(1, 8)
    if choice < 0.2 or not fields:
        fields[number] = fields.get(number) or _field(random, number, inner=inner)
        return
    chosen = random.choice(list(fields.values()))
    if choice < 0.4:
        del fields[chosen.number]
    elif choice < 0.55:
        chosen.label, chosen.oneof = random.choice(("", "optional", "required", "repeated")), ""
    elif choice < 0.7 and not chosen.kind.startswith("map"):
        chosen.oneof, chosen.label = random.choice(("o", "q", "")), ""
    elif choice < 0.9:
        fields[chosen.number] = _field(random, chosen.number, inner=inner)
    else:
        file.values += 1


def _scalar(random: Random, each: Any) -> Any:
    match each.cpp_type:
        case FieldDescriptor.CPPTYPE_STRING:
            text = "x" * random.randint(1, 3)
            return text if each.type == FieldDescriptor.TYPE_STRING else text.encode()
        case FieldDescriptor.CPPTYPE_BOOL:
            return True
        case FieldDescriptor.CPPTYPE_FLOAT | FieldDescriptor.CPPTYPE_DOUBLE:
            return float(random.randint(-5, 5))
        case FieldDescriptor.CPPTYPE_ENUM:
            return random.choice(each.enum_type.values).number
    return random.randint(0, 100)
