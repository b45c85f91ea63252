"""A session whose JVM has died under it: seen, and forgotten, so that this process can start another."""

from __future__ import annotations

from contextlib import suppress

from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark import SparkContext
from pyspark.sql import SparkSession


def is_lost(spark: SparkSession) -> bool:
    """Whether nothing can run in this session any more."""
    try:
        return bool(spark.sparkContext._jsc.sc().isStopped())
    except (Py4JError, OSError, AttributeError):  # it does not answer, or was stopped here
        return True


def forget() -> None:
    """PySpark keeps one JVM for the life of a process; the next session starts a new one."""
    with SparkContext._lock:
        gateway = SparkContext._gateway
        SparkContext._gateway = SparkContext._jvm = SparkContext._active_spark_context = None
    SparkSession._instantiatedSession = None
    if gateway is not None:
        with suppress(Py4JError, OSError):
            gateway.shutdown()
