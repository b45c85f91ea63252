"""Functions of numbers. Out of a function's domain the result is NaN, as java.lang.Math has it."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from decimal import ROUND_CEILING, ROUND_DOWN, ROUND_FLOOR, Decimal
from fractions import Fraction
from typing import Any

from penstock.expressions import types as t
from penstock.expressions.comparing import utf16
from penstock.expressions.errors import EvaluationFailed
from penstock.expressions.functions.registry import Bound, Functions, Implementation
from penstock.expressions.numbers import double_to_long, exact_decimal, fitted, wrap_int, wrap_long

define = Functions()


def _of_doubles(name: str, function: Callable[..., float], words: str, count: int = 1) -> None:
    def compute(*values: float) -> float:
        if any(math.isnan(value) for value in values):
            return math.nan
        try:
            return function(*values)
        except ValueError:
            return math.nan
        except OverflowError:
            return math.inf

    compute.__doc__ = words
    define(f"{name}({', '.join(['DOUBLE'] * count)}) -> DOUBLE")(compute)


def _log(value: float) -> float:
    return -math.inf if value == 0 else math.log(value)


def _log_base(base: float, value: float) -> float:
    if base <= 0 or base == 1 or value <= 0:
        return math.nan
    return math.log(value) / math.log(base)


def _cot(value: float) -> float:
    tangent = math.tan(value)
    return math.copysign(math.inf, tangent) if tangent == 0 else 1.0 / tangent


def _power(base: float, exponent: float) -> float:
    if base == 0 and exponent < 0:
        odd = exponent == int(exponent) and int(exponent) % 2 == 1
        return math.copysign(math.inf, base) if odd else math.inf
    if abs(base) == 1 and math.isinf(exponent):
        return math.nan
    try:
        return math.pow(base, exponent)
    except OverflowError:
        return -math.inf if base < 0 and exponent % 2 == 1 else math.inf


def _sinh(value: float) -> float:
    try:
        return math.sinh(value)
    except OverflowError:
        return math.copysign(math.inf, value)


def _cbrt(value: float) -> float:
    """The closest double: the C library may be off by one digit."""
    near = math.cbrt(value)
    if not math.isfinite(near) or near == 0:
        return near
    around = (math.nextafter(near, -math.inf), near, math.nextafter(near, math.inf))
    return min(around, key=lambda root: abs(Fraction(root) ** 3 - Fraction(value)))


_of_doubles("ACOS", math.acos, "The angle whose cosine this is.")
_of_doubles("ASIN", math.asin, "The angle whose sine this is.")
_of_doubles("ATAN", math.atan, "The angle whose tangent this is.")
_of_doubles("ATAN2", math.atan2, "The angle of the point (x, y), given y and x.", 2)
_of_doubles("CBRT", _cbrt, "The cube root.")
_of_doubles("COS", math.cos, "The cosine of an angle in radians.")
_of_doubles("COSH", math.cosh, "The hyperbolic cosine.")
_of_doubles("COT", _cot, "The cotangent of an angle in radians.")
_of_doubles("DEGREES", lambda value: value * (180.0 / math.pi), "Radians as degrees.")
_of_doubles("EXP", math.exp, "e to this power.")
_of_doubles("LN", _log, "The natural logarithm.")
_of_doubles("LOG", _log, "The natural logarithm, or the one of a base: LOG(base, value).")
_of_doubles("LOG", _log_base, "The logarithm of a base.", 2)
_of_doubles("POWER", _power, "A base to a power.", 2)
_of_doubles("RADIANS", lambda value: value * (math.pi / 180.0), "Degrees as radians.")
_of_doubles("SIN", math.sin, "The sine of an angle in radians.")
_of_doubles("SINH", _sinh, "The hyperbolic sine.")
_of_doubles("SQRT", math.sqrt, "The square root.")
_of_doubles("TAN", math.tan, "The tangent of an angle in radians.")
_of_doubles("TANH", math.tanh, "The hyperbolic tangent.")


@define("PI() -> DOUBLE")
def pi() -> float:
    """The ratio of a circle's circumference to its diameter."""
    return math.pi


