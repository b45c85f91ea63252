"""A filter as a Python expression, for what the filter language cannot say. Pure.

    py: value["total"] > 100 and len(value["items"]) > 2
    py: key.startswith("test-") or any(item["sku"] == "A-7" for item in value["items"])
    py: value.get("email", "").lower().endswith("@example.org")

Names: `key`, `value` (decoded; text where they are no JSON), `headers`, `partition`, `offset`, `timestamp`.
The expression is parsed by Python and evaluated here, node by node: nothing but these names, literals,
operators, the functions of `FUNCTIONS` and the methods of `METHODS` exists in it. An expression that fails
for a record (a field that is missing, two types that do not compare) does not find it.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Iterator
from typing import Any, Final

from penstock.client.errors import InvalidValue
from penstock.console.filtering import Candidate, Test

PREFIX: Final = "py:"
LOOPS_MAX: Final = 10_000
"""Elements that all comprehensions together may look at in one record."""


Scope = dict[str, Any]
"""Values by name, and under `_STEPS`, which is no name, how much was looked at."""
_STEPS: Final = "steps of loops"
Run = Callable[[Scope], Any]

FUNCTIONS: Final[dict[str, Callable[..., Any]]] = {
    "len": len, "str": str, "int": int, "float": float, "bool": bool, "abs": abs, "round": round, "min": min,
    "max": max, "sum": sum, "any": any, "all": all, "sorted": sorted, "isinstance": isinstance,
}  # fmt: skip
METHODS: Final = frozenset(
    {
        "startswith", "endswith", "lower", "upper", "casefold", "strip", "lstrip", "rstrip", "split", "find",
        "count", "isdigit", "isalpha", "isdecimal", "get", "keys", "values", "items", "index", "removeprefix",
        "removesuffix",
    }
)  # fmt: skip
TYPES: Final = {"str": str, "int": int, "float": float, "bool": bool, "list": list, "dict": dict}
NAMES: Final = ("key", "value", "headers", "partition", "offset", "timestamp")

_BINARY: Final[dict[type[ast.operator], Callable[[Any, Any], Any]]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Div: operator.truediv, ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}  # fmt: skip
_COMPARED: Final[dict[type[ast.cmpop], Callable[[Any, Any], Any]]] = {
    ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Lt: operator.lt, ast.LtE: operator.le,
    ast.Gt: operator.gt, ast.GtE: operator.ge, ast.Is: operator.is_, ast.IsNot: operator.is_not,
    ast.In: lambda a, b: a in b, ast.NotIn: lambda a, b: a not in b,
}  # fmt: skip
_FAILS: Final = (
    TypeError,
    ValueError,
    KeyError,
    IndexError,
    AttributeError,
    ZeroDivisionError,
    OverflowError,
)


class TooMuch(ValueError):
    """The record is too large for the expression."""


def compile_python(text: str) -> Test:
    """The test of an expression without its prefix."""
    try:
        tree = ast.parse(text.strip(), mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise InvalidValue(f"The filter is no Python expression: {error}.") from None
    run = _compiled(tree.body, frozenset(NAMES))

    def test(each: Candidate) -> bool:
        try:
            return bool(run(_scope(each)))
        except _FAILS:
            return False

    return test


def _scope(each: Candidate) -> Scope:
    message = each.message
    return {
        "key": _content(each, True),
        "value": _content(each, False),
        "headers": {name: (data or b"").decode("utf-8", "replace") for name, data in message.headers},
        "partition": message.partition,
        "offset": message.offset,
        "timestamp": message.timestamp_ms,
        _STEPS: [0],
    }


def _content(each: Candidate, of_key: bool) -> Any:
    found = each.parsed(of_key)
    if found is not None:
        return found
    data = each.message.key if of_key else each.message.value
    return None if data is None else each.text(of_key)


def _compiled(node: ast.expr, names: frozenset[str]) -> Run:
    maker = _MAKERS.get(type(node))
    if maker is None:
        raise InvalidValue(
            f"A filter has no {type(node).__name__.lower()}, as in {ast.unparse(node)[:60]!r}."
        )
    return maker(node, names)


def _constant(node: ast.Constant, _: frozenset[str]) -> Run:
    value = node.value
    return lambda _scope: value


def _name(node: ast.Name, names: frozenset[str]) -> Run:
    found = node.id
    if found not in names:
        raise InvalidValue(f"{found!r} is no name of a filter. Use {', '.join(NAMES)}.")
    return lambda scope: scope[found]


def _both(node: ast.BoolOp, names: frozenset[str]) -> Run:
    parts = [_compiled(each, names) for each in node.values]
    if isinstance(node.op, ast.And):
        return lambda scope: all(part(scope) for part in parts)
    return lambda scope: any(part(scope) for part in parts)


def _unary(node: ast.UnaryOp, names: frozenset[str]) -> Run:
    operand = _compiled(node.operand, names)
    if isinstance(node.op, ast.Not):
        return lambda scope: not operand(scope)
    if isinstance(node.op, ast.USub):
        return lambda scope: -operand(scope)
    return operand


def _binary(node: ast.BinOp, names: frozenset[str]) -> Run:
    left, right = _compiled(node.left, names), _compiled(node.right, names)
    if isinstance(node.op, ast.Mult):
        return lambda scope: _number(left(scope)) * _number(right(scope))
    function = _BINARY.get(type(node.op))
    if function is None:
        raise InvalidValue(f"A filter does not know the operator in {ast.unparse(node)[:60]!r}.")
    if isinstance(node.op, ast.Mod):
        return lambda scope: _number(left(scope)) % _number(right(scope))
    return lambda scope: function(left(scope), right(scope))


def _number(value: Any) -> Any:
    """Texts times a number, and formats, make large results of small expressions."""
    if not isinstance(value, int | float):
        raise TypeError("no number")
    return value


def _compare(node: ast.Compare, names: frozenset[str]) -> Run:
    first = _compiled(node.left, names)
    others = [
        (_COMPARED[type(op)], _compiled(each, names))
        for op, each in zip(node.ops, node.comparators, strict=True)
    ]

    def run(scope: Scope) -> bool:
        left = first(scope)
        for function, other in others:
            right = other(scope)
            if not function(left, right):
                return False
            left = right
        return True

    return run


def _subscript(node: ast.Subscript, names: frozenset[str]) -> Run:
    whole = _compiled(node.value, names)
    if isinstance(node.slice, ast.Slice):
        ends = [
            None if end is None else _compiled(end, names) for end in (node.slice.lower, node.slice.upper)
        ]

        def cut(scope: Scope) -> Any:
            lower, upper = (None if end is None else end(scope) for end in ends)
            return whole(scope)[lower:upper]

        return cut
    index = _compiled(node.slice, names)
    return lambda scope: whole(scope)[index(scope)]


def _call(node: ast.Call, names: frozenset[str]) -> Run:
    if node.keywords or any(isinstance(each, ast.Starred) for each in node.args):
        raise InvalidValue(f"A filter calls with plain arguments only, not as {ast.unparse(node)[:60]!r}.")
    if isinstance(node.func, ast.Name):
        return _function(node.func.id, node, names)
    if isinstance(node.func, ast.Attribute) and node.func.attr in METHODS:
        method, owner = node.func.attr, _compiled(node.func.value, names)
        arguments = [_compiled(each, names) for each in node.args]
        return lambda scope: getattr(owner(scope), method)(*[each(scope) for each in arguments])
    raise InvalidValue(
        f"A filter cannot call {ast.unparse(node.func)[:60]!r}. Methods: {', '.join(sorted(METHODS))}."
    )


def _function(name: str, node: ast.Call, names: frozenset[str]) -> Run:
    if name not in FUNCTIONS:
        raise InvalidValue(f"A filter has no function {name!r}. It has {', '.join(FUNCTIONS)}.")
    function = FUNCTIONS[name]
    if name == "isinstance":
        if len(node.args) != 2 or not isinstance(node.args[1], ast.Name) or node.args[1].id not in TYPES:
            raise InvalidValue(f"isinstance takes a value and one of {', '.join(TYPES)}.")
        kind, value = TYPES[node.args[1].id], _compiled(node.args[0], names)
        return lambda scope: isinstance(value(scope), kind)
    arguments = [_compiled(each, names) for each in node.args]
    return lambda scope: function(*[each(scope) for each in arguments])


def _sequence(node: ast.List | ast.Tuple | ast.Set, names: frozenset[str]) -> Run:
    parts = [_compiled(each, names) for each in node.elts]
    return lambda scope: [part(scope) for part in parts]


def _choice(node: ast.IfExp, names: frozenset[str]) -> Run:
    test, yes, no = (_compiled(each, names) for each in (node.test, node.body, node.orelse))
    return lambda scope: yes(scope) if test(scope) else no(scope)


def _loop(node: ast.GeneratorExp | ast.ListComp, names: frozenset[str]) -> Run:
    if len(node.generators) != 1 or not isinstance(node.generators[0].target, ast.Name):
        raise InvalidValue("A comprehension of a filter has one `for` with one name.")
    generator = node.generators[0]
    name = generator.target.id  # type: ignore[attr-defined]
    inside = names | {name}
    source = _compiled(generator.iter, names)
    tests = [_compiled(each, inside) for each in generator.ifs]
    made = _compiled(node.elt, inside)

    def run(scope: Scope) -> Iterator[Any]:
        steps = scope[_STEPS]
        for item in source(scope):
            steps[0] += 1
            if steps[0] > LOOPS_MAX:
                raise TooMuch(f"more than {LOOPS_MAX} elements")
            here = {**scope, name: item}
            if all(test(here) for test in tests):
                yield made(here)

    return run if isinstance(node, ast.GeneratorExp) else lambda scope: list(run(scope))


_MAKERS: Final[dict[type[ast.expr], Callable[[Any, frozenset[str]], Run]]] = {
    ast.Constant: _constant, ast.Name: _name, ast.BoolOp: _both, ast.UnaryOp: _unary, ast.BinOp: _binary,
    ast.Compare: _compare, ast.Subscript: _subscript, ast.Call: _call, ast.List: _sequence,
    ast.Tuple: _sequence, ast.Set: _sequence, ast.IfExp: _choice, ast.GeneratorExp: _loop,
    ast.ListComp: _loop,
}  # fmt: skip
