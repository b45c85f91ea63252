"""Arithmetic as Java does it: 32- and 64-bit numbers that wrap around, IEEE doubles, BigDecimal.

`java_double_text` is Double.toString of Java 19 and later. Older ones print a digit too many for a few
numbers, such as 2.0E-3's neighbours; this does not.
"""

from __future__ import annotations

import math
from decimal import ROUND_HALF_UP, Context, Decimal, DecimalException, InvalidOperation
from typing import Final

from penstock.expressions import types as t
from penstock.expressions.errors import EvaluationFailed

_WIDE: Final = Context(prec=200, rounding=ROUND_HALF_UP, Emax=10_000, Emin=-10_000)
INT_MIN, INT_MAX = -(1 << 31), (1 << 31) - 1
LONG_MIN, LONG_MAX = -(1 << 63), (1 << 63) - 1


def wrap_int(value: int) -> int:
    return ((value + (1 << 31)) & 0xFFFFFFFF) - (1 << 31)


def wrap_long(value: int) -> int:
    return ((value + (1 << 63)) & 0xFFFFFFFFFFFFFFFF) - (1 << 63)


def truncated_division(left: int, right: int) -> int:
    """Towards zero, as Java's `/`."""
    if right == 0:
        raise EvaluationFailed("/ by zero")
    quotient = abs(left) // abs(right)
    return quotient if (left < 0) == (right < 0) else -quotient


def remainder(left: int, right: int) -> int:
    """With the sign of the left side, as Java's `%`."""
    if right == 0:
        raise EvaluationFailed("/ by zero")
    rest = abs(left) % abs(right)
    return -rest if left < 0 else rest


def double_division(left: float, right: float) -> float:
    if right != 0:
        return left / right
    if left == 0 or math.isnan(left):
        return math.nan
    return math.copysign(math.inf, left) * math.copysign(1.0, right)


def double_remainder(left: float, right: float) -> float:
    if right == 0 or math.isinf(left) or math.isnan(left) or math.isnan(right):
        return math.nan
    return math.fmod(left, right)


def double_to_int(value: float) -> int:
    """`(int) value`: truncated, at the bounds beyond them, 0 for NaN."""
    return 0 if math.isnan(value) else int(max(INT_MIN, min(INT_MAX, value)))


def double_to_long(value: float) -> int:
    if math.isnan(value):
        return 0
    if value >= 2.0**63:
        return LONG_MAX
    return LONG_MIN if value <= -(2.0**63) else int(value)


def java_double_text(value: float) -> str:
    """The shortest text that reads back as the number, in Java's form."""
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    sign = "-" if math.copysign(1.0, value) < 0 else ""
    value = abs(value)
    if value == 0:
        return f"{sign}0.0"
    mantissa, _, exponent = f"{value!r}".partition("e")
    whole, _, fraction = mantissa.partition(".")
    digits = (whole + fraction).lstrip("0")
    leading = len(whole + fraction) - len(digits)
    point = len(whole) - leading + int(exponent or 0)  # the value is 0.DIGITS × 10^point
    digits = digits.rstrip("0") or "0"
    if len(digits) == 1 and value < 1e-300:
        digits = _two_digits(value)  # Java always gives two digits, and takes the closer ones
    if 1e-3 <= value < 1e7:
        if point <= 0:
            return f"{sign}0.{'0' * -point}{digits}"
        return f"{sign}{digits[:point].ljust(point, '0')}.{digits[point:] or '0'}"
    return f"{sign}{digits[0]}.{digits[1:] or '0'}E{point - 1}"


def _two_digits(value: float) -> str:
    digits = f"{value:.1e}".partition("e")[0].replace(".", "").rstrip("0")
    return digits if float(f"{value:.1e}") == value else digits[0]


def exact_decimal(value: int | float | Decimal) -> Decimal:
    """BigDecimal.valueOf: a double counts as its text."""
    if isinstance(value, float):
        if not math.isfinite(value):
            raise EvaluationFailed(f"{java_double_text(value)} is no decimal number")
        return Decimal(java_double_text(value))
    return Decimal(value)


def fitted(value: Decimal, kind: t.Decimal) -> Decimal:
    """Rounded half up to a type's scale; fails if the number has too many digits for it."""
    try:
        rounded = value.quantize(Decimal(1).scaleb(-kind.scale), context=_WIDE)
    except InvalidOperation as error:
        raise EvaluationFailed(f"{value} has too many digits") from error
    if abs(rounded) >= Decimal(10) ** (kind.precision - kind.scale):
        raise EvaluationFailed(
            f"Numeric field overflow: A field with precision {kind.precision} and scale {kind.scale} must "
            f"round to an absolute value less than 10^{kind.precision - kind.scale}. Got {value}"
        )
    return rounded if rounded else abs(rounded)  # BigDecimal has no -0


def decimal_sum_type(left: t.Decimal, right: t.Decimal) -> t.Decimal:
    scale = max(left.scale, right.scale)
    whole = max(left.precision - left.scale, right.precision - right.scale)
    return t.Decimal(whole + scale + 1, scale)


def decimal_product_type(left: t.Decimal, right: t.Decimal) -> t.Decimal:
    return t.Decimal(left.precision + right.precision + 1, left.scale + right.scale)


def decimal_quotient_type(left: t.Decimal, right: t.Decimal) -> t.Decimal:
    scale = max(6, left.scale + right.precision + 1)
    return t.Decimal(left.precision - left.scale + right.scale + scale, scale)


def decimal_remainder_type(left: t.Decimal, right: t.Decimal) -> t.Decimal:
    scale = max(left.scale, right.scale)
    whole = min(left.precision - left.scale, right.precision - right.scale)
    return t.Decimal(whole + scale, scale)


def decimal_arithmetic(operator: str, left: Decimal, right: Decimal, kind: t.Decimal) -> Decimal:
    try:
        match operator:
            case "+":
                result = _WIDE.add(left, right)
            case "-":
                result = _WIDE.subtract(left, right)
            case "*":
                result = _WIDE.multiply(left, right)
            case "/":
                result = Context(prec=kind.precision, rounding=ROUND_HALF_UP).divide(left, right)
            case _:
                result = _WIDE.remainder(left, right)
    except DecimalException as error:
        raise EvaluationFailed("Division by zero" if not right else f"{left} {operator} {right}") from error
    return fitted(result, kind)
