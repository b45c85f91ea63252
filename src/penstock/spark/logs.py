"""What Spark's JVM writes to the console: warnings that ask something of the user, and no others."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CONFIGURATION: Final = Path(__file__).with_name("log4j2.properties")
JAVA_OPTIONS: Final = "spark.driver.extraJavaOptions"
_OPTION: Final = "-Dlog4j2.configurationFile="
REPORTED_BY_US: Final = (
    "org.apache.spark.executor.Executor",
    "org.apache.spark.scheduler.TaskSetManager",
    "org.apache.spark.sql.execution.streaming.runtime.MicroBatchExecution",
)
"""Loggers that print the stack trace of a failing task, each its own way. An application says it once."""


def configured(conf: Mapping[str, Any]) -> dict[str, Any]:
    """Spark's settings with our log configuration, unless the user has one."""
    options = str(conf.get(JAVA_OPTIONS, ""))
    if "log4j" in options or _has_own_file():
        return dict(conf)
    return {**conf, JAVA_OPTIONS: f"{options} {_OPTION}{CONFIGURATION.as_uri()}".strip()}


def _has_own_file() -> bool:
    directory = os.environ.get("SPARK_CONF_DIR") or os.path.join(os.environ.get("SPARK_HOME", ""), "conf")
    return (Path(directory) / "log4j2.properties").is_file()


def quieten(spark: SparkSession, loggers: Iterable[str]) -> None:
    """Turn loggers of the driver's JVM off."""
    log4j: Any = spark.sparkContext._jvm.org.apache.logging.log4j
    for name in loggers:
        log4j.core.config.Configurator.setLevel(name, log4j.Level.OFF)
