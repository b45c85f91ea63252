"""Ways through a plan that take all records of a topic at once, where that gives what one by one gives.

There are two. A topic leads through operators without state to sinks, each with a topic of its own; or
straight into an aggregation that holds its changes back until the step ends. On any error nothing has
happened yet: the task takes the same records one by one, and finds the record that failed and the handler
for it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from penstock.kernels.absorbing import KeyedRows, TakesRows, absorber
from penstock.kernels.absorbing_windows import window_absorber
from penstock.kernels.context import Context
from penstock.kernels.operation import Operation, Rows, RowsFunction
from penstock.kernels.record import Metadata
from penstock.kernels.serdes import (
    BytesSerde,
    IntSerde,
    LongSerde,
    Serde,
    ShortSerde,
    StringSerde,
    from_bytes,
    to_bytes,
)
from penstock.plan.nodes import Node, Sink, Source
from penstock.plan.plan import Plan
from penstock.plan.raw_records import ProducedColumns, RecordColumns

BatchPath = Callable[[RecordColumns], list[ProducedColumns]]
BoundOperation = Callable[[Node], Operation]

EXACT: Final = (StringSerde, BytesSerde, ShortSerde, IntSerde, LongSerde)
"""What these read they write again as the same bytes, and none of their bytes mean null."""


class _NoPath(Exception):
    """An operator here takes records one by one."""


def batch_path(
    plan: Plan,
    node: Node,
    source: Source,
    contexts: Mapping[str, Context],
    bound: BoundOperation,
    application_id: str,
) -> BatchPath | None:
    """The path of the records that a source reads; none where there is none."""
    children = plan.children[node.name]
    if len(children) == 1:
        child = plan.by_name[children[0]]
        context = contexts[child.name]
        store: Any = context.stores.get(getattr(child.operation, "store", ""))
        taker = _taker(bound(child), store, context)
        if taker is not None and _same_bytes(source.key_serde, store.key_serde):
            is_internal = all(topic in plan.internal_names for topic in source.topics)
            return _Absorbing(source, taker, is_internal and source.pattern is None)
    try:
        sinks: list[Sink] = []
        steps = [_step(plan, plan.by_name[child], bound, application_id, sinks) for child in children]
    except _NoPath:
        return None
    topics = [sink.topic for sink in sinks]
    return _Straight(source, steps) if sinks and len(topics) == len(set(topics)) else None


def _taker(operation: Operation, store: Any, context: Context) -> TakesRows | None:
    return absorber(operation, store, context.emitters) or window_absorber(operation, store, context)


def _same_bytes(read: Serde[Any], kept: Serde[Any]) -> bool:
    return type(read) in EXACT and read == kept


class _Absorbing:
    """From a topic straight into an aggregation."""

    def __init__(self, source: Source, taker: TakesRows, is_internal: bool) -> None:
        self._source, self._take = source, taker
        # A value that is only counted is read all the same, to find those that cannot be read; but what this
        # application has written itself can be.
        is_sound = is_internal and type(source.value_serde) in EXACT
        self._reads_values = not (taker.counts_only and is_sound)

    def __call__(self, columns: RecordColumns) -> list[ProducedColumns]:
        source, topic = self._source, columns.topic
        keys: dict[Any, Any] = {
            raw: from_bytes(source.key_serde, topic, raw) for raw in dict.fromkeys(columns.keys)
        }
        values: Any = columns.values
        if self._reads_values:
            values = _read(source.value_serde, topic, columns.values)
        places: Any = range(len(values))
        needs_value = not self._take.takes_nulls
        if None in keys or (needs_value and any(value is None for value in values)):
            places = [
                at
                for at in places
                if columns.keys[at] is not None and not (needs_value and values[at] is None)
            ]

        def metadata(at: int) -> Metadata:
            return metadata_of(columns, places[at])

        self._take(
            KeyedRows(
                _at(columns.keys, places),
                _at(values, places),
                _at(columns.timestamps, places),
                _at(columns.headers, places),
                keys,
                metadata,
            )
        )
        return []


def _at(column: Any, places: Any) -> Any:
    return column if isinstance(places, range) else [column[at] for at in places]


def metadata_of(columns: RecordColumns, at: int) -> Metadata:
    return Metadata(
        columns.topic,
        columns.partitions[at],
        columns.offsets[at],
        columns.timestamps[at],
        columns.headers[at],
    )


_Step = Callable[[Rows, list[ProducedColumns]], None]


class _Straight:
    """From a topic through operators without state."""

    def __init__(self, source: Source, steps: list[_Step]) -> None:
        self._source, self._steps = source, steps

    def __call__(self, columns: RecordColumns) -> list[ProducedColumns]:
        source, topic = self._source, columns.topic
        keys = _read(source.key_serde, topic, columns.keys)
        values = _read(source.value_serde, topic, columns.values)
        rows: Rows = list(zip(keys, values, columns.timestamps, columns.headers, strict=True))
        produced: list[ProducedColumns] = []
        for step in self._steps:
            step(rows, produced)
        return produced


def _step(plan: Plan, node: Node, bound: BoundOperation, application_id: str, sinks: list[Sink]) -> _Step:
    """What a node and all behind it make of rows."""
    if isinstance(node.operation, Sink):
        sinks.append(node.operation)
        return _sink(node.operation, plan, application_id)
    function = bound(node).bind_rows()
    if function is None:
        raise _NoPath
    children = plan.children[node.name]
    following = [_step(plan, plan.by_name[child], bound, application_id, sinks) for child in children]
    return _fork(function, following)


def _fork(function: RowsFunction, following: list[_Step]) -> _Step:
    def step(rows: Rows, produced: list[ProducedColumns]) -> None:
        given = function(rows)
        for each in following:
            each(given, produced)

    return step


def _sink(sink: Sink, plan: Plan, application_id: str) -> _Step:
    if sink.topic is None or sink.partitioner is not None:
        raise _NoPath
    topic = plan.topic_name(sink.topic, application_id)

    def step(rows: Rows, produced: list[ProducedColumns]) -> None:
        if not rows:
            return
        keys, values, timestamps, headers = zip(*rows, strict=True)
        count = len(rows)
        produced.append(
            ProducedColumns(
                _written(sink.key_serde, topic, keys),
                _written(sink.value_serde, topic, values),
                [topic] * count,
                [None] * count,
                timestamps,
                headers,
            )
        )

    return step


def _read(serde: Serde[Any], topic: str, column: Any) -> list[Any]:
    if type(serde) is StringSerde:
        return [None if data is None else str(data, "utf-8") for data in column]
    if type(serde) is BytesSerde:
        return list(column)
    return [None if data is None else from_bytes(serde, topic, data) for data in column]


def _written(serde: Serde[Any], topic: str, column: Any) -> list[bytes | None]:
    if type(serde) is StringSerde:
        return [None if value is None else str.encode(value) for value in column]
    return [to_bytes(serde, topic, value) for value in column]
