"""From a FileDescriptorProto to .proto text: the canonical text of a schema, without comments."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Any

from google.protobuf.descriptor_pb2 import (
    DescriptorProto,
    EnumDescriptorProto,
    FieldDescriptorProto,
    FileDescriptorProto,
    ServiceDescriptorProto,
    UninterpretedOption,
)
from google.protobuf.message import Message

from penstock.schemas.protobuf.parsing import ENUM_NUMBER_MAX, FIELD_NUMBER_MAX, SCALARS

_SCALAR_NAMES = {number: name for name, number in SCALARS.items()}


def write_proto(file: FileDescriptorProto, *, normalised: bool = False) -> str:
    """The layout is that of Confluent's registry, so that a text means one schema in both.

    The parts of a file and of a message stand in one order, with an empty line between two parts. Names of
    types stay as they are written. `normalised` expects resolved names, which it writes in full, and sorts
    what has no order: imports, options and fields by number.
    """
    return "\n".join(_Writer(file, normalised).lines()) + "\n"


class _Writer:
    def __init__(self, file: FileDescriptorProto, normalised: bool) -> None:
        self._file = file
        self._normalised = normalised

    def lines(self) -> Iterator[str]:
        file = self._file
        head = [f'syntax = "{file.syntax}";'] if file.syntax else []
        head += [f"package {file.package};"] if file.package else []
        types = [line for message in file.message_type for line in self._message(message)]
        types += [line for enum in file.enum_type for line in self._enum(enum)]
        services = [line for service in file.service for line in self._service(service)]
        options = [f"option {text};" for text in self._options(file.options)]
        parts = (self._imports(), options, types, self._extensions(file.extension), services)
        yield from head
        for part in parts:
            written = list(part)
            yield from ["", *written] if written else []

    def _imports(self) -> Iterator[str]:
        found = []
        for index, name in enumerate(self._file.dependency):
            kind = "public " if index in self._file.public_dependency else ""
            kind = "weak " if index in self._file.weak_dependency else kind
            found.append((kind, f'import {kind}"{name}";'))
        ordered = sorted(found) if self._normalised else sorted(found, key=lambda each: each[0])
        return (text for _, text in ordered)

    def _message(self, message: DescriptorProto) -> Iterator[str]:
        reserved = list(self._ranges("reserved", message.reserved_range))
        if message.reserved_name:
            reserved.append(f"reserved {', '.join(json.dumps(name) for name in message.reserved_name)};")
        options = [f"option {text};" for text in self._options(message.options)]
        ordered = sorted(message.field, key=lambda f: f.number) if self._normalised else list(message.field)
        single = [f for f in ordered if not f.HasField("oneof_index") or f.proto3_optional]
        fields = [line for field in single for line in self._field(field, message)]
        oneofs = [line for index in range(len(message.oneof_decl))
                  for line in self._oneof(message, ordered, index)]  # fmt: skip
        extensions = list(self._ranges("extensions", message.extension_range))
        nested = [line for each in message.nested_type if not each.options.map_entry
                  for line in self._message(each)]  # fmt: skip
        nested += [line for enum in message.enum_type for line in self._enum(enum)]
        nested += self._extensions(message.extension)
        return _braced(f"message {message.name}", reserved, options, fields, oneofs, extensions, nested)

    def _oneof(self, message: DescriptorProto, fields: Any, index: int) -> Iterator[str]:
        inside = [f for f in fields if f.HasField("oneof_index") and f.oneof_index == index]
        if all(field.proto3_optional for field in inside):
            return iter(())
        oneof = message.oneof_decl[index]
        options = [f"option {text};" for text in self._options(oneof.options)]
        written = [line for field in inside for line in self._field(field, message)]
        return _braced(f"oneof {oneof.name}", options, written)

    def _field(self, field: FieldDescriptorProto, message: DescriptorProto | None) -> list[str]:
        entry = _map_entry(field, message)
        if entry is not None:
            key, value = (self._type(part) for part in entry.field)
            kind = f"map<{key}, {value}>"
        else:
            kind = f"{self._label(field)}{self._type(field)}"
        options = list(self._options(field.options))
        if field.HasField("default_value"):
            options.append(f"default = {_default(field)}")
        if field.HasField("json_name") and field.json_name != _json_name(field.name):
            options.append(f"json_name = {json.dumps(field.json_name)}")
        return _with_options(f"{kind} {field.name} = {field.number}", options)

    def _label(self, field: FieldDescriptorProto) -> str:
        if field.label == FieldDescriptorProto.LABEL_REPEATED:
            return "repeated "
        if field.label == FieldDescriptorProto.LABEL_REQUIRED:
            return "required "
        proto2 = self._file.syntax in ("", "proto2") and not field.HasField("oneof_index")
        return "optional " if field.proto3_optional or proto2 else ""

    def _type(self, field: FieldDescriptorProto) -> str:
        return field.type_name or str(_SCALAR_NAMES[field.type])

    def _enum(self, enum: EnumDescriptorProto) -> Iterator[str]:
        options = [f"option {text};" for text in self._options(enum.options)]
        reserved = list(self._ranges("reserved", enum.reserved_range, inclusive=True))
        if enum.reserved_name:
            reserved.append(f"reserved {', '.join(json.dumps(name) for name in enum.reserved_name)};")
        values = sorted(enum.value, key=lambda v: v.number) if self._normalised else enum.value
        written: list[str] = []
        for value in values:
            written += _with_options(f"{value.name} = {value.number}", list(self._options(value.options)))
        return _braced(f"enum {enum.name}", reserved, options, written)

    def _extensions(self, extensions: Any) -> list[str]:
        found: list[str] = []
        for extendee, fields in groupby(extensions, key=lambda field: field.extendee):
            written = [line for field in fields for line in self._field(field, None)]
            found += _braced(f"extend {extendee}", written)
        return found

    def _service(self, service: ServiceDescriptorProto) -> Iterator[str]:
        options = [f"option {text};" for text in self._options(service.options)]
        rpcs: list[str] = []
        for method in service.method:
            given, returned = (
                ("stream " if streams else "") + kind
                for streams, kind in (
                    (method.client_streaming, method.input_type),
                    (method.server_streaming, method.output_type),
                )
            )
            written = [f"option {text};" for text in self._options(method.options)]
            head = f"rpc {method.name} ({given}) returns ({returned})"
            rpcs += [*list(_braced(head, written))[:-1], "};"] if written else [f"{head};"]
        return _braced(f"service {service.name}", options, rpcs)

    def _options(self, options: Message) -> Iterator[str]:
        found = []
        for field, value in options.ListFields():
            if field.name == "uninterpreted_option":
                found += [_custom(each) for each in value]
            elif field.name == "map_entry":
                continue
            elif field.enum_type is not None:
                found.append(f"{field.name} = {field.enum_type.values_by_number[value].name}")
            elif isinstance(value, bool | str | int):
                found.append(f"{field.name} = {json.dumps(value)}")
        return iter(sorted(found) if self._normalised else found)

    def _ranges(self, word: str, ranges: Any, *, inclusive: bool = False) -> Iterator[str]:
        maximum = ENUM_NUMBER_MAX if inclusive else FIELD_NUMBER_MAX
        texts = []
        for each in ranges:
            end = each.end if inclusive else each.end - 1
            last = "max" if end >= maximum else str(end)
            texts.append(str(each.start) if end == each.start else f"{each.start} to {last}")
        if texts:
            yield f"{word} {', '.join(texts)};"


def _braced(head: str, *parts: Iterable[str]) -> Iterator[str]:
    """Braces with the parts indented inside, and a line between two parts that has but the indentation."""
    filled = [written for part in parts if (written := list(part))]
    if not filled:
        yield f"{head} {{}}"
        return
    yield f"{head} {{"
    for number, part in enumerate(filled):
        if number:
            yield ""
        yield from (f"  {line}" for line in part)
    yield "}"


def _with_options(head: str, options: list[str]) -> list[str]:
    """One option stands beside, several stand on lines of their own."""
    if len(options) < 2:
        return [f"{head} [{options[0]}];" if options else f"{head};"]
    return [f"{head} [", *(f"  {text}," for text in options[:-1]), f"  {options[-1]}", "];"]


def _map_entry(field: FieldDescriptorProto, message: DescriptorProto | None) -> DescriptorProto | None:
    if message is None or field.label != FieldDescriptorProto.LABEL_REPEATED or not field.type_name:
        return None
    name = field.type_name.rpartition(".")[2]
    return next((e for e in message.nested_type if e.name == name and e.options.map_entry), None)


def _default(field: FieldDescriptorProto) -> str:
    if field.type == FieldDescriptorProto.TYPE_STRING:
        return json.dumps(field.default_value)
    text = str(field.default_value)
    return f'"{text}"' if field.type == FieldDescriptorProto.TYPE_BYTES else text


def _json_name(name: str) -> str:
    """The name in JSON that Protobuf makes up itself."""
    first, *others = name.split("_")
    return first + "".join(part[:1].upper() + part[1:] for part in others)


def _custom(option: UninterpretedOption) -> str:
    parts = [f"({part.name_part})" if part.is_extension else part.name_part for part in option.name]
    return f"{'.'.join(parts)} = {_custom_value(option)}"


def _custom_value(option: UninterpretedOption) -> str:
    if option.HasField("string_value"):
        return json.dumps(option.string_value.decode("utf-8", "replace"))
    if option.HasField("aggregate_value"):
        return f"{{ {option.aggregate_value} }}"
    for name in ("identifier_value", "positive_int_value", "negative_int_value", "double_value"):
        if option.HasField(name):
            return str(getattr(option, name))
    return '""'
