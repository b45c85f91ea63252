"""A Spark session with what every pipeline here needs: Java, UTC, low latency, and `format("penstock")`."""

from __future__ import annotations

import logging
import os
import sys
from typing import TYPE_CHECKING, Any

from penstock.records import walk
from penstock.spark.java import find_java_home

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

log = logging.getLogger(__name__)


def session(app_name: str = "penstock", master: str = "local[*]", **conf: Any) -> SparkSession:
    """A session that can read and write topics. `conf` are Spark's settings and win over our defaults.

    An application has one session: when there is one already, it is returned with the format added.
    """
    from pyspark.sql import SparkSession

    from penstock.spark.datasource import PenstockDataSource

    if SparkSession.getActiveSession() is None:
        os.environ["JAVA_HOME"] = str(find_java_home(os.environ))
    # The workers run this very interpreter, where this package is installed.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.appName(app_name).master(master)
    for name, value in {**defaults(master), **conf}.items():
        builder = builder.config(name, str(value).lower() if isinstance(value, bool) else value)
    if walk.ACTIVE == "pure":
        log.warning(
            "the native module is missing, so topics are read and written many times slower: install a C "
            "compiler, then penstock anew"
        )
    spark = builder.getOrCreate()
    spark.dataSource.register(PenstockDataSource)
    return spark


def defaults(master: str) -> dict[str, str]:
    """What a session starts with when nobody says otherwise."""
    settings = {
        "spark.sql.session.timeZone": "UTC",
        # Each file of a checkpoint would be written twice more; a batch of one row takes a third longer.
        "spark.sql.streaming.checkpoint.fileChecksum.enabled": "false",
        # A barrier stage (the exactly-once sink) looks again soon when an executor has just died.
        "spark.scheduler.barrier.maxConcurrentTasksCheck.interval": "1s",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }
    if master.startswith("local"):
        # One machine: no more tasks than cores, and no name of this host that must resolve.
        settings["spark.sql.shuffle.partitions"] = str(os.cpu_count() or 1)
        settings["spark.driver.host"] = "127.0.0.1"
        settings["spark.driver.bindAddress"] = "127.0.0.1"
    return settings
