"""Protobuf: messages of generated classes, or dicts in ProtoJSON with a schema in .proto text.

A generated class brings its schema. Files that it imports are registered first, under their own names, as
Confluent's serializer does; those of google/protobuf are known to every registry.
"""

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from penstock.client.api.exceptions import SerializationException
from penstock.client.schema_registry import Reference, Schema, SchemaRegistry
from penstock.client.serdes.reading import SchemaDeserializer
from penstock.client.serdes.registering import SchemaSerializer, parsed
from penstock.client.serdes.rules.fields import Walk, protobuf_walk
from penstock.schemas.schema import PROTOBUF
from penstock.schemas.tags import find_tags
from penstock.schemas.wire_format import read_indexes, write_indexes

if TYPE_CHECKING:
    from google.protobuf.message import Message

    from penstock.schemas.protobuf.values import ProtobufCodec

_BUILT_IN: Final = "google/"


class _Form(NamedTuple):
    codec: ProtobufCodec | None
    """For values that are dicts."""


class KafkaProtobufSerializer(SchemaSerializer[_Form]):
    """`schema` is .proto text for dicts, of which `message` names one (the first without it). Messages of
    generated classes need neither."""

    schema_type = PROTOBUF

    def __init__(
        self,
        schema: str | None = None,
        message: str = "",
        *,
        to_dict: Callable[[Any], Any] | None = None,
        registry: SchemaRegistry | None = None,
        settings: dict[str, Any] | None = None,
    ) -> None:
        self._own = None if schema is None else Schema(PROTOBUF, schema)
        self._message = message
        self._to_dict = to_dict
        self._by_file: dict[str, Schema] = {}
        super().__init__(registry, settings)

    def _schema_of(self, data: Any) -> Schema | None:
        if not _is_message(data):
            return self._own
        file = data.DESCRIPTOR.file
        found = self._by_file.get(file.name)
        if found is None:
            found = self._by_file[file.name] = self._schema_of_file(file)
        return found

    def _schema_of_file(self, file: Any) -> Schema:
        references, texts = [], {}
        for imported in file.dependencies:
            if imported.name.startswith(_BUILT_IN):
                continue
            schema = self._schema_of_file(imported)
            texts.update(dict(schema.references))
            texts[imported.name] = schema.text
            references.append(self._registered(imported.name, schema))
        text = base64.b64encode(file.serialized_pb).decode()
        return Schema(PROTOBUF, text, tuple(texts.items()), tuple(references))

    def _registered(self, name: str, schema: Schema) -> Reference:
        """A file that others import, under a subject of its own name."""
        registry = self.settings.registry
        if self.settings.auto_register:
            registry.register(name, schema, normalize=self.settings.normalize)
        found = registry.look_up(name, schema, normalize=self.settings.normalize)
        return Reference(name, name, found.version)

    def _record_of(self, own: Schema | None, data: Any) -> str | None:
        return str(data.DESCRIPTOR.full_name) if _is_message(data) else super()._record_of(own, data)

    def _record_name(self, schema: Schema) -> str | None:
        return _name_in(schema, self._message)

    def _walk(self, schema: Schema) -> Walk:
        return _walk_of(schema)

    def serialize(self, topic: str, data: Any) -> bytes | None:
        if data is not None and not _is_message(data) and self._to_dict is not None:
            data = self._to_dict(data)
        return super().serialize(topic, data)

    def _form(self, schema: Schema) -> _Form:
        from penstock.schemas.protobuf.schema import ProtobufSchema
        from penstock.schemas.protobuf.values import ProtobufCodec

        found = parsed(schema)
        assert isinstance(found, ProtobufSchema)
        return _Form(ProtobufCodec(found, self._message) if found.file.message_type else None)

    def _value(self, form: _Form, data: Any) -> Any:
        if _is_message(data):
            return data
        if form.codec is None:
            raise SerializationException("The schema has no message.")
        return form.codec.message_of(data)

    def _encode(self, form: _Form, value: Any) -> bytes:
        return write_indexes(_place(value.DESCRIPTOR)) + bytes(value.SerializeToString())


class KafkaProtobufDeserializer(SchemaDeserializer[_Form]):
    """`message_type` is a generated class; without one values are dicts in ProtoJSON."""

    schema_type = PROTOBUF

    def __init__(
        self,
        message_type: type[Message] | None = None,
        *,
        from_dict: Callable[[Any], Any] | None = None,
        registry: SchemaRegistry | None = None,
        settings: dict[str, Any] | None = None,
    ) -> None:
        self._message_type: Any = message_type
        self._from_dict = from_dict
        super().__init__(registry, settings)

    def _form(self, schema: Schema, reader: Schema | None) -> _Form:
        if self._message_type is not None:
            return _Form(None)
        from penstock.schemas.protobuf.schema import ProtobufSchema
        from penstock.schemas.protobuf.values import ProtobufCodec

        found = parsed(schema)
        assert isinstance(found, ProtobufSchema)
        return _Form(ProtobufCodec(found))

    def _record_name(self, schema: Schema) -> str | None:
        return _name_in(schema, "")

    def _walk(self, schema: Schema) -> Walk:
        return _walk_of(schema)

    def _result(self, form: _Form, value: Any) -> Any:
        if form.codec is None:
            return value
        shown = form.codec.value_of(value)
        return shown if self._from_dict is None else self._from_dict(shown)

    def _decode(self, form: _Form, payload: bytes) -> Any:
        if form.codec is not None:
            return form.codec.read(payload)
        from google.protobuf.message import DecodeError

        _, position = read_indexes(payload, 0)
        message = self._message_type()
        try:
            message.ParseFromString(payload[position:])
        except DecodeError as error:
            raise SerializationException(
                f"The bytes are no {self._message_type.__name__}: {error}."
            ) from error
        return message


def _name_in(schema: Schema, message: str) -> str | None:
    file = parsed(schema).file  # type: ignore[attr-defined]
    name = message or (file.message_type[0].name if file.message_type else None)
    return f"{file.package}.{name}" if file.package and name else name


def _walk_of(schema: Schema) -> Walk:
    found = find_tags(parsed(schema))
    return protobuf_walk({each.path.lstrip("."): frozenset(words) for each, words in found.items()})


def _is_message(data: Any) -> bool:
    return hasattr(data, "DESCRIPTOR") and hasattr(data, "SerializeToString")


def _place(descriptor: Any) -> tuple[int, ...]:
    """The indexes of a message in its file, outermost first."""
    parent = descriptor.containing_type
    siblings = descriptor.file.message_types_by_name.values() if parent is None else parent.nested_types
    index = next(number for number, each in enumerate(siblings) if each.name == descriptor.name)
    return (index,) if parent is None else (*_place(parent), index)
