"""What a Spark task does in a stage: it takes the rows of its shard in order, runs the topology, saves its
state, and gives rows to the stages after it and to the sink.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import chain
from typing import Any, Final

import numpy as np
import pyarrow as pa
from pyspark import Broadcast, TaskContext, cloudpickle

from penstock.kernels.serdes import SerdeError, from_bytes
from penstock.plan.raw_records import Produced, ProducedColumns, RawRecord
from penstock.plan.task import Snapshot, Task
from penstock.spark.host import rows, task_cache
from penstock.spark.host.program import BatchAttempt, Program
from penstock.spark.host.restoring import marks_of, marks_topic
from penstock.spark.host.rows import FINAL, RUN, SHARD, SOURCE, UNREADABLE
from penstock.spark.host.stages import Stage, SubtopologyRun
from penstock.spark.host.state_files import StateFiles
from penstock.spark.host.task_cache import CachedTask
from penstock.spark.host.traces import ShardTraces

Work = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]

_PARTITION_BITS: Final = 16
_LOOK_SELDOM: Final = (50_000, 50, 100)
_programs: dict[str, Program] = {}  # by application


def shipped(program: Program) -> bytes:
    """The program as bytes for the workers, with the user's functions."""
    return bytes(cloudpickle.dumps(program))


def work(
    program: Broadcast[bytes], application_id: str, run_id: str, stage: int, attempt: BatchAttempt
) -> Work:
    """The function for `mapInArrow` of a stage."""

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        known = _programs.get(application_id)
        if known is None or known.run_id != run_id:
            # State is many long-lived objects: a garbage collector that looks at them often costs much time.
            gc.set_threshold(*_LOOK_SELDOM)
            known = _programs[application_id] = cloudpickle.loads(program.value)
        context = TaskContext.get()
        partition = 0 if context is None else context.partitionId()
        shard = _Shard(known, attempt, stage, partition)
        take = shard.stateful if known.stages[stage].keeps_state or stage else shard.stateless
        if known.tracing is None or stage:
            return take(batches)
        traces = ShardTraces(known.tracing, application_id)
        return traces.finished(take(traces.taken(batches)))

    return run


