"""From a FileDescriptorProto to .proto text: the canonical text of a schema, without comments."""

from __future__ import annotations

import json
from collections.abc import Iterator
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

from penstock.schemas.protobuf.names import Names
from penstock.schemas.protobuf.parsing import ENUM_NUMBER_MAX, FIELD_NUMBER_MAX, SCALARS

_SCALAR_NAMES = {number: name for name, number in SCALARS.items()}


def write_proto(file: FileDescriptorProto, *, normalised: bool = False) -> str:
    """`normalised` writes full names and sorts what has no order: imports, options and fields by number."""
    return "\n".join(_Writer(file, normalised).lines()) + "\n"


class _Writer:
    def __init__(self, file: FileDescriptorProto, normalised: bool) -> None:
        self._file = file
        self._normalised = normalised
        self._names = Names(file)

    def lines(self) -> Iterator[str]:
        file = self._file
        yield f'syntax = "{file.syntax or "proto2"}";'
        if file.package:
            yield f"package {file.package};"
        yield from self._block(self._imports())
        yield from self._block(f"option {text};" for text in self._options(file.options))
        for message in file.message_type:
            yield from self._block(self._message(message, file.package))
        for enum in file.enum_type:
            yield from self._block(self._enum(enum))
        yield from self._block(self._extensions(file.extension, file.package))
        for service in file.service:
            yield from self._block(self._service(service))

    def _block(self, lines: Iterator[str]) -> Iterator[str]:
        written = list(lines)
        return iter(["", *written] if written else [])

    def _imports(self) -> Iterator[str]:
        found = []
        for index, name in enumerate(self._file.dependency):
            kind = "public " if index in self._file.public_dependency else ""
            kind = "weak " if index in self._file.weak_dependency else kind
            found.append(f'import {kind}"{name}";')
        return iter(sorted(found) if self._normalised else found)

    def _message(self, message: DescriptorProto, scope: str) -> Iterator[str]:
        inner = f"{scope}.{message.name}" if scope else message.name
        yield f"message {message.name} {{"
        yield from _indented(self._message_body(message, inner))
        yield "}"

    def _message_body(self, message: DescriptorProto, scope: str) -> Iterator[str]:
        for text in self._options(message.options):
            yield f"option {text};"
        yield from self._ranges("reserved", message.reserved_range)
        if message.reserved_name:
            yield f"reserved {', '.join(json.dumps(name) for name in message.reserved_name)};"
        yield from self._ranges("extensions", message.extension_range)
        fields = sorted(message.field, key=lambda f: f.number) if self._normalised else message.field
        written: set[int] = set()
        for field in fields:
            if field.HasField("oneof_index") and not field.proto3_optional:
                if field.oneof_index not in written:
                    written.add(field.oneof_index)
                    yield from self._oneof(message, fields, field.oneof_index, scope)
            else:
                yield self._field(field, message, scope)
        for nested in message.nested_type:
            if not nested.options.map_entry:
                yield from self._message(nested, scope)
        for enum in message.enum_type:
            yield from self._enum(enum)
        yield from self._extensions(message.extension, scope)

    def _oneof(self, message: DescriptorProto, fields: Any, index: int, scope: str) -> Iterator[str]:
        oneof = message.oneof_decl[index]
        yield f"oneof {oneof.name} {{"
        for text in self._options(oneof.options):
            yield f"  option {text};"
        for field in fields:
            if field.HasField("oneof_index") and field.oneof_index == index:
                yield "  " + self._field(field, message, scope)
        yield "}"

    def _field(self, field: FieldDescriptorProto, message: DescriptorProto | None, scope: str) -> str:
        entry = _map_entry(field, message)
        if entry is not None:
            key, value = (self._type(part, scope) for part in entry.field)
            kind = f"map<{key}, {value}>"
        else:
            kind = f"{self._label(field)}{self._type(field, scope)}"
        options = list(self._options(field.options))
        if field.HasField("default_value"):
            options.insert(0, f"default = {_default(field)}")
        if field.HasField("json_name") and field.json_name != _json_name(field.name):
            options.append(f"json_name = {json.dumps(field.json_name)}")
        told = f" [{', '.join(options)}]" if options else ""
        return f"{kind} {field.name} = {field.number}{told};"

    def _label(self, field: FieldDescriptorProto) -> str:
        if field.label == FieldDescriptorProto.LABEL_REPEATED:
            return "repeated "
        if field.label == FieldDescriptorProto.LABEL_REQUIRED:
            return "required "
        proto2 = self._file.syntax in ("", "proto2") and not field.HasField("oneof_index")
        return "optional " if field.proto3_optional or proto2 else ""

    def _type(self, field: FieldDescriptorProto, scope: str) -> str:
        if not field.type_name:
            return str(_SCALAR_NAMES[field.type])
        return field.type_name if self._normalised else self._names.shortest(field.type_name, scope)

    def _enum(self, enum: EnumDescriptorProto) -> Iterator[str]:
        yield f"enum {enum.name} {{"
        for text in self._options(enum.options):
            yield f"  option {text};"
        for each in self._ranges("reserved", enum.reserved_range, inclusive=True):
            yield f"  {each}"
        if enum.reserved_name:
            yield f"  reserved {', '.join(json.dumps(name) for name in enum.reserved_name)};"
        values = sorted(enum.value, key=lambda v: v.number) if self._normalised else enum.value
        for value in values:
            options = ", ".join(self._options(value.options))
            yield f"  {value.name} = {value.number}{f' [{options}]' if options else ''};"
        yield "}"

    def _extensions(self, extensions: Any, scope: str) -> Iterator[str]:
        for field in extensions:
            extendee = field.extendee if self._normalised else self._names.shortest(field.extendee, scope)
            yield f"extend {extendee} {{"
            yield "  " + self._field(field, None, scope)
            yield "}"

    def _service(self, service: ServiceDescriptorProto) -> Iterator[str]:
        yield f"service {service.name} {{"
        for text in self._options(service.options):
            yield f"  option {text};"
        for method in service.method:
            given, returned = (
                ("stream " if streams else "") + self._names.shortest(kind, self._file.package)
                for streams, kind in (
                    (method.client_streaming, method.input_type),
                    (method.server_streaming, method.output_type),
                )
            )
            options = [f"option {text};" for text in self._options(method.options)]
            end = f" {{ {' '.join(options)} }}" if options else ";"
            yield f"  rpc {method.name} ({given}) returns ({returned}){end}"
        yield "}"

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


def _indented(lines: Iterator[str]) -> Iterator[str]:
    return (f"  {line}" for line in lines)


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
