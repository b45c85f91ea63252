"""What the command topic holds: statements that change what the server knows, each with its number.

The number is a record's key and the last part of a query's id, so that a server that reads the topic again
gives every query the id that it had.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType


@dataclass(frozen=True)
class Command:
    number: int
    command_id: str
    """What it does to what, such as stream/`S`/create."""
    statement: str
    """Text that stands alone: variables replaced, columns of a registry's schema written out."""
    properties: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    """The session's settings, which the query runs with."""
    partitions: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
    """How many partitions the topics have that the statement names."""


def encode(record: Command) -> tuple[bytes, bytes | None]:
    value = {
        "commandId": record.command_id,
        "statement": record.statement,
        "streamsProperties": dict(record.properties),
        "partitions": dict(record.partitions),
    }
    return str(record.number).encode(), json.dumps(value, separators=(",", ":")).encode()


def decode(key: bytes | None, value: bytes | None, timestamp_ms: int | None) -> Command | None:
    try:
        number, fields = int(key or b""), json.loads(value or b"")
        return Command(
            number,
            fields["commandId"],
            fields["statement"],
            MappingProxyType(dict(fields["streamsProperties"])),
            MappingProxyType(dict(fields["partitions"])),
        )
    except (ValueError, KeyError, TypeError):
        return None
