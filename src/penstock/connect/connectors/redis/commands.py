"""Records as commands of Redis."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, Final

from penstock.connect.data.record import ConnectRecord
from penstock.connect.data.struct import Struct
from penstock.connect.data.text import java_text
from penstock.connect.errors import DataError

Command = tuple[Any, ...]
TYPES: Final = {
    "HASH": "HSET", "STRING": "SET", "STREAM": "XADD", "LIST": "RPUSH", "SET": "SADD", "ZSET": "ZADD",
}  # fmt: skip
"""What `redis.type` of earlier versions means."""


class Writing:
    """How the settings make commands of records."""

    def __init__(self, command: str, key: str, separator: str) -> None:
        self._make = _COMMANDS[command]
        self._key, self._separator = key, separator
        self._joins = command in ("HSET", "SET")

    def command(self, record: ConnectRecord) -> list[Command]:
        """DataError for a record that the command cannot take."""
        name = self._key.replace("${topic}", record.topic)
        if self._joins:
            key = _scalar(record.key, "key")
            text = key if isinstance(key, bytes) else str(key).encode()
            return self._make(f"{name}{self._separator}".encode() + text if name else text, record)
        return self._make(name.encode(), record)


def _scalar(value: Any, what: str) -> str | bytes | int | float:
    if value is None:
        raise DataError(f"the record has no {what}, which this command needs")
    if isinstance(value, bytes):
        return value
    if isinstance(value, (Struct, dict, list)):
        return json.dumps(_plain(value), separators=(",", ":"), default=java_text)
    return java_text(value)


def _plain(value: Any) -> Any:
    if isinstance(value, (Struct, dict)):
        return {str(name): _plain(part) for name, part in value.items()}
    return [_plain(each) for each in value] if isinstance(value, list) else value


def _fields(record: ConnectRecord) -> list[Any]:
    """Names and values one after the other; nulls are left out, and parts of parts are JSON."""
    if not isinstance(record.value, (Struct, dict)):
        raise DataError("the value has no fields, which this command needs")
    given = [(name, _scalar(part, name)) for name, part in record.value.items() if part is not None]
    if not given:
        raise DataError("the value has no field with a value, which this command needs")
    return [part for pair in given for part in pair]


def _hset(key: bytes, record: ConnectRecord) -> list[Command]:
    """The hash is what the record says, and no more: fields of the one before are gone."""
    if record.value is None:
        return [("DEL", key)]
    return [("DEL", key), ("HSET", key, *_fields(record))]


def _set(key: bytes, record: ConnectRecord) -> list[Command]:
    return [("DEL", key)] if record.value is None else [("SET", key, _scalar(record.value, "value"))]


def _xadd(key: bytes, record: ConnectRecord) -> list[Command]:
    if record.value is None:
        return []
    return [("XADD", key, "*", *_fields(record))]


def _pushed(command: str) -> Callable[[bytes, ConnectRecord], list[Command]]:
    def made(key: bytes, record: ConnectRecord) -> list[Command]:
        member = _scalar(record.key, "key")
        return [("LREM", key, 0, member)] if record.value is None else [(command, key, member)]

    return made


def _sadd(key: bytes, record: ConnectRecord) -> list[Command]:
    return [("SREM" if record.value is None else "SADD", key, _scalar(record.key, "key"))]


def _zadd(key: bytes, record: ConnectRecord) -> list[Command]:
    member = _scalar(record.key, "key")
    if record.value is None:
        return [("ZREM", key, member)]
    try:
        score = float(record.value)
    except (TypeError, ValueError):
        raise DataError("the value is no number, which is the score of a sorted set") from None
    if score != score:
        raise DataError("the value is not a number, which is the score of a sorted set")
    return [("ZADD", key, score, member)]


_COMMANDS: Final[Mapping[str, Callable[[bytes, ConnectRecord], list[Command]]]] = {
    "HSET": _hset, "SET": _set, "XADD": _xadd, "LPUSH": _pushed("LPUSH"), "RPUSH": _pushed("RPUSH"),
    "SADD": _sadd, "ZADD": _zadd,
}  # fmt: skip
COMMANDS: Final = tuple(_COMMANDS)
