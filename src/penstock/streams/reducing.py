"""Reducers as aggregators: the first value of a window is its first aggregate."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class FirstOrReduce:
    function: Callable[[Any, Any], Any]

    def __call__(self, key: Any, value: Any, aggregate: Any) -> Any:
        return value if aggregate is None else self.function(aggregate, value)


@dataclass(frozen=True)
class MergeByReduce:
    function: Callable[[Any, Any], Any]

    def __call__(self, key: Any, one: Any, other: Any) -> Any:
        return other if one is None else self.function(one, other)