@define.bound("RANDOM() -> DOUBLE")
def random(bound: Bound) -> Implementation:
    """A random number from 0 to 1."""
    source = bound.environment.random

    def draw() -> float:
        if source is None:
            raise EvaluationFailed("There is no source of chance here")
        return source.random()

    return draw


@define("ABS(INT) -> INT")
def abs_int(value: int) -> int:
    """Without its sign."""
    return wrap_int(abs(value))


@define("ABS(BIGINT) -> BIGINT")
def abs_long(value: int) -> int:
    """Without its sign."""
    return wrap_long(abs(value))


@define("ABS(DOUBLE) -> DOUBLE", "ABS(DECIMAL) -> DECIMAL")
def abs_(value: Any) -> Any:
    """Without its sign."""
    return abs(value)


@define("SIGN(INT) -> INT", "SIGN(BIGINT) -> INT", "SIGN(DECIMAL) -> INT", "SIGN(DOUBLE) -> INT")
def sign(value: Any) -> int:
    """-1, 0 or 1."""
    return int(value > 0) - int(value < 0)


@define("CEIL(DOUBLE) -> DOUBLE")
def ceil(value: float) -> float:
    """The next whole number upwards."""
    return value if not math.isfinite(value) or value == 0 else math.copysign(float(math.ceil(value)), value)


@define("FLOOR(DOUBLE) -> DOUBLE")
def floor(value: float) -> float:
    """The next whole number downwards."""
    return value if not math.isfinite(value) or value == 0 else float(math.floor(value))


def _decimal_rounding(name: str, rounding: str, words: str) -> None:
    def make(bound: Bound) -> Implementation:
        kind = bound.result
        assert isinstance(kind, t.Decimal)
        return lambda value: fitted(value.to_integral_value(rounding=rounding), kind)

    make.__doc__ = words
    define.bound(f"{name}(DECIMAL) -> DECIMAL")(make)


_decimal_rounding("CEIL", ROUND_CEILING, "The next whole number upwards.")
_decimal_rounding("FLOOR", ROUND_FLOOR, "The next whole number downwards.")


def _round_up(value: Decimal, scale: int) -> Decimal:
    """Half way is rounded in the positive direction."""
    step = Decimal(1).scaleb(-scale)
    return (value / step + Decimal("0.5")).to_integral_value(rounding=ROUND_FLOOR) * step


@define("ROUND(DOUBLE) -> BIGINT")
def round_(value: float) -> int:
    """To the nearest whole number, or to so many decimal places; half way upwards."""
    if not math.isfinite(value) or abs(value) >= 2.0**52:
        return double_to_long(value)
    below = math.floor(value)
    return below + (value - below >= 0.5)


@define("ROUND(DOUBLE, INT) -> DOUBLE")
def round_places(value: float, places: int) -> float:
    """To so many decimal places; half way upwards."""
    return float(_round_up(exact_decimal(value), places)) if math.isfinite(value) else value


def _no_places(kinds: Sequence[t.SqlType]) -> t.SqlType:
    kind = kinds[0]
    assert isinstance(kind, t.Decimal)
    return t.Decimal(kind.precision - kind.scale + 1, 0)


def _decimal_places(signature: str, compute: Callable[[Decimal, int], Decimal], result: Any) -> None:
    def make(bound: Bound) -> Implementation:
        kind = bound.result
        assert isinstance(kind, t.Decimal)
        return lambda value, places=0: fitted(compute(value, places), kind)

    define.bound(signature, result=result)(make)


def _cut(value: Decimal, places: int) -> Decimal:
    step = Decimal(1).scaleb(-places)
    return (value / step).to_integral_value(rounding=ROUND_DOWN) * step


