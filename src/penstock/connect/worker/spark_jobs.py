"""The batches of connectors as Spark jobs: the session is started with the first one, not before.

Rows become Arrow here, and records of topics become rows.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from penstock.connect.pipeline.rows import PlainRows, Row
from penstock.connect.pipeline.sink_work import SinkBatch
from penstock.connect.pipeline.source_work import SourceBatch
from penstock.connect.worker.settings import WorkerSettings
from penstock.security.client_settings import ClientSettings
from penstock.wire.transactions import Transaction

if TYPE_CHECKING:
    import pyarrow as pa

DELIVERY_SECONDS = 120.0
_log = logging.getLogger(__name__)


class SparkJobs:
    """One Spark application for all connectors of the worker; used by the threads of all of them."""

    def __init__(self, settings: WorkerSettings) -> None:
        self._settings = settings
        self._starting = threading.Lock()
        self._session: Any = None

    def write(self, batch: SourceBatch, transaction: Transaction) -> list[bytes]:
        from penstock.records.codecs import Codec
        from penstock.spark.connecting import write_tasks
        from penstock.spark.options import WriteOptions

        options = WriteOptions(self._settings.client, None, Codec.NONE, DELIVERY_SECONDS)
        with self._living() as spark:
            work = _emitting(batch, self._settings.client.bootstrap_servers, self._settings.librdkafka)
            return write_tasks(spark, len(batch.configs), work, options, transaction)

    def run(self, batch: SinkBatch, *, read_committed: bool) -> list[bytes]:
        from penstock.spark.connecting import run_tasks

        work = _consuming(batch, self._settings.client, read_committed)
        with self._living() as spark:
            return run_tasks(spark, len(batch.configs), work)

    def stop(self) -> None:
        with self._starting:
            if self._session is not None:
                self._session.stop()
                self._session = None

    @contextmanager
    def _living(self) -> Iterator[Any]:
        """The session. One whose JVM has died is forgotten with the batch that finds out."""
        spark = self._spark()
        try:
            yield spark
        except Exception:
            self._forget_if_lost(spark)
            raise

    def _forget_if_lost(self, spark: Any) -> None:
        from penstock.spark import lost

        with self._starting:
            if self._session is spark and lost.is_lost(spark):
                _log.warning("Spark's JVM has died: the next batch starts another one")
                lost.forget()
                self._session = None

    def _spark(self) -> Any:
        with self._starting:
            if self._session is None:
                from penstock.spark import session

                name = f"penstock-connect {self._settings.group_id}"
                self._session = session(name, self._settings.spark_master, **self._settings.spark)
            return self._session


def _emitting(
    batch: SourceBatch, servers: str, librdkafka: Mapping[str, Any]
) -> Callable[[int], Iterator[Any]]:
    def emit(index: int) -> Iterator[Any]:
        from penstock.connect.worker.topic_making import topic_maker

        make = topic_maker(batch.configs[index][1], servers, librdkafka)
        for each in batch.rows(index):
            if isinstance(each, bytes):
                yield each
            elif isinstance(each, PlainRows):
                make({each.topic})
                yield plain_to_arrow(each)
            else:
                make({row.topic for row in each})
                yield to_arrow(each)

    return emit


def _consuming(batch: SinkBatch, client: ClientSettings, read_committed: bool) -> Callable[[int], bytes]:
    def consume(index: int) -> bytes:
        from penstock.connect.worker.reading import dead_letter_sender, reader

        return batch.run(index, reader(client, read_committed=read_committed), dead_letter_sender(client))

    return consume


def to_arrow(rows: list[Row]) -> pa.RecordBatch:
    import pyarrow as pa

    from penstock.spark.connecting import ROWS

    columns = [
        [row.topic for row in rows],
        [row.partition for row in rows],
        [row.key for row in rows],
        [row.value for row in rows],
        [[{"key": name, "value": value} for name, value in row.headers] for row in rows],
        [None if row.timestamp_ms is None else row.timestamp_ms * 1000 for row in rows],
    ]
    arrays = [pa.array(column, field.type) for column, field in zip(columns, ROWS, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=ROWS)


def plain_to_arrow(rows: PlainRows) -> pa.RecordBatch:
    import pyarrow as pa

    from penstock.spark.connecting import ROWS

    count = len(rows.values)
    known = {"topic": pa.repeat(pa.scalar(rows.topic), count), "value": pa.array(rows.values, pa.binary())}
    if rows.keys is not None:
        known["key"] = pa.array(rows.keys, pa.binary())
    arrays = [known[each.name] if each.name in known else pa.nulls(count, each.type) for each in ROWS]
    return pa.RecordBatch.from_arrays(arrays, schema=ROWS)
