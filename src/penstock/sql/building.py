"""Nodes from what the grammar matched. lark calls one method for each rule, innermost first, with all tokens
and nodes of that rule; nothing recurses, however long the text.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any, Final, NamedTuple, TypeVar

from lark import Token
from lark.visitors import Transformer

from penstock.sql import statements as s
from penstock.sql import syntax as x
from penstock.sql.errors import SqlError

T = TypeVar("T")
Children = list[Any]

MAX_BIGINT: Final = 2**63 - 1


class Name(NamedTuple):
    """An identifier as SQL means it, and as it was written."""

    text: str
    written: str
    at: x.Position


class Marked(NamedTuple):
    """The result of a small rule, for the rule around it."""

    rule: str
    children: Children
    at: x.Position


def at(children: Sequence[Any]) -> x.Position:
    """Where the first token of a rule stands."""
    for child in children:
        if isinstance(child, Token):
            return x.Position(child.line or 0, child.column or 0)
        if child is not None:
            found: x.Position = child.at
            return found
    return x.NOWHERE


def unquoted(token: str) -> str:
    quote = token[0]
    return token[1:-1].replace(quote * 2, quote)


def every(kind: type[T], children: Sequence[Any]) -> list[T]:
    return [child for child in children if isinstance(child, kind)]


def one(kind: type[T], children: Sequence[Any]) -> T:
    return every(kind, children)[0]


def first(kind: type[T], children: Sequence[Any]) -> T | None:
    return next(iter(every(kind, children)), None)


def has(children: Sequence[Any], *types: str) -> bool:
    return any(isinstance(child, Token) and child.type in types for child in children)


def word(children: Sequence[Any], *types: str) -> str | None:
    """Which of these keywords is there."""
    return next((c.type for c in children if isinstance(c, Token) and c.type in types), None)


def marked(children: Sequence[Any], rule: str) -> Marked | None:
    return next((c for c in children if isinstance(c, Marked) and c.rule == rule), None)


def name_text(children: Sequence[Any]) -> str:
    """The first name or string of a rule."""
    for child in children:
        if isinstance(child, Name):
            return child.text
        if isinstance(child, Token) and child.type == "STRING":
            return unquoted(child)
    raise AssertionError("the grammar asks for a name")


def number(children: Sequence[Any]) -> int:
    return int(next(c for c in children if isinstance(c, Token) and c.type == "INTEGER_VALUE"))


def mark(rule: str) -> Callable[[Any, Children], Marked]:
    """A method for a small rule that the rule around it looks into."""
    return lambda self, children: Marked(rule, children, at(children))


class ExpressionBuilder(Transformer[Token, Any]):
    """Rules of expressions and types."""

    def name(self, c: Children) -> Name:
        token = c[0]
        if isinstance(token, Name):
            return token
        where = x.Position(token.line, token.column)
        if token.type in ("BACKTICK", "QUOTED"):
            return Name(unquoted(token), unquoted(token), where)
        return Name(token.upper(), str(token), where)

    alias_name = source_alias_name = source_name = name

    def null(self, c: Children) -> x.Expression:
        return x.NullLiteral(at=at(c))

    def true(self, c: Children) -> x.Expression:
        return x.BooleanLiteral(True, at=at(c))

    def false(self, c: Children) -> x.Expression:
        return x.BooleanLiteral(False, at=at(c))

    def text(self, c: Children) -> x.Expression:
        return x.StringLiteral(unquoted(c[0]), at=at(c))

    def whole(self, c: Children) -> x.Expression:
        if len(c[0]) > 20 or int(c[0]) > MAX_BIGINT + 1:
            raise SqlError(f"Invalid numeric literal: {c[0][:40]}: a BIGINT ends at {MAX_BIGINT}", *at(c))
        return x.IntegerLiteral(int(c[0]), at=at(c))

    def decimal(self, c: Children) -> x.Expression:
        return x.DecimalLiteral(Decimal(str(c[0])), at=at(c))

    def double(self, c: Children) -> x.Expression:
        value = float(c[0])
        if value in (float("inf"), 0.0) and Decimal(str(c[0])) != 0:
            raise SqlError(f"Invalid numeric literal: {c[0][:40]}: it does not fit a DOUBLE", *at(c))
        return x.DoubleLiteral(value, at=at(c))

    def negative(self, c: Children) -> x.Expression:
        return self.unary(c)

    def unary(self, c: Children) -> x.Expression:
        sign, of = c
        if isinstance(of, x.IntegerLiteral | x.DecimalLiteral | x.DoubleLiteral) and of.value >= 0:
            return type(of)(of.value if sign == "+" else -of.value, at=at(c))  # type: ignore[arg-type]
        return x.Unary(str(sign), of, at=at(c))

    def column(self, c: Children) -> x.Expression:
        return x.ColumnName(c[0].text, at=at(c))

    def source_column(self, c: Children) -> x.Expression:
        return x.ColumnName(c[2].text, c[0].text, at=at(c))

    def call(self, c: Children) -> x.Expression:
        return x.FunctionCall(c[0].text, tuple(every(x.Expression, c)), has(c, "STAR"), at=at(c))

    def parenthesised(self, c: Children) -> x.Expression:
        expression: x.Expression = c[1]
        return expression

    def field_of(self, c: Children) -> x.Expression:
        return x.FieldOf(c[0], c[2].text, at=at(c))

    def item_of(self, c: Children) -> x.Expression:
        return x.ItemOf(c[0], c[2], at=at(c))

    def binary(self, c: Children) -> x.Expression:
        return x.Binary(str(c[1]), c[0], c[2], at=at(c))

    def comparison(self, c: Children) -> Marked:
        return Marked("comparison", ["<>" if c[0] == "!=" else str(c[0])], at(c))

    def compared(self, c: Children) -> x.Expression:
        return x.Comparison(c[1].children[0], c[0], c[2], at=at(c))

    def distinct(self, c: Children) -> x.Expression:
        operator = "IS NOT DISTINCT FROM" if has(c, "NOT") else "IS DISTINCT FROM"
        return x.Comparison(operator, c[0], c[-1], at=at(c))

    def chain(self, c: Children) -> x.Expression:
        return x.Chain(c[1].type, tuple(every(x.Expression, c)), at=at(c))

    def negated(self, c: Children) -> x.Expression:
        return x.Not(c[1], at=at(c))

    def is_null(self, c: Children) -> x.Expression:
        return x.IsNull(c[0], has(c, "NOT"), at=at(c))

    def between(self, c: Children) -> x.Expression:
        of, low, high = every(x.Expression, c)
        return x.Between(of, low, high, has(c, "NOT"), at=at(c))

    def in_list(self, c: Children) -> x.Expression:
        of, *items = every(x.Expression, c)
        return x.InList(of, tuple(items), has(c, "NOT"), at=at(c))

    def like(self, c: Children) -> x.Expression:
        of, pattern = every(x.Expression, c)
        escape = unquoted(c[-1]) if has(c, "ESCAPE") else None
        if escape is not None and len(escape) != 1:
            raise SqlError(f"ESCAPE takes exactly one character, not {escape!r}", *at(c[-1:]))
        return x.Like(of, pattern, escape, has(c, "NOT"), at=at(c))

    def when(self, c: Children) -> x.When:
        return x.When(c[1], c[3], at=at(c))

    def searched_case(self, c: Children) -> x.Expression:
        otherwise = c[-2] if has(c, "ELSE") else None
        return x.Case(tuple(every(x.When, c)), None, otherwise, at=at(c))

    def simple_case(self, c: Children) -> x.Expression:
        otherwise = c[-2] if has(c, "ELSE") else None
        return x.Case(tuple(every(x.When, c)), c[1], otherwise, at=at(c))

    def cast(self, c: Children) -> x.Expression:
        return x.CastTo(c[2], one(x.TypeName, c), at=at(c))

    def array(self, c: Children) -> x.Expression:
        return x.ArrayLiteral(tuple(every(x.Expression, c)), at=at(c))

    def entry(self, c: Children) -> Marked:
        return Marked("entry", [c[0], c[2]], at(c))

    def assignment(self, c: Children) -> Marked:
        return Marked("assignment", [c[0].text, c[2]], at(c))

    def map(self, c: Children) -> x.Expression:
        return x.MapLiteral(tuple((m.children[0], m.children[1]) for m in every(Marked, c)), at=at(c))

    def struct(self, c: Children) -> x.Expression:
        return x.StructLiteral(tuple((m.children[0], m.children[1]) for m in every(Marked, c)), at=at(c))

    def at_time_zone(self, c: Children) -> x.Expression:
        return x.AtTimeZone(c[0], unquoted(c[-1]), at=at(c))

    def lambda_(self, c: Children) -> x.Expression:
        return x.LambdaFunction(tuple(n.text for n in every(Name, c)), c[-1], at=at(c))

    def simple_type(self, c: Children) -> x.TypeName:
        return x.TypeName(c[0].text, at=at(c))

    def sized_type(self, c: Children) -> x.TypeName:
        sizes = tuple(int(t) for t in c if isinstance(t, Token) and t.type == "INTEGER_VALUE")
        return x.TypeName(c[0].text, sizes, at=at(c))

    def array_type(self, c: Children) -> x.TypeName:
        return x.TypeName("ARRAY", (), tuple(every(x.TypeName, c)), at=at(c))

    def map_type(self, c: Children) -> x.TypeName:
        return x.TypeName("MAP", (), tuple(every(x.TypeName, c)), at=at(c))

    def field(self, c: Children) -> Marked:
        return Marked("field", [c[0].text, c[1]], at(c))

    def struct_type(self, c: Children) -> x.TypeName:
        fields = every(Marked, c)
        names = tuple(m.children[0] for m in fields)
        return x.TypeName("STRUCT", (), tuple(m.children[1] for m in fields), names, at=at(c))

    def duration(self, c: Children) -> s.Duration:
        unit = c[1].text.removesuffix("S")
        if unit not in s.UNITS:
            known = ", ".join(f"{unit}S" for unit in s.UNITS)
            raise SqlError(f"{c[1].written} is no unit of time: use one of {known}", *c[1].at)
        return s.Duration(int(c[0]), unit, at=at(c))


setattr(ExpressionBuilder, "lambda", ExpressionBuilder.lambda_)  # the rule's name is a keyword of Python
