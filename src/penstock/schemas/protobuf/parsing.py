"""From .proto text (proto2 and proto3) to a FileDescriptorProto whose type names are still as written."""

from __future__ import annotations

from typing import Final

from google.protobuf.descriptor_pb2 import (
    DescriptorProto,
    EnumDescriptorProto,
    FieldDescriptorProto,
    FileDescriptorProto,
    OneofDescriptorProto,
    ServiceDescriptorProto,
)

from penstock.schemas.errors import InvalidSchema
from penstock.schemas.protobuf.options import apply_option, read_option, read_options_in_brackets
from penstock.schemas.protobuf.tokens import END, Tokens

DEPTH_MAX: Final = 32
"""Messages within messages, as protoc."""
FIELD_NUMBER_MAX: Final = 2**29 - 1
ENUM_NUMBER_MAX: Final = 2**31 - 1

_LABELS: Final = {
    "optional": FieldDescriptorProto.LABEL_OPTIONAL,
    "required": FieldDescriptorProto.LABEL_REQUIRED,
    "repeated": FieldDescriptorProto.LABEL_REPEATED,
}
SCALARS: Final = {
    name.removeprefix("TYPE_").lower(): number
    for name, number in FieldDescriptorProto.Type.items()
    if name not in ("TYPE_MESSAGE", "TYPE_ENUM", "TYPE_GROUP")
}


def parse_proto(source: str, name: str) -> FileDescriptorProto:
    """InvalidSchema says the line of what is not understood."""
    return _Parser(Tokens(source), FileDescriptorProto(name=name)).parse()


