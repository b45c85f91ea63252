"""The kinds of records in `__consumer_offsets`: the first two bytes of a key say which."""

from __future__ import annotations

from enum import IntEnum

from penstock.protocol.primitives import Reader, Writer


class KeyKind(IntEnum):
    """Versions of a key are kinds of a record, for reasons of history."""

    OFFSET_COMMIT_OLD = 0
    OFFSET_COMMIT = 1
    GROUP = 2
    CONSUMER_GROUP = 3
    CONSUMER_TOPICS = 4
    CONSUMER_MEMBER = 5
    CONSUMER_TARGET = 6
    CONSUMER_TARGET_MEMBER = 7
    CONSUMER_CURRENT_MEMBER = 8
    SHARE_MEMBER = 10
    SHARE_GROUP = 11
    SHARE_TARGET = 12
    SHARE_TARGET_MEMBER = 13
    SHARE_CURRENT_MEMBER = 14
    SHARE_STATE_TOPICS = 15
    CONSUMER_REGEX = 16


_KINDS = {int(kind): kind for kind in KeyKind}


def encode_key(kind: KeyKind, *texts: str) -> bytes:
    """A key of strings only; that of an offset commit has a number too and stands beside its value."""
    writer = Writer()
    writer.int16(kind)
    for text in texts:
        writer.string(text)
    return bytes(writer.data)


def read_kind(key: bytes) -> tuple[KeyKind | None, Reader]:
    """The kind, or None for one that this version does not know; the reader stands behind it."""
    reader = Reader(memoryview(key))
    number = reader.int16()
    return _KINDS.get(number), reader
