"""The stages of a batch without Spark: shards run one after another, shuffles are sorted lists, topics are
dicts."""

from __future__ import annotations

import shutil
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from penstock.kernels.cells import Cell
from penstock.plan.raw_records import ProducedColumns, RawRecord, fail
from penstock.plan.task import Snapshot
from penstock.spark.host import restoring, rows, task_cache, work
from penstock.spark.host.internal_topics import internal_topics
from penstock.spark.host.program import BatchAttempt, Program
from penstock.spark.host.stages import stages
from penstock.streams import Topology
from penstock.wire.partitioner import partition_for_key

APPLICATION = "local"


class LocalHost:
    """Loses files and workers whenever it is told to."""

    def __init__(
        self,
        topology: Topology,
        topics: dict[str, int],
        place: Path,
        monkeypatch: pytest.MonkeyPatch,
        *,
        every: bool,
    ) -> None:
        plan = topology.plan
        cut = stages(plan, topics)
        internal = internal_topics(plan, APPLICATION, topics, cut)
        partitions = {**topics, **{topic.name: topic.partitions for topic in internal}}
        run_id = str(id(self))
        self._program = Program(run_id, plan, APPLICATION, "", place, cut, partitions, (), every, fail)
        self._topics, self._version, self._tokens = topics, 0, {}
        self._offsets: dict[tuple[str, int], int] = {}
        self.log: dict[tuple[str, int], list[tuple[Any, Any, int]]] = {}
        self.restored = 0
        monkeypatch.setattr(task_cache, "restore", self._restore)
        task_cache._cached.clear()

    def batch(self, records: list[tuple[Any, ...]], chooser: Random) -> None:
        """Records are topic, key, value and time."""
        raw = [self._raw(*record) for record in records]
        attempt = BatchAttempt(self._version, f"t{self._version}", dict(self._tokens), 0, {}, {})
        found = self._read(raw)
        for number, stage in enumerate(self._program.stages):
            shards = self._shuffled(found, number, stage.shards, chooser)
            found = []
            for partition, batches in enumerate(shards):
                shard = work._Shard(self._program, attempt, number, partition)
                stateful = stage.keeps_state or number
                found += list(shard.stateful(batches) if stateful else shard.stateless(batches))
        self._append(found)
        self._tokens[self._version] = attempt.token
        self._version += 1

    def forget(self, *, files: bool) -> None:
        """Other workers, and other disks."""
        task_cache._cached.clear()
        if files:
            shutil.rmtree(self._program.state, ignore_errors=True)

    def _raw(self, topic: str, key: str | None, value: str | None, at: int) -> RawRecord:
        raw_key = None if key is None else key.encode()
        partition = 0 if raw_key is None else partition_for_key(raw_key, self._topics[topic])
        offset = self._offsets.get((topic, partition), 0)
        self._offsets[topic, partition] = offset + 1
        return RawRecord(topic, partition, offset, at, raw_key, None if value is None else value.encode())

    def _read(self, raw: list[RawRecord]) -> list[pa.RecordBatch]:
        """A batch for each partition, as the source gives them."""
        found = []
        for place in dict.fromkeys((record.topic, record.partition) for record in raw):
            mine = [record for record in raw if (record.topic, record.partition) == place]
            topics, partitions, offsets, times, keys, values, headers = map(list, zip(*mine, strict=True))
            columns = ProducedColumns(keys, values, topics, partitions, times, headers)
            table = rows.with_columns(
                rows.produced_table(columns, 0, 0, 0, 0), offset=pa.array(offsets, pa.int64())
            )
            found.append(table.select(list(rows.RECORD)).combine_chunks().to_batches()[0])
        return found

    def _shuffled(
        self, batches: list[pa.RecordBatch], number: int, shards: int, chooser: Random
    ) -> list[list[pa.RecordBatch]]:
        if not number and not self._program.stages[0].keeps_state:
            return [[batch] for batch in batches]  # as many tasks as partitions were read
        parts: list[list[pa.RecordBatch]] = [[] for _ in range(shards)]
        for batch in batches:
            wanted = self._first_shards(batch) if not number else batch[rows.NEXT].to_numpy()
            for shard in range(shards):
                chosen = batch.take(pa.array(np.flatnonzero(wanted == shard)))
                parts[shard] += [chosen.slice(at, 3) for at in range(0, chosen.num_rows, 3)]
        for part in parts:
            chooser.shuffle(part)  # a shuffle promises no order
        return parts

    def _first_shards(self, batch: pa.RecordBatch) -> Any:
        found = []
        for topic, partition in zip(batch["topic"].to_pylist(), batch["partition"].to_pylist(), strict=True):
            run = self._program.run_of(topic)
            assert run is not None
            here = run in self._program.stages[0].runs
            found.append(run.first_shard + partition if here else partition % self._program.stages[0].shards)
        return np.array(found)

    def _append(self, batches: list[pa.RecordBatch]) -> None:
        for batch in batches:
            assert set(batch[rows.RUN].to_pylist()) <= {rows.FINAL}
            for topic, partition, _, at, key, value, _ in rows.records(batch):
                if partition is None:
                    partition = partition_for_key(key, self._topics.get(topic, 1)) if key else 0
                self.log.setdefault((topic, partition), []).append((key, value, at))

    def _restore(
        self, plan: Any, application_id: str, servers: str, task: str, shard: int, _: Any
    ) -> Snapshot:
        self.restored += 1
        stores = {}
        for spec in plan.used_stores:
            if spec.logging:
                known = self.log.get((plan.changelog_name(spec.name, application_id), shard), [])
                last = {key: None if value is None else Cell(value, at) for key, value, at in known}
                stores[spec.name] = [(key, cell) for key, cell in last.items() if cell is not None]
        marks = {
            key: value for key, value, _ in self.log.get((restoring.marks_topic(application_id), shard), [])
        }
        told = marks.get(task.encode())
        return restoring._with_marks(stores, None if told is None else Cell(told, 0))

    def table(self, topic: str) -> dict[str, str]:
        """The last value of each key."""
        found: dict[str, Any] = {}
        for (name, _), records in self.log.items():
            if name == topic:
                found |= {key and key.decode(): value for key, value, _ in records}
        return {key: value.decode() for key, value in found.items() if value is not None}