@define("TRUNC(DOUBLE) -> BIGINT")
def trunc(value: float) -> int:
    """Without decimal places, or cut to so many."""
    return double_to_long(value)


@define("TRUNC(DOUBLE, INT) -> DOUBLE")
def trunc_places(value: float, places: int) -> float:
    """Cut to so many decimal places."""
    return float(_cut(exact_decimal(value), places)) if math.isfinite(value) else value


@define("CEIL(INT) -> INT", "CEIL(BIGINT) -> BIGINT", "FLOOR(INT) -> INT", "FLOOR(BIGINT) -> BIGINT")
def whole(value: int) -> int:
    """A whole number is its own ceiling and floor."""
    return value


@define("ROUND(INT) -> INT", "ROUND(BIGINT) -> BIGINT")
def round_whole(value: int) -> int:
    """A whole number stays."""
    return value


@define("TRUNC(INT) -> INT", "TRUNC(BIGINT) -> BIGINT")
def trunc_whole(value: int) -> int:
    """A whole number stays."""
    return value


_decimal_places("ROUND(DECIMAL) -> DECIMAL", _round_up, _no_places)
_decimal_places("ROUND(DECIMAL, INT) -> DECIMAL", _round_up, None)
_decimal_places("TRUNC(DECIMAL) -> DECIMAL", _cut, _no_places)
_decimal_places("TRUNC(DECIMAL, INT) -> DECIMAL", _cut, None)


_COMPARABLE = ("INT", "BIGINT", "DECIMAL", "DOUBLE", "STRING", "BYTES", "DATE", "TIME", "TIMESTAMP")


def _order(bound: Bound) -> Callable[[Any], Any]:
    return utf16 if bound.result == t.STRING else lambda value: value


def _extreme(choose: Callable[..., Any]) -> Callable[[Bound], Implementation]:
    def make(bound: Bound) -> Implementation:
        order, kind = _order(bound), bound.result

        def pick(*values: Any) -> Any:
            known = [value for value in values if value is not None]
            if not known:
                return None
            found = choose(known, key=order)
            return fitted(found, kind) if isinstance(kind, t.Decimal) else found

        return pick

    return make


_greatest, _least = _extreme(max), _extreme(min)
_greatest.__doc__, _least.__doc__ = "The largest of the arguments.", "The smallest of the arguments."
define.bound(*(f"GREATEST({kind}, {kind}...) -> {kind}" for kind in _COMPARABLE), nulls=True)(_greatest)
define.bound(*(f"LEAST({kind}, {kind}...) -> {kind}" for kind in _COMPARABLE), nulls=True)(_least)

EARTH_KM, EARTH_MILES = 6371.0, 3959.0


@define(
    "GEO_DISTANCE(DOUBLE, DOUBLE, DOUBLE, DOUBLE) -> DOUBLE",
    "GEO_DISTANCE(DOUBLE, DOUBLE, DOUBLE, DOUBLE, STRING) -> DOUBLE",
)
def geo_distance(lat1: float, lon1: float, lat2: float, lon2: float, unit: str = "KM") -> float:
    """The distance of two points on the earth, in kilometres or miles."""
    if max(abs(lat1), abs(lat2)) > 90 or max(abs(lon1), abs(lon2)) > 180:
        raise EvaluationFailed("valid latitude values are from -90 to 90, longitude values from -180 to 180")
    if not unit.upper().startswith(("KM", "MI")):
        raise EvaluationFailed(f"{unit} is no unit of GEO_DISTANCE: use KM or MILES")
    radius = EARTH_MILES if unit.upper().startswith("MI") else EARTH_KM
    height, width = math.radians(lat2 - lat1), math.radians(lon2 - lon1)
    across = math.cos(math.radians(lat1)) * math.cos(math.radians(lat2)) * math.sin(width / 2) ** 2
    part = math.sin(height / 2) ** 2 + across
    return 2.0 * radius * math.asin(math.sqrt(min(1.0, part)))
