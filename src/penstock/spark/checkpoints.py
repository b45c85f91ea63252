"""What Spark's checkpoint of a streaming query says: the query's id, and when a batch was planned.

Read through Spark's own file systems, so that it may lie wherever Spark can write. Spark writes both before
it runs the batch, and keeps them when it runs the batch again.
"""

from __future__ import annotations

import json
from functools import cached_property
from typing import Any

from pyspark.sql import SparkSession

from penstock.spark.progress import Batch


class CheckpointUnreadable(RuntimeError):
    """A file of the checkpoint is missing or is not what Spark writes."""


class Checkpoint:
    """The checkpoint at `location`, of a query that runs."""

    def __init__(self, spark: SparkSession, location: str) -> None:
        self._spark = spark
        self._location = location

    def batch(self, batch_id: int) -> Batch:
        """The batch as the checkpoint knows it."""
        planned = self._parsed(f"offsets/{batch_id}", line=1)  # line 0 is the version of the file's form
        try:
            return Batch(self._query_id, batch_id, int(planned["batchTimestampMs"]))
        except (KeyError, TypeError, ValueError) as error:
            raise CheckpointUnreadable(f"{self._location}: no {error} where Spark writes it") from None

    @cached_property
    def _query_id(self) -> str:
        return str(self._parsed("metadata", line=0)["id"])

    def offsets(self, batch_id: int) -> Any:
        """Where the batch of a query with one source ends."""
        return self._parsed(f"offsets/{batch_id}", line=2)

    def _parsed(self, name: str, *, line: int) -> Any:
        try:
            return json.loads(self._read(name).splitlines()[line])
        except (ValueError, IndexError):
            raise CheckpointUnreadable(f"{self._location}/{name} is not what Spark writes there") from None

    def _read(self, name: str) -> str:
        jvm = self._spark._jvm
        assert jvm is not None, "a session of Spark Connect has no JVM here"
        path = jvm.org.apache.hadoop.fs.Path(self._location, name)
        stream = path.getFileSystem(self._spark._jsc.hadoopConfiguration()).open(path)
        try:
            return str(jvm.org.apache.commons.io.IOUtils.toString(stream, "UTF-8"))
        finally:
            stream.close()
