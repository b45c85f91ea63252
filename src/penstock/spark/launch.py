"""A Spark session with what every pipeline here needs: Java, UTC, low latency, and `format("penstock")`."""

from __future__ import annotations

import logging
import os
import sys
from pathlib import Path
from socketserver import BaseServer
from typing import TYPE_CHECKING, Any, Final

from penstock.records import walk
from penstock.spark import jvm_connector as connectors
from penstock.spark import logs, python
from penstock.spark.java import find_java_home

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

log = logging.getLogger(__name__)

LEAST_MEMORY_MB: Final = 450
WORKER_PATIENCE_S: Final = 120
"""How long a Python process of Spark waits for the JVM's first word. Spark's own 15 seconds are too short
where many queries start at once: every worker would give up, and be started again with all the others.
"""


class SparkNotStarted(RuntimeError):
    """The JVM did not come up."""


def session(
    app_name: str = "penstock",
    master: str = "local[*]",
    *,
    jvm_connector: bool | str = False,
    **conf: Any,
) -> SparkSession:
    """A session that can read and write topics. `conf` are Spark's settings and win over our defaults.

    `jvm_connector` adds Spark's own Kafka connector, `format("kafka")`, for its real-time mode:
    True fetches the newest published from Maven Central, a path names jars or a directory of them.

    An application has one session: when there is one already, it is returned with the format added.
    """
    from pyspark.sql import SparkSession

    from penstock.spark import executors
    from penstock.spark.datasource import PenstockDataSource

    if new := SparkSession.getActiveSession() is None:
        _check_memory()
        os.environ["JAVA_HOME"] = str(find_java_home(os.environ))
        os.environ.setdefault("SPARK_AUTH_SOCKET_TIMEOUT", str(WORKER_PATIENCE_S))
    # The workers run this very interpreter, where this package is installed.
    python.settle(master, sys.executable, os.environ)
    builder = SparkSession.builder.appName(app_name).master(master)
    for name, value in logs.configured({**defaults(master), **connector(jvm_connector), **conf}).items():
        builder = builder.config(name, str(value).lower() if isinstance(value, bool) else value)
    if walk.ACTIVE == "pure":
        log.warning(
            "the native module is missing, so topics are read and written many times slower: install a C "
            "compiler, then penstock anew"
        )
    spark = _started(builder)
    spark.dataSource.register(PenstockDataSource)
    if new:
        end_quietly(spark.sparkContext._accumulatorServer)
        if not master.startswith("local"):
            executors.check(spark)
    return spark


def end_quietly(accumulators: BaseServer) -> None:
    """PySpark listens for accumulators until after the JVM is gone, and would print a traceback then."""
    tell = accumulators.handle_error

    def handle_error(request: Any, address: Any) -> None:
        if not isinstance(sys.exc_info()[1], EOFError | ConnectionError):
            tell(request, address)

    accumulators.handle_error = handle_error  # type: ignore[assignment,method-assign]


def _started(builder: SparkSession.Builder) -> SparkSession:
    from pyspark.errors import PySparkRuntimeError

    try:
        return builder.getOrCreate()
    except PySparkRuntimeError as error:
        if "JAVA_GATEWAY_EXITED" not in str(error):
            raise
        raise SparkNotStarted(
            f"Java at {os.environ['JAVA_HOME']} ended before Spark had started; its last words stand above. "
            "Too little memory is the usual reason: lower spark.driver.memory, or free some"
        ) from error


def _check_memory() -> None:
    """Fail with a sentence where the JVM would be killed without one."""
    try:
        told = Path("/proc/meminfo").read_text().splitlines()
    except OSError:  # not Linux
        return
    available = next((int(line.split()[1]) // 1024 for line in told if line.startswith("MemAvailable")), None)
    if available is not None and available < LEAST_MEMORY_MB:
        raise SparkNotStarted(
            f"Spark needs about {LEAST_MEMORY_MB} MB of memory to start, and {available} MB are free: end "
            "something, or use a larger machine"
        )


def connector(wanted: bool | str) -> dict[str, str]:
    """The settings that bring Spark's own Kafka connector along."""
    if wanted is False:
        return {}
    jars = connectors.published() if wanted is True else connectors.named(wanted)
    return {"spark.jars": ",".join(map(str, jars))}


def defaults(master: str) -> dict[str, str]:
    """What a session starts with, unless the user gives other settings."""
    settings = {
        "spark.sql.session.timeZone": "UTC",
        # Each file of a checkpoint would be written twice more; a batch of one row takes a third longer.
        "spark.sql.streaming.checkpoint.fileChecksum.enabled": "false",
        # A barrier stage (the exactly-once sink) looks again soon when an executor has just died.
        "spark.scheduler.barrier.maxConcurrentTasksCheck.interval": "1s",
        # A row may be a whole batch of records (the exactly-once sink): ten thousand of them are too many.
        "spark.sql.execution.arrow.maxBytesPerBatch": "16m",
        "spark.python.authenticate.socketTimeout": f"{WORKER_PATIENCE_S}s",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }
    if master.startswith("local"):
        # One machine: no more tasks than cores, and no name of this host that must resolve.
        settings["spark.sql.shuffle.partitions"] = str(os.cpu_count() or 1)
        settings["spark.driver.host"] = "127.0.0.1"
        settings["spark.driver.bindAddress"] = "127.0.0.1"
    return settings
