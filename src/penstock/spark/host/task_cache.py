"""Tasks with their state, cached by a Python worker from batch to batch.

Spark may run a shard in another worker each time. A worker therefore keeps the tasks that it had, and brings
one up to date from the files that other workers wrote since. Without a cached task it loads the files, and
without files the changelogs. A task leaves the cache while it runs and returns when its state is saved, so
that a task that fails leaves nothing behind.
"""

from __future__ import annotations

import logging
from collections import OrderedDict
from dataclasses import dataclass
from random import SystemRandom
from typing import Final

from penstock.plan.python_runtime import InProcess
from penstock.plan.task import Task
from penstock.spark.host.global_tables import global_tables
from penstock.spark.host.program import BatchAttempt, Program
from penstock.spark.host.restoring import restore
from penstock.spark.host.stages import SubtopologyRun
from penstock.spark.host.state_files import StateFiles

log = logging.getLogger(__name__)

MOST_TASKS: Final = 64
"""Cached by one worker; the task that was used longest ago goes first."""


@dataclass
class CachedTask:
    """A task, and the version of the state that it has."""

    run_id: str
    task: Task
    step: int
    token: str | None
    marks: bytes = b""
    """The marks that this worker wrote last."""


_cached: OrderedDict[tuple[str, int, int], CachedTask] = (
    OrderedDict()
)  # by application, sub-topology and shard


def take(program: Program, attempt: BatchAttempt, run: SubtopologyRun, shard: int) -> CachedTask:
    """The task of a shard, with the state in which this run must find it."""
    wanted = attempt.step(run) - 1
    cached = _cached.pop((program.application_id, run.group, shard), None)
    if cached is not None and cached.run_id != program.run_id:  # of an earlier start, perhaps of other code
        cached.task.close()
        cached = None
    files = StateFiles(program.directory(run.group, shard))

    def tokens(step: int) -> str | None:
        return attempt.token_of(step, run.rounds)

    if cached is not None and cached.token == tokens(cached.step) and cached.step <= wanted:
        changes = [] if cached.step == wanted else files.load(wanted, tokens, after=cached.step)
        if changes is not None:
            cached.task.load(changes)
            global_tables(program, attempt.global_ends)
            cached.step, cached.token = wanted, tokens(wanted)
            return cached
    task = new_task(program, attempt, run.group, shard)
    saved = files.load(wanted, tokens) if wanted >= 0 else None
    if saved is None:
        name = f"{run.group}_{shard}"
        plan = program.part(run.group)
        saved = [restore(plan, program.application_id, program.client, name, shard, attempt.read_before)]
        log.info("task %s was restored from its changelogs", name)
    task.load(saved)
    return CachedTask(program.run_id, task, wanted, tokens(wanted))


def put_back(
    program: Program, run: SubtopologyRun, shard: int, cached: CachedTask, step: int, token: str
) -> None:
    cached.step, cached.token = step, token
    _cached[program.application_id, run.group, shard] = cached
    while len(_cached) > MOST_TASKS:
        _, oldest = _cached.popitem(last=False)
        oldest.task.close()


def new_task(program: Program, attempt: BatchAttempt, group: int, shard: int) -> Task:
    """A task without state of its own yet."""
    task = Task(
        program.part(group),
        application_id=program.application_id,
        emit_every_update=program.emit_every_update,
        now_ms=attempt.now_ms,
        on_bad_record=program.on_bad_record,
        on_failure=program.on_failure,
        on_expression_failure=program.on_expression_failure,
        random=SystemRandom(),
        python=InProcess(),
        partitions=program.partitions,
        shared=global_tables(program, attempt.global_ends),
    )
    task.state.task_id = f"{group}_{shard}"
    return task
