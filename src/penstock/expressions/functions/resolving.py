"""Calls: which signature of a function fits the arguments, what it returns, and which arguments are cast."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches

from penstock.expressions import tree as e
from penstock.expressions import types as t
from penstock.expressions.environment import Environment
from penstock.expressions.errors import TypeMismatch
from penstock.expressions.functions.catalogue import SCALARS
from penstock.expressions.functions.registry import (
    Bound,
    Implementation,
    ScalarFunction,
    Variant,
    null_if_null,
)
from penstock.expressions.functions.signatures import NO_MATCH, Bindings, Pattern, filled, match


@dataclass(frozen=True)
class LambdaArgument:
    """A lambda that gets the types of its parameters when the arguments before it are known."""

    arity: int
    make: Callable[[tuple[t.SqlType, ...]], e.Lambda]


Argument = e.Expression | LambdaArgument


def call(name: str, arguments: Sequence[Argument]) -> e.Call:
    """A call of the function with this name; a `TypeMismatch` that says what there is, if none fits."""
    function = SCALARS.get(name.upper())
    if function is None:
        near = get_close_matches(name.upper(), SCALARS, 1)
        hint = f". Did you mean {near[0]}?" if near else ""
        raise TypeMismatch(f"Can't find any functions with the name '{name}'{hint}")
    best: tuple[int, e.Call] | None = None
    for variant in function.variants:
        found = _matched(variant, arguments)
        if found is not None and (best is None or found[0] < best[0]):
            best = found
    if best is None:
        raise TypeMismatch(_no_variant(function, arguments))
    return best[1]


def _matched(variant: Variant, arguments: Sequence[Argument]) -> tuple[int, e.Call] | None:
    patterns = variant.signature.patterns(len(arguments))
    if patterns is None:
        return None
    total = 0 if variant.signature.variadic is None else 1
    bound: Bindings = {}
    resolved: list[e.Expression] = []
    for pattern, argument in zip(patterns, arguments, strict=True):
        known = _argument(pattern, argument, bound)
        if known is None:
            return None
        distance = (
            _lambda_result(pattern, known, bound) if pattern.is_lambda else match(pattern, known.type, bound)
        )
        if distance == NO_MATCH:
            return None
        total += distance
        resolved.append(known)
    cast = tuple(_cast(pattern, part, bound) for pattern, part in zip(patterns, resolved, strict=True))
    kinds = [part.type for part in cast]
    if variant.result is not None:
        result = variant.result(kinds)
    else:
        result = filled(variant.signature.result, bound, lambda: _widest(kinds))
    return total, e.Call(variant.signature.name, cast, result, variant.signature.text)


def _argument(pattern: Pattern, argument: Argument, bound: Bindings) -> e.Expression | None:
    if isinstance(argument, e.Expression):
        if isinstance(argument, e.Lambda):
            fits = pattern.is_lambda and len(argument.parameters) == len(pattern.inner) - 1
        else:
            fits = not pattern.is_lambda
        return argument if fits else None
    if not pattern.is_lambda or len(pattern.inner) - 1 != argument.arity:
        return None
    return argument.make(tuple(filled(inner, bound) for inner in pattern.inner[:-1]))


def _lambda_result(pattern: Pattern, argument: e.Expression, bound: Bindings) -> int:
    assert isinstance(argument, e.Lambda)
    return match(pattern.inner[-1], argument.body.type, bound)


def _cast(pattern: Pattern, part: e.Expression, bound: Bindings) -> e.Expression:
    kind = part.type
    if pattern.is_lambda or kind == t.NULL:
        return part
    if pattern.is_generic:
        wanted = bound[pattern.name]
    elif pattern.name == "DECIMAL":
        wanted = kind if isinstance(kind, t.Decimal) else t.as_decimal(kind)
    elif t.is_numeric(kind):
        wanted = filled(pattern, bound)
    else:
        return part
    return part if wanted == kind else e.Cast(part, wanted)


def _widest(kinds: Sequence[t.SqlType]) -> t.Decimal:
    """A decimal result is as wide as the widest decimal argument."""
    decimals = [kind for kind in kinds if isinstance(kind, t.Decimal)]
    if not decimals:
        return t.Decimal(38, 0)  # of nulls alone
    widest: t.SqlType = decimals[0]
    for kind in decimals[1:]:
        widest = t.widened(widest, kind)
    assert isinstance(widest, t.Decimal)
    return widest


def _no_variant(function: ScalarFunction, arguments: Sequence[Argument]) -> str:
    shown = ", ".join(
        str(argument.type) if isinstance(argument, e.Expression) else "LAMBDA" for argument in arguments
    )
    valid = "\n".join(variant.signature.text for variant in function.variants)
    return (
        f"Function '{function.name.lower()}' does not accept parameters ({shown}).\n"
        f"Valid alternatives are:\n{valid}\n"
        "For detailed information on a function run: DESCRIBE FUNCTION <Function-Name>;"
    )


def implementation(node: e.Call, environment: Environment) -> Implementation:
    """What computes a call."""
    function = SCALARS.get(node.name)
    if function is None:
        raise TypeMismatch(f"Can't find any functions with the name '{node.name}'")
    variant = function.variant(node.signature)
    kinds = tuple(argument.type for argument in node.arguments)
    made = variant.make(Bound(kinds, node.kind, environment))
    return made if variant.takes_nulls else null_if_null(made)
