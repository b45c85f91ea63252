"""Decimals as formats read them: a number that does not fit its column without rounding is refused."""

from __future__ import annotations

from decimal import Decimal

from penstock.expressions import types as t
from penstock.sql.serdes.codec import FormatError


def fitted_exactly(value: Decimal, kind: t.Decimal) -> Decimal:
    """The number with the scale of its type."""
    if not value.is_finite():
        raise FormatError(f"{value} is no decimal number")
    sign, digits, exponent = value.as_tuple()
    assert isinstance(exponent, int)
    scale = max(-exponent, 0)
    whole = max(len(digits) + exponent, 0) if value else 0
    if scale > kind.scale or whole > kind.precision - kind.scale:
        needed = f"(Requires {max(whole + scale, 1)},{scale})"
        raise FormatError(f"Cannot fit decimal '{value}' into {kind} without rounding. {needed}")
    shifted = int("".join(map(str, digits))) * 10 ** (kind.scale + exponent)
    return Decimal((sign if shifted else 0, tuple(map(int, str(shifted))), -kind.scale))
