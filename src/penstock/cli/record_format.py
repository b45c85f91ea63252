"""How `penstock consume` prints a record: kcat's formats, plain text or JSON; and which records it prints.

A `View` is a record with its key and value as they are shown: their bytes, or JSON where a schema decoded
them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import click

from penstock.cli.output import json_bytes
from penstock.client.paging import Message

if TYPE_CHECKING:
    from penstock.cli.schema_values import SchemaValues

NULL: Final = b"NULL"
_ESCAPES: Final = {"n": "\n", "t": "\t", "r": "\r", "0": "\0", "\\": "\\"}
_ESCAPE: Final = re.compile(r"\\(x[0-9A-Fa-f]{2}|.)")


@dataclass(frozen=True)
class View:
    message: Message
    key: bytes | None
    value: bytes | None
    decoded: dict[str, Any]
    """`key` and `value` as JSON, for those that a schema decoded."""


def view_of(message: Message, schemas: SchemaValues | None) -> View:
    key, value, decoded = message.key, message.value, {}
    if schemas is not None:
        for name, data in (("key", key), ("value", value)):
            found = schemas.decoded(data)
            if found is not None:
                decoded[name] = found[1]
        key = _text(decoded["key"]) if "key" in decoded else key
        value = _text(decoded["value"]) if "value" in decoded else value
    return View(message, key, value, decoded)


def _text(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()


def as_json(view: View) -> dict[str, Any]:
    """A record with all that belongs to it; bytes that are not UTF-8 as base64 under another name."""
    message = view.message
    key = {"key": view.decoded["key"]} if "key" in view.decoded else json_bytes("key", view.key)
    value = {"value": view.decoded["value"]} if "value" in view.decoded else json_bytes("value", view.value)
    return {
        "topic": message.topic,
        "partition": message.partition,
        "offset": message.offset,
        "timestamp": message.timestamp_ms,
        "timestamp_type": message.timestamp_type,
        **key,
        **value,
        "headers": [{"name": name, **json_bytes("value", each)} for name, each in message.headers],
    }


def matches(view: View, wanted: re.Pattern[bytes] | None) -> bool:
    """Whether the key, the value or a header has what is looked for."""
    if wanted is None:
        return True
    parts = [
        view.key,
        view.value,
        *(name.encode() + b"=" + (each or b"") for name, each in view.message.headers),
    ]
    return any(part is not None and wanted.search(part) for part in parts)


_TOKENS: Final[dict[str, Callable[[View], bytes]]] = {
    "t": lambda view: view.message.topic.encode(),
    "p": lambda view: str(view.message.partition).encode(),
    "o": lambda view: str(view.message.offset).encode(),
    "T": lambda view: str(-1 if view.message.timestamp_ms is None else view.message.timestamp_ms).encode(),
    "k": lambda view: b"" if view.key is None else view.key,
    "s": lambda view: b"" if view.value is None else view.value,
    "K": lambda view: _length(view.message.key),
    "S": lambda view: _length(view.message.value),
    "h": lambda view: b",".join(name.encode() + b"=" + _shown(each) for name, each in view.message.headers),
}
FORMATS: Final = (
    "%t topic, %p partition, %o offset, %T timestamp, %k key, %s value, %K and %S their lengths, %h headers, "
    "%% a percent sign; \\n, \\t, \\xNN"
)


def compiled(text: str) -> Callable[[View], bytes]:
    """The printer of a format such as `%t %p %o %k %s\\n`; kcat's letters and escapes."""
    parts: list[Callable[[View], bytes]] = []
    for piece in re.split(r"(%.?)", _unescaped(text)):
        if not piece.startswith("%"):
            parts.append(_constant(piece))
        elif piece == "%%":
            parts.append(_constant("%"))
        elif piece[1:] in _TOKENS:
            parts.append(_TOKENS[piece[1:]])
        else:
            raise click.UsageError(f"{piece!r} is no part of a format. There are: {FORMATS}.")
    return lambda view: b"".join(part(view) for part in parts)


def _constant(text: str) -> Callable[[View], bytes]:
    data = text.encode()
    return lambda view: data


def _unescaped(text: str) -> str:
    def one(found: re.Match[str]) -> str:
        word = found[1]
        return chr(int(word[1:], 16)) if len(word) == 3 else _ESCAPES.get(word, word)

    return _ESCAPE.sub(one, text)


def _length(data: bytes | None) -> bytes:
    return str(-1 if data is None else len(data)).encode()


def _shown(data: bytes | None) -> bytes:
    return NULL if data is None else data