class _Shard:
    """One Spark partition of one stage."""

    def __init__(self, program: Program, attempt: BatchAttempt, stage: int, partition: int) -> None:
        self._program, self._attempt, self._number, self._partition = program, attempt, stage, partition
        self._stage: Stage = program.stages[stage]
        self._last = stage + 1 == len(program.stages)
        self._source = (stage + 1 << _PARTITION_BITS) + partition
        self._rows_produced = 0

    def stateless(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Records as they are read: nothing depends on what other partitions have."""
        tasks: dict[int, Task] = {}
        for batch in batches:
            table = rows.with_columns(pa.Table.from_batches([batch]), source=0)
            table, given = self._after_jvm(table)
            yield from given
            for run, part in self._by_run(table):
                if run is None or run not in self._stage.runs:
                    yield from self._passed_on(part)
                    continue
                task = tasks.get(run.group)
                if task is None:
                    task = tasks[run.group] = task_cache.new_task(
                        self._program, self._attempt, run.group, self._partition
                    )
                yield from self._given(task, part)
        for task in tasks.values():
            task.close()

    def stateful(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        run, shard = self._stage.run_of(self._partition)
        table, given = self._after_jvm(self._gathered(batches))
        yield from given
        mine = None
        for found, part in self._by_run(table):
            if found == run:
                mine = part
            else:
                yield from self._passed_on(part.take(rows.source_order(part)))
        if not run.keeps_state:
            task = task_cache.new_task(self._program, self._attempt, run.group, shard)
            if mine is not None:
                yield from self._given(task, mine)
            task.close()
            return
        cached = task_cache.take(self._program, self._attempt, run, shard)
        cached.task.state.now_ms = self._attempt.now_ms
        if mine is not None:
            yield from self._taken(cached.task, mine)
        cached.task.advance_wall_clock(self._attempt.now_ms)
        cached.task.flush()
        yield from self._sent(cached.task.take_outputs())
        yield from self._logged(cached, run, shard)

    def _given(self, task: Task, table: pa.Table) -> Iterator[pa.RecordBatch]:
        """What a task without state of its own makes of rows."""
        yield from self._taken(task, table)
        task.flush()
        yield from self._sent(task.take_outputs())

    def _taken(self, task: Task, table: pa.Table) -> Iterator[pa.RecordBatch]:
        """Let a task take rows in Kafka's order. Rows of one topic may be taken at once."""
        topics = table["topic"].unique().to_pylist()
        times = partial(_times, task) if any(map(task.extracts_times, topics)) else None
        table = _in_order(table, rows.merge_order(table, times))
        if len(topics) == 1:
            for columns in task.take(rows.columns_of(table, topics[0])):
                yield from self._routed(columns.topics[0], columns)
            return
        for record in map(RawRecord._make, rows.records(table)):
            task.process(record)

    def _logged(self, cached: CachedTask, run: SubtopologyRun, shard: int) -> Iterator[pa.RecordBatch]:
        """The rows for the changelogs; the state is saved as this step's."""
        logged = cached.task.changelog_entries()
        changes = cached.task.take_changes()
        attempt, step = self._attempt, self._attempt.step(run)
        files = StateFiles(self._program.directory(run.group, shard))
        files.save(
            step, attempt.token, changes, cached.task.snapshot, lambda at: attempt.token_of(at, run.rounds)
        )
        for store, entries in logged.items():
            topic = self._program.plan.changelog_name(store, self._program.application_id)
            yield from self._logged_entries(topic, shard, entries)
        yield from self._marked(cached, run, shard, changes)
        task_cache.put_back(self._program, run, shard, cached, step, attempt.token)

    def _logged_entries(self, topic: str, shard: int, entries: list[Any]) -> Iterator[pa.RecordBatch]:
        cells = [cell for _, cell in entries]
        columns = ProducedColumns(
            [key for key, _ in entries],
            [None if cell is None else cell.value for cell in cells],
            [topic] * len(cells),
            [shard] * len(cells),
            [self._attempt.now_ms if cell is None else cell.timestamp for cell in cells],
            [()] * len(cells),
        )
        yield from self._finished(columns)

    def _marked(
        self, cached: CachedTask, run: SubtopologyRun, shard: int, changes: Snapshot
    ) -> Iterator[pa.RecordBatch]:
        marks = marks_of(changes)
        if marks == cached.marks:
            return
        cached.marks = marks
        topic = marks_topic(self._program.application_id)
        key = f"{run.group}_{shard}".encode()
        yield from self._finished(
            ProducedColumns([key], [marks], [topic], [shard], [self._attempt.now_ms], [()])
        )

    def _gathered(self, batches: Iterable[pa.RecordBatch]) -> pa.Table:
        found = [batch for batch in batches if batch.num_rows]
        if not found:
            return rows.empty()
        table = pa.Table.from_batches(found)
        return table if self._number else rows.with_columns(table, source=0)

    def _after_jvm(self, table: pa.Table) -> tuple[pa.Table, Iterator[pa.RecordBatch]]:
        """Behind expressions: the rows that are left for tasks, and the rows that are finished."""
        if RUN not in table.column_names or not self._program.computed:
            return table, iter(())
        numbers = table[RUN].to_numpy()
        unreadable = table.filter(pa.array(numbers == UNREADABLE))
        letters = self._sent(list(self._letters(unreadable)))
        if self._number:
            return table.filter(pa.array(numbers != UNREADABLE)), letters
        final = table.filter(pa.array(numbers == FINAL))
        final = rows.with_columns(final, source=self._source, shard=0)
        undecided = table.filter(pa.array(numbers < UNREADABLE)).drop_columns([RUN])
        return undecided, chain(letters, self._passed_on(final))

    def _letters(self, unreadable: pa.Table) -> Iterator[Produced]:
        """Rows that the JVM could not read are treated as every poison pill."""
        unreadable = _in_order(unreadable, rows.source_order(unreadable))
        for raw in map(RawRecord._make, rows.records(unreadable)):
            source = next(source for source in self._program.computed if source.reads(raw.topic))
            try:
                from_bytes(source.key_serde, raw.topic, raw.key)
                from_bytes(source.value_serde, raw.topic, raw.value)
            except SerdeError as error:
                letter = self._program.on_bad_record(raw, error)
                if letter is not None:
                    yield letter

    def _by_run(self, table: pa.Table) -> Iterator[tuple[SubtopologyRun | None, pa.Table]]:
        """The rows by the run that takes them. In the first stage their topic decides."""
        if not table.num_rows:
            return
        if self._number:
            numbers = table[RUN].to_numpy()
            for number in np.unique(numbers):
                run = None if number == FINAL else self._program.runs[number]
                yield run, table.take(np.flatnonzero(numbers == number))
            return
        topics = table["topic"].combine_chunks().dictionary_encode()
        takers = [self._program.run_of(topic) for topic in topics.dictionary.to_pylist()]
        of_row = np.array([-2 if run is None else run.number for run in takers])[topics.indices.to_numpy()]
        for number in np.unique(of_row[of_row >= 0]):
            chosen = table if (of_row == number).all() else table.take(np.flatnonzero(of_row == number))
            run = self._program.runs[number]
            shard = chosen["partition"].to_numpy() + run.first_shard
            yield run, rows.with_columns(chosen, run=int(number), shard=shard)

    def _passed_on(self, table: pa.Table) -> Iterator[pa.RecordBatch]:
        """Rows for a later stage, or for the sink, go on as they are."""
        yield from rows.batches(self._directed(table))

    def _sent(self, outputs: list[Produced]) -> Iterator[pa.RecordBatch]:
        by_topic: dict[str, list[Produced]] = {}
        for output in outputs:
            by_topic.setdefault(output.topic, []).append(output)
        for topic, produced in by_topic.items():
            topics, keys, values, times, headers, partitions = zip(*produced, strict=True)
            columns = ProducedColumns(keys, values, topics, partitions, times, headers)
            yield from self._routed(topic, columns)

    def _routed(self, topic: str, columns: ProducedColumns) -> Iterator[pa.RecordBatch]:
        taker = self._program.internal.get(topic)
        yield from self._finished(columns) if taker is None else self._internal(columns, taker, topic)

    def _internal(
        self, columns: ProducedColumns, taker: SubtopologyRun, topic: str
    ) -> Iterator[pa.RecordBatch]:
        """Through a repartition topic, which is Spark's shuffle."""
        count = self._program.partitions[topic]
        chosen = rows.partitions_by_key(columns.keys, count, self._partition % count)
        if any(named is not None for named in columns.partitions):
            named = np.array([-1 if named is None else named for named in columns.partitions], dtype=np.int32)
            chosen = np.where(named < 0, chosen, named)
        columns = columns._replace(partitions=chosen.tolist())
        yield from self._emitted(columns, taker.number, chosen + np.int32(taker.first_shard))

    def _finished(self, columns: ProducedColumns) -> Iterator[pa.RecordBatch]:
        yield from self._emitted(columns, FINAL, 0)

    def _emitted(self, columns: ProducedColumns, run: Any, shard: Any) -> Iterator[pa.RecordBatch]:
        table = rows.produced_table(columns, run, shard, self._source, self._rows_produced)
        self._rows_produced += table.num_rows
        yield from rows.batches(self._directed(table))

    def _directed(self, table: pa.Table) -> pa.Table:
        """Set the Spark partition of the next stage. A row that is taken there goes to its shard. All other
        rows of this task go to one partition together, so that they stay in order."""
        if self._last:
            return rows.with_columns(table, next=0)
        following = self._program.stages[self._number + 1]
        taken = np.isin(table[RUN].to_numpy(), [run.number for run in following.runs])
        beside = table[SOURCE].to_numpy() % following.shards
        return rows.with_columns(
            table, next=np.where(taken, table[SHARD].to_numpy(), beside).astype(np.int32)
        )


def _times(task: Task, table: pa.Table) -> list[int]:
    return task.times(list(map(RawRecord._make, rows.records(table))))


def _in_order(table: pa.Table, order: Any) -> pa.Table:
    return table if np.array_equal(order, np.arange(len(order))) else table.take(order)
