"""`MirrorQuery`: the copy of one flow from a start to its end.

The flow's progress stands on the target, committed with the copies. So every start begins alike: fence the
run before, read the progress, begin a query there. Spark's own checkpoint serves one run.
"""

from __future__ import annotations

import shutil
import tempfile
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming import StreamingQuery

from penstock.protocol.topic_partition import TopicPartition
from penstock.security.client_settings import ClientSettings
from penstock.spark.mirroring.ranges import CHOICE, Choice, MirrorDataSource, Topics
from penstock.spark.mirroring.writing import CODECS, Ledger, MirrorWriter
from penstock.spark.options import SERVERS
from penstock.wire.relaying import Relayed, RelayOptions

MAX_OFFSETS: Final = 5_000_000
PATIENCE_SECONDS: Final = 60


class MirrorQuery:
    """One run of a flow's copy. `start`, then `wait`; `stop` from any thread."""

    def __init__(
        self,
        name: str,
        topics: Topics,
        source: ClientSettings,
        target: ClientSettings,
        ledger: Ledger,
        *,
        transactional_id: str,
        timeout_ms: int,
        read_committed: bool = True,
        from_end: bool = False,
        codec: str | None = None,
        max_offsets: int = MAX_OFFSETS,
        shards: Callable[[int], int] = lambda slots: slots,
    ) -> None:
        self._name = name
        self._topics = topics
        self._source = source
        self._target = target
        self._ledger = ledger
        self._read_committed = read_committed
        self._from_end = from_end
        self._max_offsets = max_offsets
        options = RelayOptions(None if codec is None else CODECS[codec], read_committed)
        self._writer = MirrorWriter(
            source,
            target,
            transactional_id=transactional_id,
            timeout_ms=timeout_ms,
            options=options,
            shards=shards,
        )
        self._query: StreamingQuery | None = None
        self._checkpoint: str | None = None
        self._stopping = threading.Event()
        self._batch = threading.Lock()
        self.error: Exception | None = None
        """What ended the run, as it was raised."""

    def start(self, spark: SparkSession, progress: Callable[[], Mapping[TopicPartition, int]]) -> None:
        """Fence, read the progress, begin there."""
        self._writer.fence()
        begin = tuple(sorted(progress().items()))
        choice = Choice(self._topics, self._source, self._target, begin, self._from_end)
        spark.dataSource.register(MirrorDataSource)
        source = (
            spark.readStream.format(MirrorDataSource.name())
            .option(CHOICE, choice.to_option())
            .option(SERVERS, self._source.bootstrap_servers)
            .option("subscribePattern", ".*")
            .option("failOnDataLoss", "false")  # counted as missed, and said in the log
            .option("maxOffsetsPerTrigger", str(self._max_offsets))
            .option("kafka.default.api.timeout.ms", str(PATIENCE_SECONDS * 1000))
            .option("kafka.isolation.level", "read_committed" if self._read_committed else "read_uncommitted")
            .load()
        )
        self._checkpoint = tempfile.mkdtemp(prefix="penstock-mirror-")
        stream = source.writeStream.option("checkpointLocation", self._checkpoint).queryName(self._name)
        self._query = stream.foreachBatch(self._on_batch).start()

    def _on_batch(self, rows: DataFrame, _batch_id: int) -> None:
        with self._batch:
            if self._stopping.is_set():
                return  # nothing is committed, so nothing is lost
            try:
                self._writer.write(rows, self._ledger)
            except Exception as error:
                self.error = error
                raise

    @property
    def running(self) -> bool:
        return self._query is not None and self._query.isActive

    def wait(self, seconds: float) -> bool:
        """Whether the run has ended within so long; an error is in `error`."""
        assert self._query is not None, "start it first"
        try:
            return bool(self._query.awaitTermination(seconds))
        except Exception as error:  # Spark's own class
            self.error = self.error or error
            return True

    def stop(self) -> None:
        """Returns when the batch under way is committed and the query has ended."""
        self._stopping.set()
        with self._batch:
            if self._query is not None:
                self._query.stop()
        if self._checkpoint is not None:
            shutil.rmtree(self._checkpoint, ignore_errors=True)


__all__ = ["Ledger", "MirrorQuery", "Relayed", "Sequence"]
