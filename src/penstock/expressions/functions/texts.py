"""Functions of STRINGs. Lengths and positions count UTF-16 units, as Java's do."""

from __future__ import annotations

from penstock.expressions.functions.registry import Functions

define = Functions()


@define("UCASE(STRING) -> STRING")
def ucase(text: str) -> str:
    """Upper case."""
    return text.upper()


@define("LCASE(STRING) -> STRING")
def lcase(text: str) -> str:
    """Lower case."""
    return text.lower()
