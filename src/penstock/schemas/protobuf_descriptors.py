"""Text of .proto files to descriptors, from which messages are read and written without generated code.

Names are left as they stand in the text: the pool resolves them by Protobuf's own rules. Options of one's own
and default values of proto2 are dropped, since no value on the wire depends on them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from importlib import import_module
from typing import Any, Final

from antlr4.error.ErrorListener import ErrorListener
from google.protobuf import descriptor_pb2 as pb
from google.protobuf import descriptor_pool
from google.protobuf.descriptor import Descriptor, FileDescriptor
from proto_schema_parser import ast
from proto_schema_parser.parser import Parser

from penstock.schemas.errors import InvalidSchema

_FILE: Final = "schema.proto"
_SCALARS: Final = {
    name: getattr(pb.FieldDescriptorProto, f"TYPE_{name.upper()}")
    for name in (
        *("double", "float", "int64", "uint64", "int32", "fixed64", "fixed32", "bool", "string", "bytes"),
        *("uint32", "sfixed32", "sfixed64", "sint32", "sint64"),
    )
}
_LABELS: Final = {
    ast.FieldCardinality.REQUIRED: pb.FieldDescriptorProto.LABEL_REQUIRED,
    ast.FieldCardinality.REPEATED: pb.FieldDescriptorProto.LABEL_REPEATED,
}
_WELL_KNOWN: Final = "google/protobuf/"
_FOR_OPTIONS_ONLY: Final = ("confluent/meta.proto", "google/protobuf/descriptor.proto")


def describe(text: str, references: Mapping[str, str]) -> FileDescriptor:
    """The file that `text` is; `references` are its imports by name, those first that others need."""
    pool = descriptor_pool.DescriptorPool()
    try:
        for name, referred in references.items():
            _add(pool, name, referred)
        return _add(pool, _FILE, text)
    except InvalidSchema:
        raise
    except Exception as error:  # the parser and the pool raise whatever they meet
        raise InvalidSchema(f"not a Protobuf schema: {error}") from None


def message_at(file: FileDescriptor, path: Iterable[int]) -> Descriptor:
    """The message at a path of indexes, outermost first."""
    within: Any = [file.message_types_by_name[name] for name in _order(file)]
    found: Descriptor | None = None
    for index in path:
        if index >= len(within):
            raise InvalidSchema(f"the schema has no message {index} at this place")
        found = within[index]
        within = found.nested_types
    assert found is not None, "a path has at least one index"
    return found


def path_of(message: Descriptor) -> tuple[int, ...]:
    """Where the message stands in its file, as `message_at` takes it."""
    outer = message.containing_type
    if outer is None:
        return (_order(message.file).index(message.name),)
    return (*path_of(outer), [each.name for each in outer.nested_types].index(message.name))


def _order(file: FileDescriptor) -> list[str]:
    """Names of the outermost messages as they stand in the text; the descriptor keeps them in a mapping."""
    proto = pb.FileDescriptorProto()
    file.CopyToProto(proto)
    return [message.name for message in proto.message_type]


class _Strict(ErrorListener):  # type: ignore[misc]
    """The parser would go on after an error and leave out what it did not understand."""

    def syntaxError(self, recognizer: Any, symbol: Any, line: int, column: int, said: str, _: Any) -> None:  # noqa: N802
        raise InvalidSchema(f"not a Protobuf schema: line {line}, column {column}: {said}")


def _be_strict(recognizer: Any) -> None:
    recognizer.removeErrorListeners()
    recognizer.addErrorListener(_Strict())


def _add(pool: descriptor_pool.DescriptorPool, name: str, text: str) -> FileDescriptor:
    parsed = Parser(setup_lexer=_be_strict, setup_parser=_be_strict).parse(text)
    file = pb.FileDescriptorProto(name=name, syntax=parsed.syntax or "proto2")
    for element in parsed.file_elements:
        if isinstance(element, ast.Package):
            file.package = element.name
        elif isinstance(element, ast.Import) and element.name not in _FOR_OPTIONS_ONLY:
            _add_well_known(pool, element.name)
            file.dependency.append(element.name)
            if element.public:
                file.public_dependency.append(len(file.dependency) - 1)
        elif isinstance(element, ast.Message):
            _message(file.message_type.add(), element, file.syntax)
        elif isinstance(element, ast.Enum):
            _enum(file.enum_type.add(), element)
    pool.AddSerializedFile(file.SerializeToString())
    return pool.FindFileByName(name)


def _add_well_known(pool: descriptor_pool.DescriptorPool, name: str) -> None:
    if not name.startswith(_WELL_KNOWN):
        return
    module = import_module(f"google.protobuf.{name.removeprefix(_WELL_KNOWN).removesuffix('.proto')}_pb2")
    for dependency in module.DESCRIPTOR.dependencies:
        _add_well_known(pool, dependency.name)
    pool.AddSerializedFile(module.DESCRIPTOR.serialized_pb)


def _message(out: pb.DescriptorProto, message: ast.Message, syntax: str) -> None:
    out.name = message.name
    for element in message.elements:
        if isinstance(element, ast.Field):
            _field(out.field.add(), element)
        elif isinstance(element, ast.MapField):
            _map(out, element)
        elif isinstance(element, ast.OneOf):
            out.oneof_decl.add(name=element.name)
            for part in element.elements:
                if isinstance(part, ast.Field):
                    _field(out.field.add(oneof_index=len(out.oneof_decl) - 1), part)
        elif isinstance(element, ast.Message):
            _message(out.nested_type.add(), element, syntax)
        elif isinstance(element, ast.Enum):
            _enum(out.enum_type.add(), element)
        elif isinstance(element, ast.Group):
            raise InvalidSchema(
                f"message {message.name} has a group ({element.name}), which is not read here"
            )
    if syntax == "proto3":
        _mark_optional(out, message)


def _mark_optional(out: pb.DescriptorProto, message: ast.Message) -> None:
    """In proto3 `optional` is a oneof of its own behind the others, so that its absence can be seen."""
    wanted = {
        element.name
        for element in message.elements
        if isinstance(element, ast.Field) and element.cardinality is ast.FieldCardinality.OPTIONAL
    }
    for field in out.field:
        if field.name in wanted:
            out.oneof_decl.add(name=f"_{field.name}")
            field.oneof_index = len(out.oneof_decl) - 1
            field.proto3_optional = True


def _field(out: pb.FieldDescriptorProto, field: ast.Field) -> None:
    out.name, out.number = field.name, field.number
    out.label = _LABELS.get(field.cardinality, pb.FieldDescriptorProto.LABEL_OPTIONAL)  # type: ignore[arg-type]
    _set_type(out, field.type)
    for option in field.options:
        if option.name == "json_name":
            out.json_name = str(option.value)


def _map(out: pb.DescriptorProto, field: ast.MapField) -> None:
    name = "".join(part[:1].upper() + part[1:] for part in field.name.split("_")) + "Entry"
    entry = out.nested_type.add(name=name)
    entry.options.map_entry = True
    optional = pb.FieldDescriptorProto.LABEL_OPTIONAL
    _set_type(entry.field.add(name="key", number=1, label=optional), field.key_type)
    _set_type(entry.field.add(name="value", number=2, label=optional), field.value_type)
    repeated = pb.FieldDescriptorProto.LABEL_REPEATED
    out.field.add(
        name=field.name,
        number=field.number,
        label=repeated,
        type_name=name,
        type=pb.FieldDescriptorProto.TYPE_MESSAGE,
    )


def _set_type(out: pb.FieldDescriptorProto, name: str) -> None:
    if name in _SCALARS:
        out.type = _SCALARS[name]
    else:
        out.type_name = name  # a message or an enum: the pool finds out


def _enum(out: pb.EnumDescriptorProto, enum: ast.Enum) -> None:
    out.name = enum.name
    for element in enum.elements:
        if isinstance(element, ast.EnumValue):
            out.value.add(name=element.name, number=element.number)
        elif isinstance(element, ast.Option) and element.name == "allow_alias":
            out.options.allow_alias = bool(element.value)
