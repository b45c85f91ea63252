"""The nodes of an expression. Each is frozen, knows its type, and refuses operands that do not fit.

Names of columns are the keys of the row that is computed. A chain of ANDs or ORs is one node, however long.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any, Final

from penstock.expressions import numbers
from penstock.expressions import types as t
from penstock.expressions.errors import TypeMismatch
from penstock.expressions.python_functions import PythonFunction

MAX_DEPTH: Final = 200
"""Of nodes within nodes. Evaluation takes one Python frame for each."""

ARITHMETIC: Final = ("+", "-", "*", "/", "%")
ORDERED: Final = ("<", "<=", ">", ">=")
COMPARISONS: Final = ("=", "<>", *ORDERED, "IS DISTINCT FROM", "IS NOT DISTINCT FROM")


@dataclass(frozen=True)
class Expression:
    """A node. `depth` is how many nodes stand below one another."""

    @property
    def type(self) -> t.SqlType:
        raise NotImplementedError(type(self).__name__)

    @property
    def parts(self) -> Iterator[Expression]:
        """The nodes right below this one."""
        for field in fields(self):
            yield from _nodes(getattr(self, field.name))

    @cached_property
    def depth(self) -> int:
        return 1 + max((part.depth for part in self.parts), default=0)

    def __post_init__(self) -> None:
        if self.depth > MAX_DEPTH:
            raise TypeMismatch(f"The expression is nested deeper than {MAX_DEPTH} levels: split it up")
        self.check()

    def check(self) -> None:
        """Refuse operands of wrong types with a `TypeMismatch`."""


def _nodes(value: Any) -> Iterator[Expression]:
    if isinstance(value, Expression):
        yield value
    elif isinstance(value, tuple):
        for item in value:
            yield from _nodes(item)


@dataclass(frozen=True)
class Literal(Expression):
    """A constant of a simple type or a decimal. Arrays, maps and structs have nodes of their own."""

    value: Any
    kind: t.SqlType

    @property
    def type(self) -> t.SqlType:
        return self.kind


NULL: Final = Literal(None, t.NULL)
TRUE: Final = Literal(True, t.BOOLEAN)
FALSE: Final = Literal(False, t.BOOLEAN)


@dataclass(frozen=True)
class Column(Expression):
    """A column of the row."""

    name: str
    kind: t.SqlType

    @property
    def type(self) -> t.SqlType:
        return self.kind


@dataclass(frozen=True)
class Variable(Expression):
    """A parameter of the lambda around it."""

    name: str
    kind: t.SqlType

    @property
    def type(self) -> t.SqlType:
        return self.kind


@dataclass(frozen=True)
class Field(Expression):
    """`of->name`"""

    of: Expression
    name: str

    def check(self) -> None:
        kind = self.of.type
        if not isinstance(kind, t.Struct):
            raise TypeMismatch(f"Expected STRUCT type, got: {kind}")
        if kind.field(self.name) is None:
            raise TypeMismatch(f"Could not find field '{self.name}' in '{kind}'.")

    @property
    def type(self) -> t.SqlType:
        assert isinstance(self.of.type, t.Struct)
        kind = self.of.type.field(self.name)
        assert kind is not None
        return kind


@dataclass(frozen=True)
class Item(Expression):
    """`of[index]`: of an array from 1, negative from the end; of a map by key."""

    of: Expression
    index: Expression

    def check(self) -> None:
        kind = self.of.type
        if isinstance(kind, t.Array):
            if not t.is_whole(self.index.type):
                raise TypeMismatch(f"An index of an array is a whole number, not {self.index.type}")
        elif isinstance(kind, t.Map):
            if self.index.type not in (kind.key, t.NULL):
                raise TypeMismatch(f"A key of {kind} is {kind.key}, not {self.index.type}")
        else:
            raise TypeMismatch(f"{kind} has no items: [ ] needs an ARRAY or a MAP")

    @property
    def type(self) -> t.SqlType:
        kind = self.of.type
        if isinstance(kind, t.Array):
            return kind.item
        assert isinstance(kind, t.Map)
        return kind.value


@dataclass(frozen=True)
class Arithmetic(Expression):
    """Numbers of any types, the smaller one widened; `+` also joins two STRINGs."""

    operator: str
    left: Expression
    right: Expression

    def check(self) -> None:
        assert self.operator in ARITHMETIC, self.operator
        left, right = self.left.type, self.right.type
        joined = self.operator == "+" and left == right == t.STRING
        if not joined and not (t.is_numeric(left) and t.is_numeric(right)):
            raise TypeMismatch(f"Unsupported arithmetic types. {left} {self.operator} {right}")

    @cached_property
    def type(self) -> t.SqlType:
        left, right = self.left.type, self.right.type
        if left == t.STRING:
            return t.STRING
        kind = t.widened(left, right)
        if not isinstance(kind, t.Decimal):
            return kind
        one, other = t.as_decimal(left), t.as_decimal(right)
        match self.operator:
            case "+" | "-":
                return numbers.decimal_sum_type(one, other)
            case "*":
                return numbers.decimal_product_type(one, other)
            case "/":
                return numbers.decimal_quotient_type(one, other)
            case _:
                return numbers.decimal_remainder_type(one, other)


@dataclass(frozen=True)
class Negative(Expression):
    """`-of`"""

    of: Expression

    def check(self) -> None:
        if not t.is_numeric(self.of.type):
            raise TypeMismatch(f"- needs a number, not {self.of.type}")

    @property
    def type(self) -> t.SqlType:
        return self.of.type


@dataclass(frozen=True)
class Comparison(Expression):
    """Never null: a comparison with null is false. `IS [NOT] DISTINCT FROM` counts null as a value."""

    operator: str
    left: Expression
    right: Expression

    def check(self) -> None:
        assert self.operator in COMPARISONS, self.operator
        left, right = self.left.type, self.right.type
        if not comparable(left, right, ordered=self.operator in ORDERED):
            raise TypeMismatch(
                f"Operator {self.operator} cannot be used to compare {left} and {right}: cast one of them"
            )

    @property
    def type(self) -> t.SqlType:
        return t.BOOLEAN


def comparable(left: t.SqlType, right: t.SqlType, *, ordered: bool) -> bool:
    if t.NULL in (left, right):
        return True
    if t.is_numeric(left) and t.is_numeric(right):
        return True
    if left == right:
        return not ordered or left in (t.STRING, t.BYTES) or t.is_time(left)
    pair = {left, right}
    return pair == {t.DATE, t.TIMESTAMP} or (t.STRING in pair and any(map(t.is_time, pair)))


@dataclass(frozen=True)
class Logical(Expression):
    """AND or OR of two or more. The first part that decides ends it; a null part has no result."""

    operator: str
    operands: tuple[Expression, ...]

    def check(self) -> None:
        assert self.operator in ("AND", "OR"), self.operator
        for operand in self.operands:
            if operand.type not in (t.BOOLEAN, t.NULL):
                raise TypeMismatch(f"{self.operator} needs BOOLEAN, not {operand.type}")

    @property
    def type(self) -> t.SqlType:
        return t.BOOLEAN


@dataclass(frozen=True)
class Not(Expression):
    of: Expression

    def check(self) -> None:
        if self.of.type not in (t.BOOLEAN, t.NULL):
            raise TypeMismatch(f"NOT needs a BOOLEAN, not {self.of.type}")

    @property
    def type(self) -> t.SqlType:
        return t.BOOLEAN


@dataclass(frozen=True)
class IsNull(Expression):
    of: Expression

    @property
    def type(self) -> t.SqlType:
        return t.BOOLEAN


@dataclass(frozen=True)
class In(Expression):
    """Whether one of the items is equal. Null is in nothing."""

    of: Expression
    items: tuple[Expression, ...]

    def check(self) -> None:
        for item in self.items:
            if not comparable(self.of.type, item.type, ordered=False):
                raise TypeMismatch(f"IN cannot compare {self.of.type} with {item.type}: cast one of them")

    @property
    def type(self) -> t.SqlType:
        return t.BOOLEAN


@dataclass(frozen=True)
class Like(Expression):
    """`%` stands for any text, `_` for one character; `escape` before one of them takes that away."""

    of: Expression
    pattern: Expression
    escape: str | None = None

    def check(self) -> None:
        for operand in (self.of, self.pattern):
            if operand.type not in (t.STRING, t.NULL):
                raise TypeMismatch(f"LIKE needs STRINGs, not {operand.type}")
        if self.escape is not None and len(self.escape) != 1:
            raise TypeMismatch(f"Expected exactly one character, but got: {self.escape}")

    @property
    def type(self) -> t.SqlType:
        return t.BOOLEAN


@dataclass(frozen=True)
class When:
    condition: Expression
    result: Expression


@dataclass(frozen=True)
class Case(Expression):
    """The result of the first condition that holds; otherwise the last one, or null."""

    whens: tuple[When, ...]
    otherwise: Expression = NULL

    @property
    def parts(self) -> Iterator[Expression]:
        for when in self.whens:
            yield when.condition
            yield when.result
        yield self.otherwise

    def check(self) -> None:
        for when in self.whens:
            if when.condition.type != t.BOOLEAN:
                raise TypeMismatch(
                    f"WHEN operand type should be boolean. Type of {when.condition.type} is wrong"
                )
        common_type([*(when.result for when in self.whens), self.otherwise], "CASE")

    @cached_property
    def type(self) -> t.SqlType:
        return common_type([*(when.result for when in self.whens), self.otherwise], "CASE")


@dataclass(frozen=True)
class Cast(Expression):
    of: Expression
    to: t.SqlType

    def check(self) -> None:
        from penstock.expressions.casts import can_cast  # the rules stand beside what they do

        if not can_cast(self.of.type, self.to):
            raise TypeMismatch(f"Cast of {self.of.type} to {self.to} is not supported")

    @property
    def type(self) -> t.SqlType:
        return self.to


@dataclass(frozen=True)
class ArrayOf(Expression):
    """`ARRAY[items]`: items of one type."""

    items: tuple[Expression, ...]
    item: t.SqlType

    @property
    def type(self) -> t.SqlType:
        return t.Array(self.item)


@dataclass(frozen=True)
class MapOf(Expression):
    """`MAP(key := value)`"""

    entries: tuple[tuple[Expression, Expression], ...]
    key: t.SqlType
    value: t.SqlType

    @property
    def type(self) -> t.SqlType:
        return t.Map(self.key, self.value)


@dataclass(frozen=True)
class StructOf(Expression):
    """`STRUCT(name := value)`. As the function of an operator it makes a row of columns."""

    items: tuple[tuple[str, Expression], ...]

    def check(self) -> None:
        t.struct_of((name, part.type) for name, part in self.items)

    @cached_property
    def type(self) -> t.SqlType:
        return t.struct_of((name, part.type) for name, part in self.items)


@dataclass(frozen=True)
class Lambda(Expression):
    """`(parameters) => body`, an argument of a function."""

    parameters: tuple[Variable, ...]
    body: Expression

    @property
    def type(self) -> t.SqlType:
        return t.Function(tuple(parameter.type for parameter in self.parameters), self.body.type)


@dataclass(frozen=True)
class Call(Expression):
    """A function of the registry. `functions/resolving.py` finds the signature and casts arguments to it."""

    name: str
    arguments: tuple[Expression, ...]
    kind: t.SqlType
    signature: str = ""
    """Which of the function's signatures, by its text."""

    @property
    def type(self) -> t.SqlType:
        return self.kind


@dataclass(frozen=True)
class PythonCall(Expression):
    """A function that a user wrote in Python. Arguments have the types of its parameters."""

    function: PythonFunction
    arguments: tuple[Expression, ...]

    @property
    def type(self) -> t.SqlType:
        return self.function.returns


def common_type(parts: list[Expression], what: str) -> t.SqlType:
    """The type of expressions that stand for one another; null fits all."""
    kinds = [part.type for part in parts if part.type != t.NULL]
    if not kinds:
        return t.NULL
    kind = kinds[0]
    for other in kinds[1:]:
        if other == kind:
            continue
        if not (t.is_numeric(kind) and t.is_numeric(other)):
            raise TypeMismatch(f"{what} needs results of one type, not {kind} and {other}")
        kind = t.widened(kind, other)
    return kind
