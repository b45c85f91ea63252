"""How the console consumer prints a record: Kafka's formatters by the names of their classes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, Protocol

from penstock.cli.kafka.options import CommandFailed


class Formatter(Protocol):
    def text_of(self, record: Any) -> bytes:
        """What is printed for the record, its end of line included."""
        ...


def formatter(class_name: str, properties: Mapping[str, str]) -> Formatter:
    """CommandFailed for a class that is not among Kafka's own: there is no Java here to run it."""
    if class_name.startswith("io.confluent."):
        return _with_schemas(class_name, properties)
    made = FORMATTERS.get(class_name)
    if made is None:
        raise CommandFailed(class_name)
    return made(properties)


def _with_schemas(class_name: str, properties: Mapping[str, str]) -> Formatter:
    """Confluent's formatters; what they need is loaded for them only."""
    from penstock.cli.kafka import schema_lines

    if class_name not in schema_lines.FORMATTERS:
        raise CommandFailed(class_name)
    return schema_lines.SchemaFormatter(properties)


class DefaultFormatter:
    """Columns in Kafka's order, each chosen by a property such as `print.key=true`."""

    def __init__(self, properties: Mapping[str, str]) -> None:
        self._columns = [
            column for name, column in _COLUMNS.items() if _is_true(properties.get(name, _DEFAULTS.get(name)))
        ]
        self._separator = properties.get("key.separator", "\t").encode()
        self._line_end = properties.get("line.separator", "\n").encode()
        self.headers_separator = properties.get("headers.separator", ",").encode()
        self.null = properties.get("null.literal", "null").encode()
        self.key: Any = _deserializer(properties, "key.deserializer", is_key=True)
        self.value: Any = _deserializer(properties, "value.deserializer")
        self.header: Any = _deserializer(properties, "headers.deserializer")

    def text_of(self, record: Any) -> bytes:
        columns = [column(self, record) for column in self._columns]
        return self._separator.join(columns) + self._line_end if columns else b""

    def shown(self, deserializer: Any, topic: str, data: bytes | None) -> bytes:
        data = self.null if data is None else data
        return data if deserializer is None else _text(deserializer.deserialize(topic, data)).encode()


class LoggingFormatter:
    """One line with everything, as Kafka's goes to its log and ours to standard output."""

    def __init__(self, properties: Mapping[str, str]) -> None:
        self._default = DefaultFormatter(properties)

    def text_of(self, record: Any) -> bytes:
        kind = f"{record.timestamp_type}:{record.timestamp}, " if record.timestamp_type else ""
        key = "null" if record.key is None else record.key.decode("utf-8", "replace")
        value = "null" if record.value is None else record.value.decode("utf-8", "replace")
        return self._default.text_of(record) + f"{kind}key:{key}, value:{value}\n".encode()


class NoOpFormatter:
    def __init__(self, properties: Mapping[str, str]) -> None:
        pass

    def text_of(self, record: Any) -> bytes:
        return b""


def _timestamp(style: DefaultFormatter, record: Any) -> bytes:
    if record.timestamp_type is None:
        return b"NO_TIMESTAMP"
    return f"{record.timestamp_type}:{record.timestamp}".encode()


def _headers(style: DefaultFormatter, record: Any) -> bytes:
    if not record.headers:
        return b"NO_HEADERS"
    return style.headers_separator.join(
        f"{name}:".encode() + style.shown(style.header, record.topic, value) for name, value in record.headers
    )


_COLUMNS: Final[dict[str, Callable[[DefaultFormatter, Any], bytes]]] = {
    "print.timestamp": _timestamp,
    "print.partition": lambda style, record: f"Partition:{record.partition}".encode(),
    "print.offset": lambda style, record: f"Offset:{record.offset}".encode(),
    "print.delivery": lambda style, record: b"Delivery:NOT_PRESENT",
    "print.epoch": lambda style, record: b"Epoch:NOT_PRESENT",
    "print.headers": _headers,
    "print.key": lambda style, record: style.shown(style.key, record.topic, record.key),
    "print.value": lambda style, record: style.shown(style.value, record.topic, record.value),
}
"""In the order in which they are printed. Kafka's own never knows the epoch: it leaves it out of the record
that it hands to the formatter."""
_DEFAULTS: Final = {"print.value": "true"}
FORMATTERS: Final[dict[str, Callable[[Mapping[str, str]], Formatter]]] = {
    "org.apache.kafka.tools.consumer.DefaultMessageFormatter": DefaultFormatter,
    "kafka.tools.DefaultMessageFormatter": DefaultFormatter,
    "org.apache.kafka.tools.consumer.LoggingMessageFormatter": LoggingFormatter,
    "kafka.tools.LoggingMessageFormatter": LoggingFormatter,
    "org.apache.kafka.tools.consumer.NoOpMessageFormatter": NoOpFormatter,
    "kafka.tools.NoOpMessageFormatter": NoOpFormatter,
}


def _deserializer(properties: Mapping[str, str], name: str, *, is_key: bool = False) -> Any:
    if name not in properties:
        return None
    from penstock.client.api import plugins, serializers
    from penstock.client.api.exceptions import ConfigException

    prefix = f"{name}."
    own = {key.removeprefix(prefix): value for key, value in properties.items() if key.startswith(prefix)}
    try:
        made = plugins.plugin(name, properties[name], serializers.BY_JAVA_NAME)
    except ConfigException as error:
        raise CommandFailed(str(error)) from error
    plugins.configure(made, own, is_key)
    return made


def _text(value: Any) -> str:
    """As Java's `toString` writes it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    return str(value)


def _is_true(text: str | None) -> bool:
    return text is not None and text.strip().lower() == "true"
