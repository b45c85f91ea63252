"""FROM without joins: a topic's records become the rows of a stream or a table."""

from __future__ import annotations

from typing import Any

from penstock.kernels.serdes import Serde, SessionWindowedSerde, TimeWindowedSerde
from penstock.kernels.stateless import MapValues
from penstock.kernels.store_specs import KeyValueSpec
from penstock.kernels.tables import TableMapValues, TableSource
from penstock.plan.nodes import Source
from penstock.plan.plain_serde import PlainSerde
from penstock.plan.row_joins import PrefixedRow
from penstock.plan.row_schemas import ColumnSchema
from penstock.plan.row_steps import DecodeRecord, MakeRow
from penstock.plan.row_times import ColumnTime
from penstock.sql.analysis.relations import FromSource
from penstock.sql.lowering.graph import Graph, Rows, SerdeOf
from penstock.sql.sources import DataSource, KeyWindow


def lower_source(graph: Graph, leaf: FromSource, name: str, *, shared: bool = False) -> Rows:
    """The rows of a source. `shared`: another source of the query reads the same topic, so this one reads
    bytes and decodes them in a step of its own."""
    source = leaf.source
    key, value = source_serdes(source, graph.serde_of)
    time = _extractor(source)
    options: dict[str, Any] = {} if time is None else {"extractor": time}
    if source.kind == "TABLE":
        options["reset"] = "earliest"  # a table is all its rows, wherever its query begins
    if shared:
        node = graph.bytes_of(source.topic, name)
        rows = Rows(node, False, frozenset({node}))
        rows = graph.then(rows, f"{name}-Decode", DecodeRecord(key, value, source.topic))
    else:
        node = graph.add(
            f"{name}-Source", Source(key, value, (source.topic,), schema=source.schema, **options)
        )
        rows = Rows(node, False, frozenset({node}))
    is_table = source.kind == "TABLE"
    made = MakeRow(names(source.schema.key), names(source.stored), source.headers)
    rows = graph.then(rows, f"{name}-Rows", made)
    if is_table:
        rows = _table(graph, rows, name)
    return prefixed(graph, rows, leaf, name)


def _table(graph: Graph, rows: Rows, name: str) -> Rows:
    store = graph.add_store(KeyValueSpec(f"{name}-Reduce", PlainSerde(), PlainSerde()))
    node = graph.add(f"{name}-Table", TableSource(store=store, materialized=True), rows.node)
    return Rows(node, True, rows.sources)


def prefixed(graph: Graph, rows: Rows, leaf: FromSource, name: str) -> Rows:
    if not leaf.prefix:
        return rows
    prefix = PrefixedRow(leaf.prefix)
    step = TableMapValues(function=prefix) if rows.is_table else MapValues(prefix)
    return graph.then(rows, f"{name}-PrependAlias", step)


def source_serdes(source: DataSource, serde_of: SerdeOf) -> tuple[Serde[Any], Serde[Any]]:
    schema = source.schema
    key = windowed(serde_of(schema.key_format, schema.key, True), source.window)
    return key, serde_of(schema.value_format, source.stored, False)


def windowed(key: Serde[Any], window: KeyWindow | None) -> Serde[Any]:
    """The serde of keys that have a window."""
    if window is None:
        return key
    if window.size_ms is None:
        return SessionWindowedSerde(key)
    return TimeWindowedSerde(key, window.size_ms)


def _extractor(source: DataSource) -> ColumnTime | None:
    if source.timestamp_column is None:
        return None
    return ColumnTime(source.timestamp_column, names(source.schema.key), source.timestamp_format)


def names(columns: tuple[ColumnSchema, ...]) -> tuple[str, ...]:
    return tuple(column.name for column in columns)
