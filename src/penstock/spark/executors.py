"""What runs the tasks: how many at once, and whether this package is there with its native module."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from typing import Any, Final

from pyspark.sql import SparkSession

import penstock
from penstock.records import walk
from penstock.wire.deadline import Deadline

log = logging.getLogger(__name__)

FIRST_EXECUTOR_SECONDS: Final = 30.0


class ExecutorsUnready(RuntimeError):
    """Executors that could not run what we send them; the message says what to install there."""


def slots(spark: SparkSession) -> int:
    """How many tasks can run at once now; 0 while no executor is there."""
    context = spark.sparkContext._jsc.sc()
    return int(context.maxNumConcurrentTasks(context.resourceProfileManager().defaultResourceProfile()))


def wait_for_slots(spark: SparkSession, deadline: Deadline) -> int:
    """The same, after waiting for the first executor; 0 when none came."""
    attempt = 0
    while not (found := slots(spark)) and not deadline.passed:
        deadline.pause(attempt)
        attempt += 1
    return found


def check(spark: SparkSession) -> None:
    """Ask every executor what it has of this package: another version or none is an error, the slow twin of
    the native module a warning."""
    found = wait_for_slots(spark, Deadline(FIRST_EXECUTOR_SECONDS))
    if not found:
        log.warning(
            "no executor came in %.0f s: are workers registered at %s, with free cores and memory?",
            FIRST_EXECUTOR_SECONDS,
            spark.sparkContext.master,
        )
        return
    try:
        told = set(spark.sparkContext.parallelize(range(found), found).mapPartitions(_look).collect())
    except Exception as error:  # Spark's own, or py4j's around it
        raise _unready(str(error)) from error
    for version, active in told:
        if version != penstock.__version__:
            raise ExecutorsUnready(
                f"executors have penstock {version}, the driver has {penstock.__version__}: install the same"
            )
        if active == "pure":
            log.warning(
                "executors run without the native module, many times slower: install penstock there with a "
                "C compiler, since an archive of Python files (--py-files) cannot carry it"
            )


def _look(_: Iterable[Any]) -> Iterator[tuple[str, str]]:
    yield penstock.__version__, walk.ACTIVE


def _unready(reason: str) -> ExecutorsUnready:
    last = [line for line in reason.splitlines() if "Error" in line] or [reason]
    return ExecutorsUnready(
        f"executors cannot run this package ({last[-1].strip():.300}): install penstock[spark] "
        f"{penstock.__version__} for the Python that PYSPARK_PYTHON names on every worker, or ship an "
        "environment with spark.archives"
    )
