"""GROUP BY: rows by their new key, aggregated in a store, and filtered by HAVING."""

from __future__ import annotations

from dataclasses import replace

from penstock.kernels.aggregates import StreamAggregate, TableAggregate, TableRepartitionMap
from penstock.kernels.lifetimes import ExpiringAggregate, ExpiringSpec
from penstock.kernels.operation import Operation
from penstock.kernels.serdes import ChangeSerde
from penstock.kernels.stateless import SelectKey
from penstock.kernels.store_specs import KeyValueSpec
from penstock.kernels.tables import TableFilter, TableMapValues
from penstock.kernels.windows import Aggregation, GroupWindows, SessionWindows, StoreSettings, TimeWindows
from penstock.plan.plain_serde import PlainSerde
from penstock.plan.row_aggregates import AggregatedRow, RowAdd, RowInitial, RowMerge, RowUndo
from penstock.plan.row_functions import RowExpression
from penstock.plan.row_keys import RowGroup, RowKey
from penstock.sql.analysis.grouping import Grouping
from penstock.sql.analysis.relations import From
from penstock.sql.analysis.windows import WindowMs
from penstock.sql.lowering.graph import Graph, Rows

STORE = "Aggregate-Aggregate-Materialize"
_PLAIN = PlainSerde()


def lower_grouping(
    graph: Graph, grouping: Grouping, tree: From, rows: Rows, *, final: bool, lifetime_ms: int | None = None
) -> Rows:
    """The rows of the groups. `final`: one for each window, when it closes. `lifetime_ms`: groups of a stream
    end when nothing came for so long."""
    if rows.is_table:
        rows = _table_groups(graph, grouping, rows)
    else:
        rows = _stream_groups(graph, grouping, tree, rows, final=final, lifetime_ms=lifetime_ms)
    names = tuple(name for name, _ in grouping.keys)
    made = AggregatedRow(grouping.calls, names, grouping.results)
    rows = graph.then(rows, "Aggregate-ToOutputSchema", TableMapValues(function=made, with_key=True))
    if grouping.having is not None:
        condition = RowExpression(grouping.having, null_on_failure=True)
        rows = graph.then(rows, "Aggregate-HavingFilter", TableFilter(predicate=condition))
    return rows


def _stream_groups(
    graph: Graph, grouping: Grouping, tree: From, rows: Rows, *, final: bool, lifetime_ms: int | None
) -> Rows:
    rows = graph.then(rows, "Aggregate-GroupBy", SelectKey(RowKey(grouping.keys, needs_all=True)))
    if not _is_key(grouping, tree):
        rows = graph.repartition(rows, "Aggregate-GroupBy")
    initial, add, merge = RowInitial(grouping.calls), RowAdd(grouping.calls), RowMerge(grouping.calls)
    step: Operation
    if lifetime_ms is not None:
        store = graph.add_store(ExpiringSpec(STORE, _PLAIN, _PLAIN))
        step = ExpiringAggregate(store=store, lifetime_ms=lifetime_ms, initializer=initial, aggregator=add)
    elif grouping.window is None:
        store = graph.add_store(KeyValueSpec(STORE, _PLAIN, _PLAIN))
        step = StreamAggregate(store=store, initializer=initial, aggregator=add)
    else:
        windows = windows_of(grouping.window)
        retention = max(grouping.window.retention or 0, windows.retention_ms)
        settings = StoreSettings(STORE, _PLAIN, _PLAIN, True, not final, (), retention)
        store = graph.add_store(windows.store_spec(settings))
        merger = merge if windows.merge else None
        aggregation = Aggregation(store, not final, final, initial, add, merger)
        step = replace(windows.operation(aggregation), close_first=True)  # type: ignore[call-arg]
    node = graph.add("Aggregate-Aggregate", step, rows.node)
    return Rows(node, True, rows.sources)


def _is_key(grouping: Grouping, tree: From) -> bool:
    """Whether rows are grouped by the key that they have."""
    wanted = [getattr(expression, "name", None) for _, expression in grouping.keys]
    return len(wanted) == len(tree.key) and all(
        name in column.names for name, column in zip(wanted, tree.key, strict=True)
    )


def _table_groups(graph: Graph, grouping: Grouping, rows: Rows) -> Rows:
    moved = TableRepartitionMap(RowGroup(grouping.keys, needs_all=True))
    rows = graph.then(rows, "Aggregate-GroupBy", moved)
    rows = graph.repartition(rows, "Aggregate-GroupBy", ChangeSerde(_PLAIN))
    store = graph.add_store(KeyValueSpec(STORE, _PLAIN, _PLAIN))
    step = TableAggregate(
        store=store,
        initializer=RowInitial(grouping.calls),
        adder=RowAdd(grouping.calls),
        subtractor=RowUndo(grouping.calls),
    )
    return Rows(graph.add("Aggregate-Aggregate", step, rows.node), True, rows.sources)


def windows_of(window: WindowMs) -> GroupWindows:
    if window.kind == "SESSION":
        return SessionWindows(window.size, window.grace)
    return TimeWindows(window.size, window.advance, window.grace)
