"""The syntax tree of expressions and types: what stands in the text, before names and types are known.

Two nodes are equal wherever they stand: positions do not count. Identifiers are as SQL means them, upper case
unless they were quoted.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, fields
from decimal import Decimal
from typing import Any, Final, NamedTuple

from penstock.sql.errors import SqlError

MAX_DEPTH: Final = 200
"""Of expressions within expressions: everything that walks a tree takes a Python frame or two for each."""
MAX_TYPE_DEPTH: Final = 100
"""Of types within types."""


class Position(NamedTuple):
    """Line and column of the first character, from 1."""

    line: int
    column: int


NOWHERE: Final = Position(0, 0)


@dataclass(frozen=True)
class Node:
    at: Position = field(default=NOWHERE, compare=False, kw_only=True)


@dataclass(frozen=True)
class Expression(Node):
    depth: int = field(default=1, init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        depth = 1 + max((part.depth for part in self.parts()), default=0)
        if depth > MAX_DEPTH:
            raise SqlError(f"the expression is nested deeper than {MAX_DEPTH} levels: split it up", *self.at)
        object.__setattr__(self, "depth", depth)

    def parts(self) -> Iterator[Expression]:
        """The expressions right below this one."""
        for each in fields(self):
            yield from _expressions(getattr(self, each.name))


def _expressions(value: Any) -> Iterator[Expression]:
    if isinstance(value, Expression):
        yield value
    elif isinstance(value, When):
        yield value.condition
        yield value.result
    elif isinstance(value, tuple) and not isinstance(value, Position):
        for item in value:
            yield from _expressions(item)


@dataclass(frozen=True)
class NullLiteral(Expression):
    pass


@dataclass(frozen=True)
class BooleanLiteral(Expression):
    value: bool


@dataclass(frozen=True)
class IntegerLiteral(Expression):
    """INTEGER or BIGINT, by its size."""

    value: int


@dataclass(frozen=True)
class DecimalLiteral(Expression):
    value: Decimal


@dataclass(frozen=True)
class DoubleLiteral(Expression):
    value: float


@dataclass(frozen=True)
class StringLiteral(Expression):
    value: str


Literal = NullLiteral | BooleanLiteral | IntegerLiteral | DecimalLiteral | DoubleLiteral | StringLiteral


@dataclass(frozen=True)
class ColumnName(Expression):
    name: str
    source: str | None = None


@dataclass(frozen=True)
class FieldOf(Expression):
    """`of->name`"""

    of: Expression
    name: str


@dataclass(frozen=True)
class ItemOf(Expression):
    """`of[index]`"""

    of: Expression
    index: Expression


@dataclass(frozen=True)
class FunctionCall(Expression):
    name: str
    arguments: tuple[Expression, ...] = ()
    star: bool = False
    """`COUNT(*)`"""


@dataclass(frozen=True)
class LambdaFunction(Expression):
    parameters: tuple[str, ...]
    body: Expression


@dataclass(frozen=True)
class Binary(Expression):
    """`+ - * / %` and `||`"""

    operator: str
    left: Expression
    right: Expression


@dataclass(frozen=True)
class Unary(Expression):
    """`+` or `-` of something that is no number"""

    operator: str
    of: Expression


@dataclass(frozen=True)
class Comparison(Expression):
    """`= <> < <= > >=`, `IS DISTINCT FROM` and `IS NOT DISTINCT FROM`"""

    operator: str
    left: Expression
    right: Expression


@dataclass(frozen=True)
class Chain(Expression):
    """AND or OR of two or more."""

    operator: str
    operands: tuple[Expression, ...]


@dataclass(frozen=True)
class Not(Expression):
    of: Expression


@dataclass(frozen=True)
class IsNull(Expression):
    of: Expression
    negated: bool = False


@dataclass(frozen=True)
class Between(Expression):
    of: Expression
    low: Expression
    high: Expression
    negated: bool = False


@dataclass(frozen=True)
class InList(Expression):
    of: Expression
    items: tuple[Expression, ...]
    negated: bool = False


@dataclass(frozen=True)
class Like(Expression):
    of: Expression
    pattern: Expression
    escape: str | None = None
    negated: bool = False


@dataclass(frozen=True)
class When(Node):
    condition: Expression
    result: Expression


@dataclass(frozen=True)
class Case(Expression):
    """`CASE WHEN …` or, with `of`, `CASE of WHEN …`"""

    whens: tuple[When, ...]
    of: Expression | None = None
    otherwise: Expression | None = None


@dataclass(frozen=True)
class CastTo(Expression):
    of: Expression
    type: TypeName


@dataclass(frozen=True)
class ArrayLiteral(Expression):
    items: tuple[Expression, ...]


@dataclass(frozen=True)
class MapLiteral(Expression):
    entries: tuple[tuple[Expression, Expression], ...]


@dataclass(frozen=True)
class StructLiteral(Expression):
    items: tuple[tuple[str, Expression], ...]


@dataclass(frozen=True)
class AtTimeZone(Expression):
    of: Expression
    zone: str


@dataclass(frozen=True)
class TypeName(Node):
    """A type as it is written: `INT`, `DECIMAL(4, 2)`, `ARRAY<…>`, or the name of a type of the user's."""

    name: str
    sizes: tuple[int, ...] = ()
    inner: tuple[TypeName, ...] = ()
    fields: tuple[str, ...] = ()
    """Names of a STRUCT's fields; `inner` has their types."""
    depth: int = field(default=1, init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        depth = 1 + max((part.depth for part in self.inner), default=0)
        if depth > MAX_TYPE_DEPTH:
            raise SqlError(
                f"the type is nested deeper than {MAX_TYPE_DEPTH} levels: make it flatter", *self.at
            )
        object.__setattr__(self, "depth", depth)
