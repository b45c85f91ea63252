"""Changing parts of an expression: every node from the top down, rebuilt where a part below it changed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass, replace
from typing import Any

from penstock.expressions.tree import Column, Expression

Change = Callable[[Expression], Expression | None]
"""The node that stands in for this one; none: look at its parts."""


def rewritten(node: Expression, change: Change) -> Expression:
    found = change(node)
    return found if found is not None else _rebuilt(node, change)


def _rebuilt(node: Any, change: Change) -> Any:
    changed = {}
    for each in fields(node):
        old = getattr(node, each.name)
        new = _value(old, change)
        if new is not old:
            changed[each.name] = new
    return replace(node, **changed) if changed else node


def _value(value: Any, change: Change) -> Any:
    if isinstance(value, Expression):
        return rewritten(value, change)
    if isinstance(value, tuple):
        parts = tuple(_value(part, change) for part in value)
        return value if all(new is old for new, old in zip(parts, value, strict=True)) else parts
    if is_dataclass(value) and not isinstance(value, type) and type(value).__name__ == "When":
        return _rebuilt(value, change)
    return value


def columns_of(node: Expression) -> Iterator[Column]:
    """All columns that an expression reads."""
    if isinstance(node, Column):
        yield node
    for part in node.parts:
        yield from columns_of(part)
