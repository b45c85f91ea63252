"""Tasks with their state, kept by a Python worker from batch to batch.

Workers are not sticky: a shard may be anywhere next time. So a worker keeps what it had, and catches up
from the files of those who ran the shard since; with nothing kept it loads the files, and without files the
changelogs. A task is taken out while it runs and put back when its state is saved, so that one that fails
leaves nothing.
"""

from __future__ import annotations

import logging
from collections import OrderedDict
from dataclasses import dataclass
from typing import Final

from penstock.plan.task import Task
from penstock.spark.host.global_tables import global_tables
from penstock.spark.host.program import Order, Program
from penstock.spark.host.restoring import restore
from penstock.spark.host.stages import Run
from penstock.spark.host.state_files import StateFiles

log = logging.getLogger(__name__)

MOST_TASKS: Final = 64
"""Kept by one worker; the one used longest ago goes first."""


@dataclass
class Loaded:
    run_id: str
    task: Task
    step: int
    token: str | None
    marks: bytes = b""
    """What the topic of marks was last told by this worker."""


_kept: OrderedDict[tuple[str, int, int], Loaded] = OrderedDict()  # by application, sub-topology and shard


def take(program: Program, order: Order, run: Run, shard: int) -> Loaded:
    """The task of a shard, with the state in which this run must find it."""
    wanted = order.step(run) - 1
    kept = _kept.pop((program.application_id, run.group, shard), None)
    if kept is not None and kept.run_id != program.run_id:  # of an earlier start, perhaps of other code
        kept.task.close()
        kept = None
    files = StateFiles(program.directory(run.group, shard))

    def tokens(step: int) -> str | None:
        return order.token_of(step, run.turns)

    if kept is not None and kept.token == tokens(kept.step) and kept.step <= wanted:
        changes = [] if kept.step == wanted else files.load(wanted, tokens, after=kept.step)
        if changes is not None:
            kept.task.load(changes)
            global_tables(program, order.global_ends)
            kept.step, kept.token = wanted, tokens(wanted)
            return kept
    task = new_task(program, order, run.group, shard)
    saved = files.load(wanted, tokens) if wanted >= 0 else None
    if saved is None:
        name = f"{run.group}_{shard}"
        plan = program.part(run.group)
        saved = [restore(plan, program.application_id, program.servers, name, shard, order.read_before)]
        log.info("task %s was restored from its changelogs", name)
    task.load(saved)
    return Loaded(program.run_id, task, wanted, tokens(wanted))


def put_back(program: Program, run: Run, shard: int, loaded: Loaded, step: int, token: str) -> None:
    loaded.step, loaded.token = step, token
    _kept[program.application_id, run.group, shard] = loaded
    while len(_kept) > MOST_TASKS:
        _, oldest = _kept.popitem(last=False)
        oldest.task.close()


def new_task(program: Program, order: Order, group: int, shard: int) -> Task:
    """A task without state of its own yet."""
    task = Task(
        program.part(group),
        application_id=program.application_id,
        emit_every_update=program.emit_every_update,
        now_ms=order.now_ms,
        on_bad_record=program.on_bad_record,
        on_failure=program.on_failure,
        partitions=program.partitions,
        shared=global_tables(program, order.global_ends),
    )
    task.state.task_id = f"{group}_{shard}"
    return task
