"""Functions by name: their signatures and implementations, and how a module of functions collects them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from penstock.expressions import types as t
from penstock.expressions.environment import Environment
from penstock.expressions.functions.signatures import Signature, parse

Implementation = Callable[..., Any]
ResultType = Callable[[Sequence[t.SqlType]], t.SqlType]


@dataclass(frozen=True)
class Bound:
    """What an implementation may ask when a call is bound, before rows come."""

    arguments: tuple[t.SqlType, ...]
    result: t.SqlType
    environment: Environment


@dataclass(frozen=True)
class Variant:
    """A function with one of its signatures."""

    signature: Signature
    make: Callable[[Bound], Implementation]
    takes_nulls: bool
    result: ResultType | None
    """Computes the result's type where the signature's text cannot."""


@dataclass
class ScalarFunction:
    name: str
    description: str
    variants: list[Variant] = field(default_factory=list)

    def variant(self, signature: str) -> Variant:
        return next(variant for variant in self.variants if variant.signature.text == signature)


class Functions:
    """The functions of a module."""

    def __init__(self) -> None:
        self.by_name: dict[str, ScalarFunction] = {}

    def __call__(
        self, *signatures: str, nulls: bool = False, result: ResultType | None = None
    ) -> Callable[[Implementation], Implementation]:
        """The decorated function computes these signatures. Unless it takes `nulls`, one makes it null."""
        return self._added(signatures, lambda function: lambda bound: function, nulls, result)

    def bound(
        self, *signatures: str, nulls: bool = False, result: ResultType | None = None
    ) -> Callable[[Callable[[Bound], Implementation]], Callable[[Bound], Implementation]]:
        """The decorated function gets types and environment, and returns what computes a row."""
        return self._added(signatures, lambda function: function, nulls, result)

    def _added(
        self, signatures: Sequence[str], maker: Any, nulls: bool, result: ResultType | None
    ) -> Callable[[Any], Any]:
        def add(function: Any) -> Any:
            for text in signatures:
                signature = parse(text)
                words = " ".join((function.__doc__ or "").split())
                known = self.by_name.setdefault(signature.name, ScalarFunction(signature.name, words))
                known.variants.append(Variant(signature, maker(function), nulls, result))
            return function

        return add


def null_if_null(function: Implementation) -> Implementation:
    def call(*values: Any) -> Any:
        for value in values:
            if value is None:
                return None
        return function(*values)

    return call
