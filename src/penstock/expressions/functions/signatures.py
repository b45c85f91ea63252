"""Signatures as text, such as `TRANSFORM(ARRAY<T>, LAMBDA(T) -> U) -> ARRAY<U>`, and what fits them.

A capital letter alone stands for any type, the same one wherever it occurs. `DECIMAL` is a decimal of any
size. `...` behind a parameter means that there may be any number of them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from penstock.expressions import types as t

Bindings = dict[str, t.SqlType]

_TOKEN: Final = re.compile(r"\s*(->|\.\.\.|[A-Za-z_][A-Za-z_0-9]*|[<>(),])")
_SHORT: Final = {"INT": t.INTEGER, **t.SIMPLE}
_ORDER: Final = ("INTEGER", "BIGINT", "DECIMAL", "DOUBLE")
NO_MATCH: Final = -1


@dataclass(frozen=True)
class Pattern:
    """A type with holes."""

    name: str
    inner: tuple[Pattern, ...] = ()
    fields: tuple[str, ...] = ()
    """Of a STRUCT, beside `inner`."""

    @property
    def is_generic(self) -> bool:
        return len(self.name) == 1

    @property
    def is_lambda(self) -> bool:
        return self.name == "LAMBDA"

    def __str__(self) -> str:
        if self.is_lambda:
            return f"LAMBDA({', '.join(map(str, self.inner[:-1]))}) -> {self.inner[-1]}"
        if self.fields:
            pairs = zip(self.fields, self.inner, strict=True)
            return f"STRUCT<{', '.join(f'{name} {inner}' for name, inner in pairs)}>"
        return self.name + (f"<{', '.join(map(str, self.inner))}>" if self.inner else "")


@dataclass(frozen=True)
class Signature:
    text: str
    name: str
    parameters: tuple[Pattern, ...]
    variadic: int | None
    """Which parameter may occur any number of times."""
    result: Pattern = field(compare=False)

    def patterns(self, count: int) -> tuple[Pattern, ...] | None:
        """The parameters for so many arguments; none if there cannot be so many."""
        if self.variadic is None:
            return self.parameters if count == len(self.parameters) else None
        times = count - len(self.parameters) + 1
        if times < 0:
            return None
        at = self.variadic
        return self.parameters[:at] + (self.parameters[at],) * times + self.parameters[at + 1 :]


def parse(text: str) -> Signature:
    tokens = _Tokens(text)
    name = tokens.take()
    tokens.expect("(")
    parameters: list[Pattern] = []
    variadic = None
    while not tokens.skip(")"):
        parameters.append(tokens.pattern())
        if tokens.skip("..."):
            variadic = len(parameters) - 1
        tokens.skip(",")
    tokens.expect("->")
    return Signature(text, name, tuple(parameters), variadic, tokens.pattern())


class _Tokens:
    def __init__(self, text: str) -> None:
        self._tokens = _TOKEN.findall(text)
        self._at = 0

    def take(self) -> str:
        self._at += 1
        return str(self._tokens[self._at - 1])

    def skip(self, token: str) -> bool:
        found = self._at < len(self._tokens) and self._tokens[self._at] == token
        self._at += found
        return found

    def expect(self, token: str) -> None:
        assert self.skip(token), f"{token} expected at {self._at} of {self._tokens}"

    def pattern(self) -> Pattern:
        name = self.take()
        if name == "LAMBDA":
            self.expect("(")
            inner = list(self._list(")"))
            self.expect("->")
            return Pattern(name, (*inner, self.pattern()))
        if name == "STRUCT" and self.skip("<"):
            pairs = list(self._fields())
            return Pattern(name, tuple(pair[1] for pair in pairs), tuple(pair[0] for pair in pairs))
        if self.skip("<"):
            return Pattern(name, tuple(self._list(">")))
        return Pattern("INTEGER" if name == "INT" else name)

    def _list(self, end: str) -> Iterator[Pattern]:
        while not self.skip(end):
            yield self.pattern()
            self.skip(",")

    def _fields(self) -> Iterator[tuple[str, Pattern]]:
        while not self.skip(">"):
            yield self.take(), self.pattern()
            self.skip(",")


def match(pattern: Pattern, kind: t.SqlType, bound: Bindings) -> int:
    """How far a type is from a pattern: 0 fits exactly, more needs a cast, `NO_MATCH` does not fit.

    Binds the pattern's letters on the way.
    """
    if kind == t.NULL:
        return 0
    if pattern.is_generic:
        known = bound.setdefault(pattern.name, kind)
        if known == t.NULL:
            bound[pattern.name] = known = kind
        return 1 if known == kind else _distance(kind, known) + 1 if _widens(kind, known) else NO_MATCH
    match kind:
        case t.Array(item=item) if pattern.name == "ARRAY":
            return _all([(pattern.inner[0], item)], bound)
        case t.Map(key=key, value=value) if pattern.name == "MAP":
            return _all([(pattern.inner[0], key), (pattern.inner[1], value)], bound)
        case t.Struct(fields=fields) if pattern.name == "STRUCT":
            if not pattern.fields:
                return 0
            if tuple(f.name for f in fields) != pattern.fields:
                return NO_MATCH
            return _all(list(zip(pattern.inner, (f.type for f in fields), strict=True)), bound)
        case t.Decimal() if pattern.name == "DECIMAL":
            return 0
        case t.Simple(name=name) if name == pattern.name:
            return 0
        case _:
            return _numeric_distance(kind, pattern.name)


def _all(pairs: Sequence[tuple[Pattern, t.SqlType]], bound: Bindings) -> int:
    """Inside arrays and maps nothing is widened."""
    total = 0
    for pattern, kind in pairs:
        found = match(pattern, kind, bound)
        if found == NO_MATCH or (found > 0 and not pattern.is_generic) or found > 1:
            return NO_MATCH
        total += found
    return total


def _widens(kind: t.SqlType, to: t.SqlType) -> bool:
    return t.is_numeric(kind) and t.is_numeric(to) and t.widened(kind, to) == to


def _place(kind: t.SqlType) -> int:
    return _ORDER.index("DECIMAL" if isinstance(kind, t.Decimal) else str(kind))


def _distance(kind: t.SqlType, to: t.SqlType) -> int:
    return 2 * (_place(to) - _place(kind)) + 1


def _numeric_distance(kind: t.SqlType, name: str) -> int:
    if not t.is_numeric(kind) or name not in _ORDER:
        return NO_MATCH
    distance = _ORDER.index(name) - _place(kind)
    return 2 * distance if distance > 0 else NO_MATCH


def filled(pattern: Pattern, bound: Bindings, widest: Callable[[], t.Decimal] | None = None) -> t.SqlType:
    """The type that a pattern is, once its letters are known."""
    if pattern.is_generic:
        return bound.get(pattern.name, t.NULL)
    if pattern.name == "ARRAY":
        return t.Array(filled(pattern.inner[0], bound))
    if pattern.name == "MAP":
        return t.Map(filled(pattern.inner[0], bound), filled(pattern.inner[1], bound))
    if pattern.name == "STRUCT":
        kinds = (filled(inner, bound) for inner in pattern.inner)
        return t.struct_of(zip(pattern.fields, kinds, strict=True))
    if pattern.name == "DECIMAL":
        assert widest is not None, "a decimal's size must be computed"
        return widest()
    return _SHORT[pattern.name]
