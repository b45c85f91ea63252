"""Functions about null, and AS_VALUE."""

from __future__ import annotations

from typing import Any

from penstock.expressions.functions.registry import Functions

define = Functions()


@define("COALESCE(T, T...) -> T", nulls=True)
def coalesce(*values: Any) -> Any:
    """The first argument that is not null."""
    return next((value for value in values if value is not None), None)


@define("IFNULL(T, T) -> T", nulls=True)
def ifnull(value: Any, otherwise: Any) -> Any:
    """The first argument, or the second if the first is null."""
    return otherwise if value is None else value


@define("NULLIF(T, T) -> T", nulls=True)
def nullif(value: Any, unwanted: Any) -> Any:
    """The first argument, or null if both are equal."""
    return None if value == unwanted else value


@define("AS_VALUE(T) -> T", nulls=True)
def as_value(value: Any) -> Any:
    """A copy of a key column for the value."""
    return value
