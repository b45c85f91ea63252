"""A number that only grows, added to by any thread without a lock.

`self.value += amount` is three bytecodes: load, add, store. CPython hands the GIL over only where a function
begins, where a loop goes back and where something is called, so never between these three. Counts are
therefore exact on every CPython with a GIL; a test adds from many threads with the shortest switch interval.
A build without the GIL could lose additions.
"""

from __future__ import annotations


class Counter:
    __slots__ = ("value",)

    def __init__(self) -> None:
        self.value: float = 0

    def add(self, amount: float = 1) -> None:
        self.value += amount
