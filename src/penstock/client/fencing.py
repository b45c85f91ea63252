"""Which of several writers was first: the log itself decides, and every reader decides alike.

A decision is one or more records that were written together. Each record carries a header: the decision's id,
the offset of the last decision that its writer knew (`after`), and the offset of the decision's own first
record (`first`). Two decisions that were made after the same one compete; the one whose first record stands
earlier in the log counts, and every reader passes over the other. Its writer decides again.

Only `after` and `first` are compared, and no offset of a record that was read. Compaction may therefore take
away the decision that won: a reader that comes later then takes the loser for a moment, but never passes over
a decision that came after both. The next write restores the loser's keys (`replayed_topic`).

Records without the header were written by other programs. They always count.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from typing import Final, NamedTuple

HEADER: Final = "penstock-decision"
_BODY: Final = struct.Struct(">16sqqI")
BEFORE_ALL: Final = -1
"""The offset of the last decision in an empty log."""
THIS_RECORD: Final = -1
"""`first` in the header of a decision's first record: its writer did not know the offset yet."""


class Mark(NamedTuple):
    """What the header says."""

    decision: bytes
    """An id of 16 random bytes."""
    after: int
    """The offset of the first record of the last decision that the writer knew."""
    first: int = THIS_RECORD
    following: int = 0
    """How many records of the decision come after this one."""

    def encode(self) -> bytes:
        return _BODY.pack(*self)


def read_mark(headers: Iterable[tuple[str, bytes | None]]) -> Mark | None:
    for name, value in headers:
        if name == HEADER and value is not None and len(value) == _BODY.size:
            return Mark(*_BODY.unpack(value))
    return None


class Fence:
    """Reads along the log and says of each record whether it counts."""

    def __init__(self) -> None:
        self._latest = Mark(b"", BEFORE_ALL - 1, BEFORE_ALL)

    @property
    def latest(self) -> int:
        """The offset of the first record of the last decision that counts."""
        return self._latest.first

    @property
    def complete(self) -> bool:
        """False while records of the last decision are still to come."""
        return self._latest.following == 0

    def passes(self, offset: int, mark: Mark | None) -> bool:
        if mark is None:
            # Every decision that was made without knowing of this record has a smaller `after`, or the same
            # one and a later `first`.
            self._latest = Mark(b"", offset - 1, offset)
            return True
        first = offset if mark.first == THIS_RECORD else mark.first
        latest = self._latest
        counts = (
            mark.decision == latest.decision
            or mark.after > latest.after
            or (mark.after == latest.after and first < latest.first)
        )
        if counts:
            kept = latest.first if mark.decision == latest.decision else first
            self._latest = Mark(mark.decision, mark.after, kept, mark.following)
        return counts
