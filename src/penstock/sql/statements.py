"""The syntax tree of statements: one class for each kind."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from penstock.sql.syntax import Expression, Literal, Node, TypeName

UNITS: Final = {
    "YEAR": 31_536_000_000,
    "MONTH": 2_592_000_000,
    "DAY": 86_400_000,
    "HOUR": 3_600_000,
    "MINUTE": 60_000,
    "SECOND": 1000,
    "MILLISECOND": 1,
}
"""Milliseconds of each; a unit may have an S behind it."""


@dataclass(frozen=True)
class Duration(Node):
    value: int
    unit: str
    """In the singular."""

    @property
    def millis(self) -> int:
        return self.value * UNITS[self.unit]


@dataclass(frozen=True)
class Property(Node):
    """An entry of WITH (…). Names are upper case, unless they are strings."""

    name: str
    value: Literal
    is_text: bool = False
    """Whether the name was written as a string."""


@dataclass(frozen=True)
class ColumnDefinition(Node):
    name: str
    type: TypeName
    constraint: str | None = None
    """KEY, PRIMARY KEY, HEADERS or HEADER."""
    header: str | None = None
    """Of HEADER('header')."""


@dataclass(frozen=True)
class Statement(Node):
    """Something that ends with a semicolon."""


# Queries


@dataclass(frozen=True)
class SelectItem(Node):
    """One item: an expression, `*` (no expression), `source.*`, or all fields of a struct."""

    expression: Expression | None = None
    alias: str | None = None
    star: bool = False
    """`*`, or `expression->*` if there is an expression."""
    source: str | None = None
    """Of `source.*`."""


@dataclass(frozen=True)
class Source(Node):
    name: str
    """Of a query in parentheses: its alias."""
    alias: str | None = None
    query: Query | None = None
    """(SELECT …) AS alias."""


@dataclass(frozen=True)
class Within(Node):
    before: Duration
    after: Duration | None = None
    """None: as long as before."""
    grace: Duration | None = None


@dataclass(frozen=True)
class Join(Node):
    kind: str
    """INNER, LEFT, RIGHT or FULL."""
    right: Source
    criteria: Expression
    within: Within | None = None


@dataclass(frozen=True)
class Window(Node):
    kind: str
    """TUMBLING, HOPPING or SESSION."""
    size: Duration
    advance: Duration | None = None
    retention: Duration | None = None
    grace: Duration | None = None


@dataclass(frozen=True)
class StartAt(Node):
    """START AT BEGINNING, END, OFFSET n or TIMESTAMP '…'."""

    what: str
    value: int | str | None = None


@dataclass(frozen=True)
class AsOf(Node):
    """AS OF TIMESTAMP '…' behind a source."""

    value: str


@dataclass(frozen=True)
class Ordered(Node):
    expression: Expression
    descending: bool = False


@dataclass(frozen=True)
class Query(Statement):
    items: tuple[SelectItem, ...]
    source: Source
    joins: tuple[Join, ...] = ()
    window: Window | None = None
    where: Expression | None = None
    group_by: tuple[Expression, ...] = ()
    partition_by: tuple[Expression, ...] = ()
    having: Expression | None = None
    emit: str | None = None
    """CHANGES or FINAL."""
    limit: int | None = None
    distinct: bool = False
    order_by: tuple[Ordered, ...] = ()
    start_at: StartAt | None = None
    as_of: AsOf | None = None
    """The source as it was at a time."""
    union: tuple[Query, ...] = ()
    """What follows UNION ALL."""


# Sources


@dataclass(frozen=True)
class CreateSource(Statement):
    """CREATE STREAM or TABLE with columns, or with columns that are inferred."""

    kind: str
    name: str
    columns: tuple[ColumnDefinition, ...] = ()
    properties: tuple[Property, ...] = ()
    or_replace: bool = False
    if_not_exists: bool = False
    is_source: bool = False
    """CREATE SOURCE …: read only."""


@dataclass(frozen=True)
class CreateAsSelect(Statement):
    kind: str
    name: str
    query: Query
    properties: tuple[Property, ...] = ()
    or_replace: bool = False
    if_not_exists: bool = False


@dataclass(frozen=True)
class AlterSource(Statement):
    kind: str
    name: str
    columns: tuple[ColumnDefinition, ...]


@dataclass(frozen=True)
class DropSource(Statement):
    kind: str
    name: str
    if_exists: bool = False
    delete_topic: bool = False
    cascade: bool = False
    """Whatever reads it goes with it."""


@dataclass(frozen=True)
class CreateType(Statement):
    name: str
    type: TypeName
    if_not_exists: bool = False


@dataclass(frozen=True)
class DropType(Statement):
    name: str
    if_exists: bool = False


# Data


@dataclass(frozen=True)
class InsertSelect(Statement):
    target: str
    query: Query
    properties: tuple[Property, ...] = ()


@dataclass(frozen=True)
class InsertValues(Statement):
    target: str
    columns: tuple[str, ...]
    values: tuple[Expression, ...]


@dataclass(frozen=True)
class DeleteRows(Statement):
    """DELETE FROM a table WHERE its key is …: a tombstone."""

    target: str
    where: Expression


# Functions


@dataclass(frozen=True)
class CreateFunction(Statement):
    name: str
    parameters: tuple[tuple[str, TypeName], ...]
    returns: TypeName
    language: str
    text: str | None
    """None: the handler is one of an installed package."""
    properties: tuple[Property, ...] = ()
    kind: str = "SCALAR"
    """SCALAR, AGGREGATE or TABLE."""
    or_replace: bool = False
    if_not_exists: bool = False


@dataclass(frozen=True)
class DropFunction(Statement):
    name: str
    if_exists: bool = False


# Running queries


@dataclass(frozen=True)
class ManageQuery(Statement):
    """TERMINATE, PAUSE or RESUME."""

    action: str
    query: str | None
    """None: ALL."""


@dataclass(frozen=True)
class Explain(Statement):
    query: str | None = None
    statement: Statement | None = None
    analyze: bool = False


# Looking


@dataclass(frozen=True)
class Show(Statement):
    """LIST or SHOW of PROPERTIES, TOPICS, STREAMS, TABLES, QUERIES, FUNCTIONS, CONNECTORS, PLUGINS, TYPES or
    VARIABLES."""

    what: str
    extended: bool = False
    all: bool = False
    """ALL TOPICS: hidden ones, too."""
    connector_kind: str | None = None
    """SOURCE or SINK."""
    name: str | None = None
    """Of SHOW CREATE STREAM, TABLE or FUNCTION; `what` is then CREATE and the kind."""


@dataclass(frozen=True)
class Describe(Statement):
    """A source, a FUNCTION, a CONNECTOR, or all STREAMS or TABLES."""

    what: str
    name: str | None = None
    extended: bool = False


@dataclass(frozen=True)
class PrintTopic(Statement):
    topic: str
    from_beginning: bool = False
    interval: int | None = None
    limit: int | None = None


# Settings


@dataclass(frozen=True)
class SetProperty(Statement):
    name: str
    value: str


@dataclass(frozen=True)
class UnsetProperty(Statement):
    name: str


@dataclass(frozen=True)
class AlterSystem(Statement):
    name: str
    value: str


@dataclass(frozen=True)
class DefineVariable(Statement):
    name: str
    value: str


@dataclass(frozen=True)
class UndefineVariable(Statement):
    name: str


# Connectors


@dataclass(frozen=True)
class CreateConnector(Statement):
    kind: str
    name: str
    properties: tuple[Property, ...]
    if_not_exists: bool = False


@dataclass(frozen=True)
class DropConnector(Statement):
    name: str
    if_exists: bool = False


# Asserting


@dataclass(frozen=True)
class AssertTopic(Statement):
    topic: str
    properties: tuple[Property, ...] = ()
    timeout: Duration | None = None
    exists: bool = True


@dataclass(frozen=True)
class AssertSchema(Statement):
    subject: str | None = None
    id: int | None = None
    timeout: Duration | None = None
    exists: bool = True


@dataclass(frozen=True)
class AssertValues(Statement):
    source: str
    columns: tuple[str, ...]
    values: tuple[Expression, ...]
    tombstone: bool = False
    """ASSERT NULL VALUES: only the key's values are given."""


@dataclass(frozen=True)
class AssertSource(Statement):
    source: CreateSource


@dataclass(frozen=True)
class RunScript(Statement):
    path: str
