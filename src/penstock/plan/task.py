"""Runs a plan: raw records in, raw records out, with stores in memory that a host saves and loads.

No thread, no clock, no I/O: the test driver and Spark's tasks drive the same object. `step` takes records
of several partitions as a batch, in Kafka's order: offsets within a partition, across partitions the
smallest head timestamp first.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from random import Random
from typing import Any, Final, NamedTuple

from penstock.expressions.environment import Environment, ExpressionFailure
from penstock.expressions.python_functions import PythonRuntime
from penstock.kernels.cells import Cells, Entry, OnPut
from penstock.kernels.context import Context, Getter, Process, TaskState
from penstock.kernels.emitted_rows import EmittedRows
from penstock.kernels.expressions import NeedsSpark
from penstock.kernels.operation import Operation, TableOperation
from penstock.kernels.record import UNKNOWN_TIME, Metadata, Record
from penstock.kernels.serdes import SerdeError, from_bytes, to_bytes
from penstock.kernels.timestamps import OWN_TIME, Incoming
from penstock.plan.batch_paths import BatchPath, batch_path, metadata_of
from penstock.plan.failures import Failure, OnFailure, ProcessingError, fail_processing, failing_node
from penstock.plan.nodes import Node, Sink, Source
from penstock.plan.plan import Plan
from penstock.plan.punctuation import Punctuators
from penstock.plan.raw_records import (
    OnBadRecord,
    Produced,
    ProducedColumns,
    RawRecord,
    RecordColumns,
    fail,
    merged,
)
from penstock.plan.row_functions import bound_operation

PUNCTUATORS: Final = "punctuators"  # the mark under which their next times are saved


OnExpressionFailure = Callable[[str, ExpressionFailure], Produced | None]
"""Takes the node and what failed in an expression of it that gives null then; may give a record for the
processing log."""


def ignore_failure(node: str, failure: ExpressionFailure) -> Produced | None:
    """For hosts that keep no processing log."""
    return None


class Snapshot(NamedTuple):
    """All state of a task, or what changed in it: what a host keeps, by version."""

    stores: dict[str, list[Entry]]
    marks: dict[str, dict[str, int]]  # of nodes and stores, by name
    stream_time: int
    partition_times: dict[tuple[str, int], int]


class _Inlet(NamedTuple):
    """How the records of a topic come in."""

    source: Source
    process: Process
    own_time: bool  # a record counts with the time that it has
    batch_path: BatchPath | None  # takes many records at once


class _Views:
    """Rows of tables by their nodes' names, each made when it is first asked for."""

    def __init__(self, plan: Plan, stores: Mapping[str, Any]) -> None:
        self._plan, self._stores = plan, stores
        self._known: dict[str, Getter] = {}

    def __call__(self, name: str) -> Getter:
        if name not in self._known:
            node = self._plan.by_name[name]
            assert isinstance(node.operation, TableOperation)
            self._known[name] = node.operation.view(self._stores, node.parents, self)
        return self._known[name]


