"""A source that runs. A batch is one transaction: the records of all tasks, and the offsets they lead to.

The offsets in the offset topic are the only truth. A run first fences its predecessor (`TransactionOwner`),
then reads them: whatever the predecessor has not committed is aborted by then.
"""

from __future__ import annotations

import json
from typing import Final

from penstock.clock import SystemClock
from penstock.connect.api.source import SourceConnector, SourceOffsets
from penstock.connect.converters.json_text import json_text
from penstock.connect.errors import RetriableError
from penstock.connect.pipeline.source_work import SourceBatch, offset_key
from penstock.connect.worker import layout
from penstock.connect.worker.runs import Job, Note, Run
from penstock.wire.cluster import Cluster
from penstock.wire.deadline import Deadline
from penstock.wire.errors import Fenced
from penstock.wire.transactions import TransactionOwner

TRANSACTION_TIMEOUT_MS: Final = 600_000
DEADLINE_S: Final = 60.0
LONGEST_IDLE_S: Final = 5.0


def idle_seconds(poll_s: float, empty: int) -> float:
    """How long a source rests that has nothing new: twice as long with each job that found nothing."""
    return min(max(poll_s, LONGEST_IDLE_S), poll_s * 2.0 ** min(empty, 10))


class SourceRun(Run):
    def __init__(self, job: Job) -> None:
        super().__init__(job)
        self._connector: SourceConnector | None = None
        self._cluster = Cluster.of(job.settings.client)
        self._owner: TransactionOwner | None = None
        self._offsets = SourceOffsets()
        self._store = job.offsets
        interval = job.config.get("transaction.boundary", "poll").lower() == "interval"
        self._interval_s = (
            int(job.config.get("transaction.boundary.interval.ms") or 60_000) / 1000 if interval else 0.0
        )
        self._next_at = 0.0
        self._empty = 0
        """Jobs in a row that found nothing."""

    def open(self) -> list[dict[str, str]]:
        made = self.job.plugin.connector(self.job.config)
        assert isinstance(made, SourceConnector)
        self._connector = made
        self._store.prepare()
        return made.task_configs(int(self.job.config.get("tasks.max") or 1))

    @property
    def idle_s(self) -> float:
        return idle_seconds(self.job.plugin.connector.POLL_MS / 1000, self._empty)  # type: ignore[union-attr]

    def step(self) -> bool:
        assert self._connector is not None
        owner = self._fenced()
        now = SystemClock.monotonic()
        if now < self._next_at:
            return False
        if not self._connector.has_news(self._offsets):
            self._empty = 0  # it can look without a job: it may look often
            return False
        self._next_at = now + self._interval_s
        batch = SourceBatch(
            self.job.name,
            self.job.plugin.name,
            self.job.settings.plugin_path,
            tuple((number, {**each, **self._connector.handed(number)}) for number, each in self.active()),
            tuple(self._offsets.items()),
            self._store.topic,
            self.job.settings.defaults,
        )
        found = self._told(self._written(batch, owner), now)
        self._empty = 0 if found else self._empty + 1
        return found

    def forget(self) -> None:
        self._owner = None

    def close(self) -> None:
        if self._connector is not None:
            self._connector.close()
        self._cluster.close()

    def _fenced(self) -> TransactionOwner:
        """First fence, then read where the source is."""
        if self._owner is None:
            name = f"{self.job.settings.group_id}-{self.job.name}-0"
            owner = TransactionOwner(self._cluster, name, timeout_ms=TRANSACTION_TIMEOUT_MS)
            owner.fence(Deadline(DEADLINE_S))
            self._offsets = SourceOffsets(layout.read_offsets(self._store.read(), self.job.name))
            self._owner = owner
        return self._owner

    def _written(self, batch: SourceBatch, owner: TransactionOwner) -> list[Note]:
        transaction = owner.begin(Deadline(DEADLINE_S))
        try:
            notes: list[Note] = [json.loads(note) for note in self.job.jobs.write(batch, transaction)]
            for passing in filter(None, (note["retry"] for note in notes)):
                raise RetriableError(passing)
        except Fenced:
            raise
        except Exception:
            owner.abort(Deadline(DEADLINE_S))
            raise
        if any(note["offsets"] for note in notes):
            owner.commit(Deadline(DEADLINE_S))
        else:
            owner.abort(Deadline(DEADLINE_S))
        return notes

    def _told(self, notes: list[Note], began: float) -> bool:
        assert self._connector is not None
        changes = [(partition, offset) for note in notes for partition, offset in note["offsets"]]
        if changes and not self._store.topic:
            self._store.write(
                [
                    (offset_key(self.job.name, partition), json_text(dict(offset)).encode())
                    for partition, offset in changes
                ]
            )
        self._offsets = self._offsets.advanced(changes)
        used = {topic: int(note["task"]) for note in notes for topic in note["topics"]}
        self.job.reports.used(self.job.name, used)
        if changes:
            self._connector.committed(self._offsets)
        for note in notes:
            self.told_logs(note)
            self.told_result(note, SystemClock.monotonic() - began)
        return bool(changes)
