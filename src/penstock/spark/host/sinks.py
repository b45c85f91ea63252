"""Where the rows of a batch go: in one transaction with the input offsets, or before them."""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import DataFrame

from penstock.protocol.topic_partition import TopicPartition
from penstock.spark.options import write_options
from penstock.spark.progress import Batch
from penstock.spark.transactional import TransactionalWriter


class TransactionalSink:
    """Exactly once."""

    packed = True

    def __init__(self, writer: TransactionalWriter, given: Mapping[str, str]) -> None:
        self.writer, self.options = writer, write_options(given)

    def write(
        self, rows: DataFrame, batch: Batch, ends: Mapping[TopicPartition, int], shards: int | None
    ) -> None:
        self.writer.write(rows, batch, ends, shards)


class PlainSink:
    """At least once: the offsets are committed when the rows are written. A fenced instance fails then."""

    packed = False

    def __init__(self, writer: TransactionalWriter, given: Mapping[str, str]) -> None:
        self.writer, self.options, self._given = writer, write_options(given), dict(given)

    def write(
        self, rows: DataFrame, batch: Batch, ends: Mapping[TopicPartition, int], shards: int | None
    ) -> None:
        rows.write.format("penstock").options(**self._given).mode("append").save()
        self.writer.commit(batch, ends)