class Task:
    """A plan that runs; one for each partition of a sub-topology, or one for everything."""

    def __init__(
        self,
        plan: Plan,
        *,
        application_id: str,
        emit_every_update: bool = True,
        now_ms: int = 0,
        on_put: OnPut | None = None,
        on_bad_record: OnBadRecord = fail,
        on_failure: OnFailure = fail_processing,
        partitions: Mapping[str, int] | None = None,
        shared: Mapping[str, Cells] | None = None,
        on_expression_failure: OnExpressionFailure = ignore_failure,
        random: Random | None = None,
        python: PythonRuntime | None = None,
    ) -> None:
        """`shared` are stores that the host keeps for all tasks: those of global tables. `random` is for
        expressions; without one, those that draw a number fail. `python` executes functions of users.
        """
        refuse_column_expressions(plan)
        self.plan = plan
        self.state = TaskState(application_id, now_ms=now_ms, caching=not emit_every_update)
        self.punctuators = Punctuators()
        self.outputs: list[Produced] = []
        self._on_bad_record, self._on_failure = on_bad_record, on_failure
        self._on_expression_failure, self._random, self._python = on_expression_failure, random, python
        self._raw: RawRecord | None = None  # the record that is being processed
        self._partitions = partitions or {}
        self._partition_times: dict[tuple[str, int], int] = {}
        self._marks: dict[str, dict[str, int]] = {}
        shared = shared or {}
        self.cells = {
            spec.name: Cells(
                spec.name,
                on_put if spec.logging else None,
                plan.changelog_name(spec.name, application_id),
            )
            for spec in plan.used_stores
            if spec.name not in shared
        }
        cells = {**self.cells, **shared}
        self.stores = {
            spec.name: spec.make(cells[spec.name], self.state, self._marks.setdefault(spec.name, {}))
            for spec in plan.used_stores
        }
        self._global_stores = global_stores(plan)
        self._views = _Views(plan, self.stores)
        self._emitted_views = self._views
        if self.state.caching:
            emitted = {
                name: EmittedRows(store, self.state.held.setdefault(name, {}))
                for name, store in self.stores.items()
            }
            self._emitted_views = _Views(plan, emitted)
        self._contexts = [self._context(node) for node in plan.nodes]
        self._processes: dict[str, Process] = {}
        self._bind()
        self._sources = [(node, source) for node, source in plan.sources]
        self._source_of: dict[str, tuple[Node, Source]] = {}
        self._inlets: dict[str, _Inlet] = {}

    def _context(self, node: Node) -> Context:
        context = Context(node.name, self.state, marks=self._marks.setdefault(f"node {node.name}", {}))
        context.stores = {name: self.stores[name] for name in (*self._global_stores, *node.stores)}
        views = self._emitted_views if node.operation.reads_emitted_rows() else self._views
        context.views = {table: views(table) for table in node.operation.tables_read()}

        def schedule(interval: int, kind: str, callback: Callable[[int], None]) -> Callable[[], None]:
            return self.punctuators.schedule(interval, kind, callback, self.state.now_ms, node.name)

        context.schedule = schedule
        return context

    def _bind(self) -> None:
        """Children first, so that a parent finds them when it forwards."""
        for context in self._contexts:
            operation = self.plan.by_name[context.name].operation
            if isinstance(operation, Sink):
                self._processes[context.name] = self._sink(operation)
            else:
                self._processes[context.name] = self._bound(self.plan.by_name[context.name]).bind(context)
            if self._on_failure is not fail_processing:
                self._processes[context.name] = self._guarded(context.name, self._processes[context.name])
        for context in self._contexts:
            children = self.plan.children[context.name]
            context.children = [(child, self._processes[child]) for child in children]

    def _bound(self, node: Node) -> Operation:
        return bound_operation(node.operation, self._environment(node.name))

    def _environment(self, node: str) -> Environment:
        """What the expressions of a node get from outside: the host's clock, and its log of failures."""
        return Environment(
            lambda failure: self._expression_failed(node, failure),
            lambda: self.state.now_ms,
            self._random,
            self._python,
        )

    def _expression_failed(self, node: str, failure: ExpressionFailure) -> None:
        letter = self._on_expression_failure(node, failure)
        if letter is not None:
            self.outputs.append(letter)

    def _guarded(self, node: str, process: Process) -> Process:
        """As in Kafka, a node that fails loses its record; the record's other ways through the topology go
        on."""

        def guarded(record: Record) -> None:
            try:
                process(record)
            except Exception as error:
                self._handle(error, node)

        return guarded

    def _handle(self, error: Exception, node: str) -> None:
        """Ask the handler what becomes of a record on which a node failed."""
        if isinstance(error, ProcessingError):
            raise error
        where, raw = self.state.metadata, self._raw
        if raw is not None and (where is None or raw[:3] != where[:3]):
            raw = None  # a change that was held back since an earlier record
        letter = self._on_failure(Failure(error, node, self.plan.by_name[node].origin, where, raw))
        if letter is not None:
            self.outputs.append(letter)

    def _sink(self, sink: Sink) -> Process:
        outputs, plan, application_id = self.outputs, self.plan, self.state.application_id
        fixed = None if sink.topic is None else plan.topic_name(sink.topic, application_id)

        def process(record: Record) -> None:
            topic = fixed
            if topic is None:
                assert sink.extractor is not None
                topic = sink.extractor(record.key, record.value, self.state.metadata)
            if record.timestamp < 0:
                raise ValueError(f"a record for {topic} has the timestamp {record.timestamp}")
            raw_key = to_bytes(sink.key_serde, topic, record.key)
            raw_value = to_bytes(sink.value_serde, topic, record.value)
            partition = None
            if sink.partitioner is not None:
                count = self._partitions.get(topic, 1)
                partition = sink.partitioner(topic, record.key, record.value, count)
            outputs.append(Produced(topic, raw_key, raw_value, record.timestamp, record.headers, partition))

        return process

    def process(self, raw: RawRecord) -> None:
        """Take one record all the way through, then let punctuators of stream time have their turn."""
        topic, partition, offset, own_time, raw_key, raw_value, headers = raw
        inlet = self._inlets.get(topic) or self._inlet(topic)
        source = inlet.source
        try:
            key = from_bytes(source.key_serde, topic, raw_key)
            value = from_bytes(source.value_serde, topic, raw_value)
        except SerdeError as error:
            letter = self._on_bad_record(raw, error)
            if letter is not None:
                self.outputs.append(letter)
            return
        self._raw, state, times, place = raw, self.state, self._partition_times, (topic, partition)
        partition_time = times.get(place, UNKNOWN_TIME)
        try:  # in one piece: this runs for every record
            if inlet.own_time and own_time >= 0:
                timestamp = own_time
            else:
                state.metadata = Metadata(topic, partition, offset, own_time, headers)
                incoming = Incoming(topic, partition, offset, own_time, key, value, headers, state.now_ms)
                timestamp = source.extractor(incoming, partition_time)
            if timestamp > partition_time:
                times[place] = timestamp
            if timestamp < 0:
                return
            state.metadata = Metadata(topic, partition, offset, timestamp, headers)
            if source.is_global:
                inlet.process(Record(key, value, timestamp, headers))
                return
            if timestamp > state.stream_time:
                state.stream_time = timestamp
            inlet.process(Record(key, value, timestamp, headers))
            self.punctuators.run("stream_time", state.stream_time)
        except Exception as error:
            self._handle(error, failing_node(error.__traceback__, self.source_of(topic)[0].name))

    def take(self, columns: RecordColumns) -> list[ProducedColumns]:
        """Take records of one topic, at once where the plan has a path for it. What that path produced is
        returned; everything else is among the outputs.
        """
        if not columns.keys:
            return []
        inlet = self._inlets.get(columns.topic) or self._inlet(columns.topic)
        if inlet.batch_path is not None and not self.punctuators.dues and min(columns.timestamps) >= 0:
            outputs = len(self.outputs)
            try:
                produced = inlet.batch_path(columns)
            except Exception:  # one by one it is found out which record failed, and what becomes of it
                del self.outputs[outputs:]
            else:
                self._note_times(columns)
                return produced
        for raw in columns.records():
            self.process(raw)
        return []

    def _note_times(self, columns: RecordColumns) -> None:
        """What `process` notes of each record."""
        topic, times, last = columns.topic, self._partition_times, len(columns.keys) - 1
        newest: dict[int, int] = {}
        for partition, timestamp in zip(columns.partitions, columns.timestamps, strict=True):
            if timestamp > newest.get(partition, UNKNOWN_TIME):
                newest[partition] = timestamp
        for partition, timestamp in newest.items():
            times[topic, partition] = max(times.get((topic, partition), UNKNOWN_TIME), timestamp)
        self.state.stream_time = max(self.state.stream_time, *newest.values())
        self.state.metadata = metadata_of(columns, last)
        self._raw = columns.record(last)

    def extracts_times(self, topic: str) -> bool:
        """Whether records of a topic count with another time than their own."""
        return not (self._inlets.get(topic) or self._inlet(topic)).own_time

    def times(self, records: Sequence[RawRecord]) -> list[int]:
        """The times by which records are merged with those of other partitions: what the extractor will say
        of each when those before it have been taken. Records of a partition stand together and in order.
        """
        found: list[int] = []
        place, newest = ("", -1), UNKNOWN_TIME
        for raw in records:
            if raw[:2] != place:
                place = raw[:2]
                newest = self._partition_times.get(place, UNKNOWN_TIME)
            found.append(self._time(raw, newest))
            newest = max(newest, found[-1])
        return found

    def _time(self, raw: RawRecord, partition_time: int) -> int:
        inlet = self._inlets.get(raw.topic) or self._inlet(raw.topic)
        if inlet.own_time:
            return raw.timestamp
        try:
            key = from_bytes(inlet.source.key_serde, raw.topic, raw.key)
            value = from_bytes(inlet.source.value_serde, raw.topic, raw.value)
        except SerdeError:  # a poison pill, which `process` will meet
            return raw.timestamp
        incoming = Incoming(*raw[:4], key, value, raw.headers, self.state.now_ms)
        return inlet.source.extractor(incoming, partition_time)

    def _inlet(self, topic: str) -> _Inlet:
        node, source = self.source_of(topic)
        own_time = isinstance(source.extractor, OWN_TIME)
        path = None
        if own_time and not source.is_global:
            contexts = {context.name: context for context in self._contexts}
            path = batch_path(self.plan, node, source, contexts, self._bound, self.state.application_id)
        inlet = self._inlets[topic] = _Inlet(source, self._processes[node.name], own_time, path)
        return inlet

    def source_of(self, topic: str) -> tuple[Node, Source]:
        """The source that reads a topic, internal ones by their full name."""
        known = self._source_of.get(topic)
        if known is None:
            prefix = re.escape(f"{self.state.application_id}-")
            short = re.sub(f"^{prefix}", "", topic)
            name = short if short in self.plan.internal_names else topic
            matching = [pair for pair in self._sources if pair[1].reads(name)]
            if not matching:
                raise KeyError(f"no source of the topology reads topic {topic}")
            known = self._source_of[topic] = matching[0]
        return known

    def reads(self, topic: str) -> bool:
        try:
            self.source_of(topic)
        except KeyError:
            return False
        return True

    def step(self, records: Iterable[RawRecord]) -> list[Produced]:
        """Process a batch and give what it produced. Without `emit_every_update` each row changes once at
        most.
        """
        for raw in merged(records, self.times):
            self.process(raw)
        self.flush()
        return self.take_outputs()

    def flush(self) -> None:
        """Forward the changes that were held back until the end of the step, upstream tables first."""
        if not self.state.caching:
            return
        for context in self._contexts:
            for emitter in context.emitters:
                try:
                    emitter.flush()
                except Exception as error:
                    self._handle(error, failing_node(error.__traceback__, context.name))

    def advance_wall_clock(self, now_ms: int) -> None:
        self.state.now_ms = now_ms
        self.state.metadata = self._raw = None
        try:
            self.punctuators.run("wall_clock_time", now_ms)
        except Exception as error:
            self._handle(error, failing_node(error.__traceback__, self.plan.nodes[0].name))

    def take_outputs(self) -> list[Produced]:
        outputs = list(self.outputs)
        self.outputs.clear()  # the sinks hold this very list
        return outputs

    def changelog_entries(self) -> dict[str, list[Entry]]:
        """The entries for the changelogs among the changes that `take_changes` will give, by store."""
        logged = (spec.name for spec in self.plan.used_stores if spec.logging and spec.name in self.cells)
        return {name: found for name in logged if (found := self.cells[name].changelog_entries())}

    def take_changes(self) -> Snapshot:
        """What changed in the state since this was last asked."""
        return self._saved({name: cells.take_changes() for name, cells in self.cells.items()})

    def snapshot(self) -> Snapshot:
        return self._saved({name: cells.snapshot() for name, cells in self.cells.items()})

    def _saved(self, stores: dict[str, list[Entry]]) -> Snapshot:
        marks = {name: dict(known) for name, known in self._marks.items() if known}
        if self.punctuators.dues:
            marks[PUNCTUATORS] = self.punctuators.dues
        return Snapshot(stores, marks, self.state.stream_time, dict(self._partition_times))

    def load(self, saved: Sequence[Snapshot]) -> None:
        """Lay a snapshot and the changes after it over the state."""
        for snapshot in saved:
            for name, entries in snapshot.stores.items():
                self.cells[name].load(entries)
            for name, marks in snapshot.marks.items():
                if name == PUNCTUATORS:
                    self.punctuators.load(marks)
                elif name in self._marks:
                    self._marks[name].update(marks)
            self.state.stream_time = snapshot.stream_time
            self._partition_times.update(snapshot.partition_times)
        for store in self.stores.values():
            if hasattr(store, "loaded"):
                store.loaded()

    def close(self) -> None:
        for context in self._contexts:
            if context.close is not None:
                context.close()


def refuse_column_expressions(plan: Plan) -> None:
    """A task is Python alone; only Spark's JVM computes column expressions."""
    for node, expression in plan.column_expressions:
        where = f" ({node.origin})" if node.origin else ""
        raise NeedsSpark(
            f"{node.name}{where} computes {expression.sql!r}, a Spark expression: that needs a JVM"
        )


def global_stores(plan: Plan) -> tuple[str, ...]:
    """Stores of global tables, which every node may read."""
    sources = {node.name for node, source in plan.sources if source.is_global}
    return tuple(store for node in plan.nodes if sources & set(node.parents) for store in node.stores)
