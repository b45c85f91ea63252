"""`Host`: an application from its start to its end. One streaming query over all its topics, batch after
batch.

The group's committed offsets are the application's memory, committed with its results in one transaction.
So every start begins like the very first: fence whoever ran before, read what is committed, begin a query
there. Spark's own checkpoint serves one run and may be deleted whenever nothing runs; the state files are a
cache (`state_files.py`).
"""

from __future__ import annotations

import json
import logging
import shutil
import threading
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming import StreamingQuery

from penstock.plan.plan import Plan
from penstock.spark.checkpoints import Checkpoint
from penstock.spark.clusters import cluster_for
from penstock.spark.datasource import PenstockDataSource
from penstock.spark.host import internal_topics
from penstock.spark.host.batches import Batches
from penstock.spark.host.commits import Commits
from penstock.spark.host.program import Program
from penstock.spark.host.settings import HostSettings
from penstock.spark.host.stages import stages
from penstock.spark.host.starting import starting_offsets
from penstock.spark.options import SERVERS, write_options
from penstock.spark.progress import Batch, last_committed
from penstock.spark.source import to_json
from penstock.spark.transactional import TransactionalWriter
from penstock.wire.cluster import TopicPartition

log = logging.getLogger(__name__)

CREATED, STANDING_BY, RUNNING, FAILED, CLOSED = "created", "standing by", "running", "failed", "closed"
_CLIENT: Final = "penstock-streams"


class Host:
    """`start` returns when the application is ready to run; a thread of its own runs it until `close`, a
    failure, or, with a trigger that ends, until everything that was there is processed.
    """

    def __init__(self, plan: Plan, application_id: str, servers: str, settings: HostSettings) -> None:
        self.plan, self.application_id, self.servers, self.settings = plan, application_id, servers, settings
        self.directory = settings.state_dir / application_id
        self.commits = Commits(self.directory / "committed.json")
        self.program: Program | None = None
        self.error: BaseException | None = None
        self._state = CREATED
        self._ended = threading.Event()
        self._closing = threading.Event()
        self._query: StreamingQuery | None = None

    @property
    def state(self) -> str:
        return self._state

    def start(self, spark: SparkSession, trigger: Mapping[str, Any] | None) -> None:
        spark.dataSource.register(PenstockDataSource)
        self.program = self._prepared()
        self._state = STANDING_BY
        run = threading.Thread(target=self._run, args=[spark, trigger], name=f"streams-{self.application_id}")
        run.daemon = True
        run.start()

    def wait(self, timeout_seconds: float | None = None) -> bool:
        """Whether the application has ended."""
        return self._ended.wait(timeout_seconds)

    def close(self) -> None:
        self._closing.set()
        query = self._query
        if query is not None:
            query.stop()
        if self._state != CREATED:
            self._ended.wait()
        if self._state != FAILED:
            self._state = CLOSED

    def _prepared(self) -> Program:
        """Everything that can be wrong with topics is told before anything runs."""
        cluster = cluster_for(self.servers, _CLIENT)
        topics = internal_topics.source_topics(self.plan, cluster)
        cut = stages(self.plan, topics)
        wanted = internal_topics.internal_topics(self.plan, self.application_id, topics, cut)
        internal_topics.create(self.servers, cluster, wanted, self.settings.replication_factor)
        return Program(
            run_id=uuid.uuid4().hex,
            plan=self.plan,
            application_id=self.application_id,
            servers=self.servers,
            state=self.directory / "state",
            stages=cut,
            partitions={**topics, **{topic.name: topic.partitions for topic in wanted}},
            emit_every_update=self.settings.emit_every_update,
            on_bad_record=self.settings.on_bad_record,
        )

    def _run(self, spark: SparkSession, trigger: Mapping[str, Any] | None) -> None:
        try:
            self._query = self._started(spark, trigger)
            self._state = RUNNING
            if self._closing.is_set():
                self._query.stop()
            self._query.awaitTermination()
            self._state = CLOSED
        except Exception as error:
            self.error = self.error or error
            self._state = FAILED
            log.error("application %s has failed: %s", self.application_id, self.error)
        finally:
            self._ended.set()

    def _started(self, spark: SparkSession, trigger: Mapping[str, Any] | None) -> StreamingQuery:
        assert self.program is not None
        options = write_options({SERVERS: self.servers, "kafka.compression.type": self.settings.compression})
        writer = TransactionalWriter(
            options,
            transactional_id=self.application_id,
            group_id=self.application_id,
            timeout_ms=self.settings.transaction_timeout_ms,
            attempts=1,
        )
        committed = writer.open()
        self.commits.begin(
            last_committed((found.metadata for found in committed.values()), self.application_id)
        )
        begin = starting_offsets(
            self.plan,
            self.program,
            {place: found.offset for place, found in committed.items()},
            self.settings.reset,
        )
        checkpoint = self._fresh_checkpoint()

        def write(rows: DataFrame, batch: Batch, ends: Mapping[TopicPartition, int]) -> None:
            writer.write(rows, batch, ends)

        batches = Batches(self.program, self.commits, Checkpoint(spark, str(checkpoint)), begin, write)

        def on_batch(rows: DataFrame, batch_id: int) -> None:
            try:
                batches.run(rows, batch_id)
            except Exception as error:
                self.error = error
                raise

        stream = self._source(spark, begin).writeStream.option("checkpointLocation", str(checkpoint))
        stream = stream.queryName(f"{self.application_id}-{self.program.run_id[:8]}")
        if trigger is not None:
            stream = stream.trigger(**trigger)
        return stream.foreachBatch(on_batch).start()

    def _source(self, spark: SparkSession, begin: Mapping[TopicPartition, int]) -> DataFrame:
        source = (
            spark.readStream.format("penstock")
            .option(SERVERS, self.servers)
            .option("startingOffsets", json.dumps(to_json(begin)))
            .option("kafka.isolation.level", "read_committed")
            .option("kafka.client.id", _CLIENT)
            .option("includeHeaders", "true")
            .option("maxOffsetsPerTrigger", str(self.settings.max_offsets_per_trigger))
        )
        patterns = [source.pattern for _, source in self.plan.sources if source.pattern is not None]
        topics = sorted({place.topic for place in begin})
        if not patterns:
            return source.option("subscribe", ",".join(topics)).load()
        named = [topic.replace(".", r"\.") for topic in topics]
        return source.option("subscribePattern", "|".join(f"(?:{one})" for one in [*named, *patterns])).load()

    def _fresh_checkpoint(self) -> Path:
        """Of this run alone: what is read next is said by the committed offsets."""
        place = self.directory / "checkpoints"
        shutil.rmtree(place, ignore_errors=True)
        assert self.program is not None
        return place / self.program.run_id
