"""A query's steps from its sources to its projection, and the sink behind them."""

from __future__ import annotations

from penstock.kernels.lifetimes import ExpiringSpec, ExpiringTable
from penstock.kernels.stateless import Filter, FlatMapValues, MapValues, SelectKey, ToStream
from penstock.kernels.tables import TableFilter, TableMapValues
from penstock.plan.nodes import Sink
from penstock.plan.plain_serde import PlainSerde
from penstock.plan.plan import Plan
from penstock.plan.row_functions import RowExpression, RowProjection, WithRow
from penstock.plan.row_joins import KeyedRow
from penstock.plan.row_keys import RowKey
from penstock.plan.row_steps import ExplodeRow, MakeRow, SplitRow
from penstock.plan.row_times import WrittenTime
from penstock.sql.analysis.flattened import Flattened
from penstock.sql.analysis.query import AnalysedQuery
from penstock.sql.analysis.relations import From, FromSource
from penstock.sql.lowering.graph import Graph, Rows, SerdeOf
from penstock.sql.lowering.grouping import lower_grouping
from penstock.sql.lowering.joins import lower_join
from penstock.sql.lowering.sources import lower_source, names, prefixed, windowed
from penstock.sql.sources import DataSource


def plan_query(query: AnalysedQuery, sink: DataSource, serde_of: SerdeOf) -> Plan:
    """The plan that fills a sink with a query's rows."""
    graph = Graph(serde_of)
    shared = _shared_topics(query)
    records = [
        _records(graph, each, lower_query(graph, each, shared, sink.lifetime_ms), sink)
        for each in (query, *query.union)
    ]
    _sink(graph, records, sink)
    return graph.plan()


def lower_query(
    graph: Graph, query: AnalysedQuery, shared: frozenset[str], lifetime_ms: int | None = None
) -> Rows:
    """The rows of the result: columns of the value, by the record's key. `shared` are topics that several
    sources of the whole query read; `lifetime_ms` is how long rows of a table stay."""
    rows = _from(graph, query.tree, shared, 0)
    groups_stream = query.grouping is not None and not rows.is_table
    if query.where is not None:
        condition = RowExpression(query.where, null_on_failure=True)
        filtering = TableFilter(predicate=condition) if rows.is_table else Filter(WithRow(condition))
        rows = graph.then(rows, "WhereFilter", filtering)
    if query.tables:
        rows = graph.then(rows, "FlatMap", FlatMapValues(ExplodeRow(query.tables)))
    if query.partition_by is not None:
        rows = graph.then(rows, "PartitionBy", SelectKey(RowKey(query.partition_by)))
    if query.grouping is not None:
        final = query.emit == "FINAL"
        rows = lower_grouping(graph, query.grouping, query.tree, rows, final=final, lifetime_ms=lifetime_ms)
    if query.flattened is not None:
        rows = _flattened(graph, query.flattened, rows)
    columns = RowProjection(tuple((column.name, column.expression) for column in query.value))
    step = TableMapValues(function=columns) if rows.is_table else MapValues(columns)
    rows = graph.then(rows, "Project", step)
    if lifetime_ms is None or groups_stream:
        return rows
    store = graph.add_store(ExpiringSpec("Project-Lifetime", PlainSerde(), PlainSerde()))
    return graph.then(rows, "Project-Lifetime", ExpiringTable(store=store, lifetime_ms=lifetime_ms))


def _flattened(graph: Graph, made: Flattened, rows: Rows) -> Rows:
    """Groups as rows of a stream, with the time and the key that they had before they were grouped."""
    node = graph.add("Flatten-ToStream", ToStream(), rows.node)
    rows = Rows(node, False, rows.sources)
    condition = RowExpression(made.condition, null_on_failure=True)
    rows = graph.then(rows, "Flatten-Filter", Filter(WithRow(condition)))
    rows = graph.then(rows, "Flatten-Rows", MapValues(RowProjection(made.row)))
    if made.timed:
        rows = graph.then(rows, "Flatten-Time", WrittenTime("ROWTIME"))
    return graph.then(rows, "Flatten-Key", SelectKey(RowKey(made.key)))


def _shared_topics(query: AnalysedQuery) -> frozenset[str]:
    topics = [source.topic for source in query.sources]
    return frozenset(topic for topic in topics if topics.count(topic) > 1)


def _from(graph: Graph, tree: From, shared: frozenset[str], depth: int) -> Rows:
    if isinstance(tree, FromSource):
        side = "Left" if depth == 0 else f"Left-{depth}"
        return _leaf(graph, tree, f"KafkaTopic_{side}", shared)
    left = _from(graph, tree.left, shared, depth)
    place = len(tree.left.leaves)
    suffix = "" if place == 1 else f"-{place}"
    right = _leaf(graph, tree.right, f"KafkaTopic_Right{suffix}", shared)
    return lower_join(graph, tree, left, right, f"Join{suffix}")


def _leaf(graph: Graph, leaf: FromSource, name: str, shared: frozenset[str]) -> Rows:
    inner = leaf.source.query
    if inner is None:
        return lower_source(graph, leaf, name, shared=leaf.source.topic in shared)
    rows = lower_query(graph, inner, shared)
    if (
        inner.partition_by is not None or inner.flattened is not None
    ):  # its rows have another key than their partition
        rows = graph.repartition(rows, f"{name}-Inner")
    key, value = names(leaf.source.schema.key), names(leaf.source.schema.value)
    if rows.is_table:
        rows = graph.then(rows, f"{name}-Rows", TableMapValues(function=KeyedRow(key), with_key=True))
    else:
        rows = graph.then(rows, f"{name}-Rows", MakeRow(key, value))
    return prefixed(graph, rows, leaf, name)


def _records(graph: Graph, query: AnalysedQuery, rows: Rows, sink: DataSource) -> Rows:
    """Rows of the result as records of the sink."""
    if rows.is_table:
        rows = graph.then(rows, "Project-ToStream", ToStream())
    schema = sink.schema
    split = SplitRow(names(schema.value), names(schema.key), tuple(column.name for column in query.value))
    rows = graph.then(rows, "Project-Record", split)
    if sink.timestamp_column is not None:
        time = WrittenTime(sink.timestamp_column, names(schema.key), sink.timestamp_format)
        rows = graph.then(rows, "Project-Time", time)
    return rows


def _sink(graph: Graph, records: list[Rows], sink: DataSource) -> None:
    schema = sink.schema
    key = windowed(graph.serde_of(schema.key_format, schema.key, True), sink.window)
    value = graph.serde_of(schema.value_format, schema.value, False)
    graph.add(
        f"{sink.name}-Sink", Sink(key, value, sink.topic, schema=schema), *(each.node for each in records)
    )
