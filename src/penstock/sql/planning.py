"""Plans of queries. So far: a stream filtered, projected and given another key, into a stream.

The steps have ksqlDB's names, so that topics and stores do not change their names when a query is replaced.
All functions of the plan are expressions, so it can be written and read without code, but for the serdes,
which are the caller's.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from penstock.kernels.operation import Operation
from penstock.kernels.serdes import Serde
from penstock.kernels.stateless import Filter, MapValues
from penstock.plan.nodes import Node, Sink, Source
from penstock.plan.plan import Plan
from penstock.plan.row_functions import RowExpression, RowProjection
from penstock.plan.row_schemas import ColumnSchema, Format, RowSchema
from penstock.plan.row_steps import ColumnTime, MakeRow, SplitRow
from penstock.sql import statements as s
from penstock.sql.errors import SqlError
from penstock.sql.formats import check_columns
from penstock.sql.properties import BOTH, Properties
from penstock.sql.query_analysis import AnalysedQuery, analyse_query
from penstock.sql.sources import Catalogue, DataSource

SerdeOf = Callable[[Format, Sequence[ColumnSchema], bool], Serde[Any]]
"""From a format, its columns and whether they are the key to what reads and writes them."""


def plan_create_as(
    node: s.CreateAsSelect, catalogue: Catalogue, serde_of: SerdeOf
) -> tuple[DataSource, Plan]:
    """The stream that CREATE STREAM … AS SELECT makes, and the plan that fills it."""
    query = analyse_query(node.query, catalogue, persistent=node.name)
    _check_planned(node, query)
    sink = _sink(node, query)
    return sink, _plan(query, sink, serde_of)


def _check_planned(node: s.CreateAsSelect, query: AnalysedQuery) -> None:
    source = query.source
    if node.kind == "TABLE" and source.kind == "STREAM":
        raise SqlError(
            "Invalid result type. Your SELECT query produces a STREAM. Please use CREATE STREAM AS SELECT "
            "statement instead.",
            *node.at,
        )
    missing = {
        "tables": source.kind == "TABLE",
        "windowed keys": source.window is not None,
        "HEADERS columns": bool(source.headers),
        "LIMIT": query.limit is not None,
        "EMIT FINAL": query.emit == "FINAL",
    }
    for what, there in missing.items():
        if there:
            raise SqlError(f"{what} cannot be planned yet", *node.query.at)


def _sink(node: s.CreateAsSelect, query: AnalysedQuery) -> DataSource:
    """What WITH does not say is taken from the source."""
    given = Properties(node.properties, BOTH, node.at)
    old = query.source.schema
    key_name, value_name = given.formats(old.key_format.name, old.value_format.name)
    by_name = {column.name: ColumnSchema(column.name, column.expression.type) for column in query.columns}
    key = tuple(by_name[name] for name in query.key)
    value = tuple(column for name, column in by_name.items() if name not in query.key)
    if not value:
        raise SqlError(
            "The projection contains no value columns. Add one, or AS_VALUE(a key column)", *node.at
        )
    schema = RowSchema(
        key, value, given.format("KEY", key_name, len(key)), given.format("VALUE", value_name, len(value))
    )
    check_columns(schema.key_format, key, given.place("KEY_FORMAT"), key=True)
    check_columns(schema.value_format, value, given.place("VALUE_FORMAT"), key=False)
    return DataSource(node.kind, node.name, given.text("KAFKA_TOPIC") or node.name, schema)


def _plan(query: AnalysedQuery, sink: DataSource, serde_of: SerdeOf) -> Plan:
    source = query.source
    old, new = source.schema, sink.schema
    steps: list[tuple[str, Operation]] = [
        ("KafkaTopic_Left-Source", _source(source, serde_of)),
        ("KafkaTopic_Left-Rows", MakeRow(_names(old.key), _names(old.value))),
    ]
    if query.where is not None:
        steps.append(("WhereFilter", Filter(RowExpression(query.where, null_on_failure=True))))
    columns = tuple((column.name, column.expression) for column in query.columns)
    steps.append(("Project", MapValues(RowProjection(columns))))
    steps.append(("Project-Record", SplitRow(_names(new.key), _names(new.value))))
    serdes = serde_of(new.key_format, new.key, True), serde_of(new.value_format, new.value, False)
    steps.append((f"{sink.name}-Sink", Sink(*serdes, sink.topic, schema=new)))
    nodes: list[Node] = []
    for name, operation in steps:
        nodes.append(Node(name, operation, (nodes[-1].name,) if nodes else ()))
    return Plan(tuple(nodes)).validate()


def _source(source: DataSource, serde_of: SerdeOf) -> Source:
    schema = source.schema
    key, value = (
        serde_of(schema.key_format, schema.key, True),
        serde_of(schema.value_format, schema.value, False),
    )
    if source.timestamp_column is None:
        return Source(key, value, (source.topic,), schema=schema)
    time = ColumnTime(source.timestamp_column, _names(schema.key), source.timestamp_format)
    return Source(key, value, (source.topic,), extractor=time, schema=schema)


def _names(columns: tuple[ColumnSchema, ...]) -> tuple[str, ...]:
    return tuple(column.name for column in columns)
