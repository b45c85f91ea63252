"""Who may write: whoever has read everything before. The log itself decides, the same way for every reader.

A record carries a header with the decision that it belongs to and the offset of the last record that was
known when it was decided. If another registry's record stands between, the decision was made on an old state:
every registry passes over it, its writer decides anew, and the next write restores the key: compaction then
cannot keep the wrong value. Records without the header (Confluent's registry, tools) are always taken.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from typing import Final, NamedTuple

HEADER: Final = "penstock-after"
_BODY: Final = struct.Struct(">16sq")
BEFORE_ALL: Final = -1
"""The offset that is known before anything was read."""


class Mark(NamedTuple):
    """What the header says."""

    decision: bytes
    known_offset: int

    def encode(self) -> bytes:
        return _BODY.pack(self.decision, self.known_offset)


def read_mark(headers: Iterable[tuple[str, bytes | None]]) -> Mark | None:
    for name, value in headers:
        if name == HEADER and value is not None and len(value) == _BODY.size:
            return Mark(*_BODY.unpack(value))
    return None


class Fence:
    """Goes along the log and says of each record whether it counts."""

    def __init__(self) -> None:
        self.known_offset = BEFORE_ALL
        """The last record that counts."""
        self._decision = b""

    def passes(self, offset: int, mark: Mark | None) -> bool:
        fresh = mark is None or mark.decision == self._decision or self.known_offset <= mark.known_offset
        if fresh:
            self.known_offset = offset
            self._decision = mark.decision if mark is not None else b""
        return fresh