class _Parser:
    def __init__(self, tokens: Tokens, file: FileDescriptorProto) -> None:
        self._tokens = tokens
        self._file = file

    def parse(self) -> FileDescriptorProto:
        tokens = self._tokens
        if tokens.next in ("syntax", "edition"):
            self._syntax(tokens.take())
        while tokens.next != END:
            self._element(tokens.take())
        return self._file

    def _syntax(self, word: str) -> None:
        self._tokens.expect("=")
        value = self._tokens.text()
        self._tokens.expect(";")
        if word == "edition" or value not in ("proto2", "proto3"):
            raise InvalidSchema(f"{word} {value!r} is not supported. Use proto2 or proto3.")
        self._file.syntax = value

    def _element(self, word: str) -> None:
        tokens = self._tokens
        match word:
            case ";":
                return
            case "package":
                self._file.package = tokens.name()
                tokens.expect(";")
            case "import":
                self._import()
            case "option":
                apply_option(self._file.options, *read_option(tokens))
                tokens.expect(";")
            case "message":
                self._message(self._file.message_type.add(), 1)
            case "enum":
                self._enum(self._file.enum_type.add())
            case "extend":
                self._extend(self._file.extension)
            case "service":
                self._service(self._file.service.add())
            case _:
                raise tokens.error(f"{word[:40]!r} begins nothing that a .proto file may hold")

    def _import(self) -> None:
        index = len(self._file.dependency)
        if self._tokens.accept("public"):
            self._file.public_dependency.append(index)
        elif self._tokens.accept("weak"):
            self._file.weak_dependency.append(index)
        self._file.dependency.append(self._tokens.text())
        self._tokens.expect(";")

    def _message(self, message: DescriptorProto, depth: int) -> None:
        tokens = self._tokens
        if depth > DEPTH_MAX:
            raise tokens.error(f"messages are nested more than {DEPTH_MAX} levels deep")
        message.name = tokens.name()
        tokens.expect("{")
        while not tokens.accept("}"):
            self._message_element(message, depth)
        for field in message.field:  # the last oneofs of a message are those that `optional` means
            if field.proto3_optional:
                field.oneof_index = len(message.oneof_decl)
                message.oneof_decl.add(name=f"_{field.name}")

    def _message_element(self, message: DescriptorProto, depth: int) -> None:
        tokens = self._tokens
        word, follows_name = tokens.next, tokens.after() not in ("=", ".")
        if tokens.accept(";"):
            return
        if word == "option":
            tokens.take()
            apply_option(message.options, *read_option(tokens))
            tokens.expect(";")
        elif word == "message" and follows_name:
            tokens.take()
            self._message(message.nested_type.add(), depth + 1)
        elif word == "enum":
            tokens.take()
            self._enum(message.enum_type.add())
        elif word == "oneof":
            tokens.take()
            self._oneof(message)
        elif word == "extend":
            tokens.take()
            self._extend(message.extension)
        elif word == "extensions":
            tokens.take()
            for start, end in self._ranges(FIELD_NUMBER_MAX):
                message.extension_range.add(start=start, end=end + 1)
            read_options_in_brackets(tokens)
            tokens.expect(";")
        elif word == "reserved":
            tokens.take()
            self._reserved(message)
        else:
            self._field(message, message.field.add())

    def _reserved(self, message: DescriptorProto) -> None:
        if self._tokens.kind == "text":
            message.reserved_name.extend(self._names())
        else:
            for start, end in self._ranges(FIELD_NUMBER_MAX):
                message.reserved_range.add(start=start, end=end + 1)
        self._tokens.expect(";")

    def _names(self) -> list[str]:
        found = [self._tokens.text()]
        while self._tokens.accept(","):
            found.append(self._tokens.text())
        return found

    def _ranges(self, maximum: int) -> list[tuple[int, int]]:
        """First and last number of each range."""
        found: list[tuple[int, int]] = []
        while True:
            start = end = self._tokens.integer()
            if self._tokens.accept("to"):
                end = maximum if self._tokens.accept("max") else self._tokens.integer()
            found.append((start, end))
            if not self._tokens.accept(","):
                return found

    def _field(self, message: DescriptorProto, field: FieldDescriptorProto, oneof: int | None = None) -> None:
        tokens = self._tokens
        label = tokens.take() if tokens.next in _LABELS and tokens.after() != "=" else ""
        field.label = _LABELS.get(label, FieldDescriptorProto.LABEL_OPTIONAL)
        kind = tokens.name()
        if kind == "group":
            raise tokens.error("groups are not supported; use a message instead")
        if kind == "map" and tokens.accept("<"):
            self._map_entry(message, field)
        else:
            _set_type(field, kind)
            field.name = tokens.name()
        tokens.expect("=")
        field.number = _in_int32(tokens)
        if oneof is not None:
            field.oneof_index = oneof
        elif label == "optional" and self._file.syntax == "proto3":
            field.proto3_optional = True
        self._field_options(field)
        tokens.expect(";")

    def _field_options(self, field: FieldDescriptorProto) -> None:
        for parts, value in read_options_in_brackets(self._tokens):
            name = parts[0][0] if len(parts) == 1 and not parts[0][1] else ""
            if name == "json_name":
                field.json_name = str(value[1])
            elif name == "default":
                field.default_value = _default(value[1])
            else:
                apply_option(field.options, parts, value)

    def _map_entry(self, message: DescriptorProto, field: FieldDescriptorProto) -> None:
        """A map is a repeated message of key and value."""
        tokens = self._tokens
        key = tokens.name()
        tokens.expect(",")
        value = tokens.name()
        tokens.expect(">")
        field.name = tokens.name()
        camel = "".join(part[:1].upper() + part[1:] for part in field.name.split("_"))
        entry = message.nested_type.add(name=f"{camel}Entry")
        entry.options.map_entry = True
        for number, (name, kind) in enumerate((("key", key), ("value", value)), 1):
            part = entry.field.add(name=name, number=number, label=FieldDescriptorProto.LABEL_OPTIONAL)
            _set_type(part, kind)
        field.label = FieldDescriptorProto.LABEL_REPEATED
        field.type = FieldDescriptorProto.TYPE_MESSAGE
        field.type_name = entry.name

    def _oneof(self, message: DescriptorProto) -> None:
        tokens = self._tokens
        index = len(message.oneof_decl)
        oneof: OneofDescriptorProto = message.oneof_decl.add(name=tokens.name())
        tokens.expect("{")
        while not tokens.accept("}"):
            if tokens.next == "option" and tokens.after() != "=":
                tokens.take()
                apply_option(oneof.options, *read_option(tokens))
                tokens.expect(";")
            elif not tokens.accept(";"):
                self._field(message, message.field.add(), index)

    def _enum(self, enum: EnumDescriptorProto) -> None:
        tokens = self._tokens
        enum.name = tokens.name()
        tokens.expect("{")
        while not tokens.accept("}"):
            if tokens.accept(";"):
                continue
            if tokens.next == "option" and tokens.after() != "=":
                tokens.take()
                apply_option(enum.options, *read_option(tokens))
            elif tokens.next == "reserved" and tokens.after() != "=":
                tokens.take()
                self._enum_reserved(enum)
            else:
                value = enum.value.add(name=tokens.name())
                tokens.expect("=")
                value.number = _in_int32(tokens)
                for parts, constant in read_options_in_brackets(tokens):
                    apply_option(value.options, parts, constant)
            tokens.expect(";")

    def _enum_reserved(self, enum: EnumDescriptorProto) -> None:
        if self._tokens.kind == "text":
            enum.reserved_name.extend(self._names())
        else:
            for start, end in self._ranges(ENUM_NUMBER_MAX):
                enum.reserved_range.add(start=start, end=end)

    def _extend(self, extensions: object) -> None:
        tokens = self._tokens
        extendee = tokens.name()
        tokens.expect("{")
        while not tokens.accept("}"):
            if not tokens.accept(";"):
                field: FieldDescriptorProto = extensions.add(extendee=extendee)  # type: ignore[attr-defined]
                self._field(DescriptorProto(), field)
                field.proto3_optional = False

    def _service(self, service: ServiceDescriptorProto) -> None:
        tokens = self._tokens
        service.name = tokens.name()
        tokens.expect("{")
        while not tokens.accept("}"):
            if tokens.accept(";"):
                continue
            if tokens.accept("option"):
                apply_option(service.options, *read_option(tokens))
                tokens.expect(";")
            else:
                tokens.expect("rpc")
                self._method(service)

    def _method(self, service: ServiceDescriptorProto) -> None:
        tokens = self._tokens
        method = service.method.add(name=tokens.name())
        tokens.expect("(")
        method.client_streaming = _streams(tokens)
        method.input_type = tokens.name()
        tokens.expect(")")
        tokens.expect("returns")
        tokens.expect("(")
        method.server_streaming = _streams(tokens)
        method.output_type = tokens.name()
        tokens.expect(")")
        if tokens.accept(";"):
            return
        tokens.expect("{")
        while not tokens.accept("}"):
            if not tokens.accept(";"):
                tokens.expect("option")
                apply_option(method.options, *read_option(tokens))
                tokens.expect(";")


def _streams(tokens: Tokens) -> bool:
    if tokens.next == "stream" and tokens.after() != ")":
        tokens.take()
        return True
    return False


def _set_type(field: FieldDescriptorProto, kind: str) -> None:
    if kind in SCALARS:
        field.type = SCALARS[kind]
    else:
        field.type_name = kind


def _default(value: object) -> str:
    return str(value)


def _in_int32(tokens: Tokens) -> int:
    number = tokens.integer()
    if not -(2**31) <= number < 2**31:
        raise tokens.error(f"the number {number} is too large")
    return number
