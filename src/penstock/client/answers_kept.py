"""`AnswersKept`: answers that never change, by question. The number is bounded; the longest unused goes."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Any, TypeVar

T = TypeVar("T")


class AnswersKept:
    """Several threads may use it. Two that ask the same at once both find out, and get the same answer."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._lock = threading.Lock()
        self._kept: OrderedDict[Hashable, Any] = OrderedDict()

    def get(self, question: Hashable, find: Callable[[], T]) -> T:
        with self._lock:
            if question in self._kept:
                self._kept.move_to_end(question)
                known: T = self._kept[question]
                return known
        found = find()
        with self._lock:
            self._kept[question] = found
            while len(self._kept) > self._most:
                self._kept.popitem(last=False)
        return found
