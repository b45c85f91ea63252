"""Global tables: each Python worker has all rows of all of them, read from their topics up to the offsets
that the driver gives.

All tasks of a worker share them. A batch sees each as it was when the batch began.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping

from penstock.kernels.cells import Cells
from penstock.plan.groups import subtopologies
from penstock.plan.raw_records import RawRecord
from penstock.plan.task import Task
from penstock.protocol.topic_partition import TopicPartition
from penstock.spark.arrow import full_schema
from penstock.spark.host import rows
from penstock.spark.host.program import Program
from penstock.spark.host.restoring import read_committed
from penstock.spark.limits import OffsetRange
from penstock.spark.reading import read_range

log = logging.getLogger(__name__)

_known: dict[str, GlobalTables] = {}  # by application


class GlobalTables:
    def __init__(self, program: Program) -> None:
        self.run_id = program.run_id
        self._program = program
        self._tasks = [
            Task(
                program.part(group.id),
                application_id=program.application_id,
                on_bad_record=program.on_bad_record,
                on_failure=program.on_failure,
            )
            for group in subtopologies(program.plan)
            if group.is_global
        ]
        self._read: dict[TopicPartition, int] = {}

    @property
    def cells(self) -> Mapping[str, Cells]:
        return {name: cells for task in self._tasks for name, cells in task.cells.items()}

    def catch_up(self, ends: Mapping[TopicPartition, int]) -> None:
        for place, end in ends.items():
            start = self._read.get(place, 0)
            if start < end:
                self._take(OffsetRange(*place, start, end))
                self._read[place] = end

    def _take(self, wanted: OffsetRange) -> None:
        task = next(task for task in self._tasks if task.reads(wanted.topic))
        options = read_committed(self._program.client)
        for batch in read_range(wanted, full_schema(include_headers=True), options):
            for record in rows.records(batch):
                task.process(RawRecord._make(record))
        if task.take_outputs():
            log.warning("records of %s that cannot be read are left out", wanted.topic)
        task.take_changes()  # they are not saved


def global_tables(program: Program, ends: Mapping[TopicPartition, int]) -> Mapping[str, Cells]:
    """The rows of all global tables by store, up to date."""
    if not ends:
        return {}
    tables = _known.get(program.application_id)
    if tables is None or tables.run_id != program.run_id:
        tables = _known[program.application_id] = GlobalTables(program)
    tables.catch_up(ends)
    return tables.cells
