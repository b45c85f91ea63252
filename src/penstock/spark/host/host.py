"""`Host`: an application from its start to its end. One streaming query over all its topics, batch after
batch.

The group's committed offsets are the application's memory, committed with its results in one transaction.
So every start begins like the very first: fence the instance that ran before, read what is committed, begin a
query there. Spark's own checkpoint serves one run and may be deleted whenever nothing runs. The state files
are a cache (`state_files.py`).
"""

from __future__ import annotations

import json
import logging
import os
import shutil
import threading
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming import StreamingQuery

from penstock.kernels.processor import PunctuationType, UserProcessor
from penstock.metrics.pipelines import PipelineCounts
from penstock.metrics.tracing import Tracing
from penstock.plan.expressions import without
from penstock.plan.plan import Plan
from penstock.protocol.topic_partition import TopicPartition
from penstock.spark.checkpoints import Checkpoint
from penstock.spark.clusters import cluster_for
from penstock.spark.datasource import PenstockDataSource
from penstock.spark.failures import is_passing, of_the_application
from penstock.spark.host import internal_topics
from penstock.spark.host.batches import ATTEMPTS, Batches
from penstock.spark.host.commits import Commits
from penstock.spark.host.expressions import Computed, compiled
from penstock.spark.host.origins import with_origin
from penstock.spark.host.program import CLIENT_ID, BatchAttempt, Program
from penstock.spark.host.settings import HostSettings
from penstock.spark.host.sinks import PlainSink, TransactionalSink
from penstock.spark.host.source import TICK_MS, ApplicationDataSource
from penstock.spark.host.stages import stages
from penstock.spark.host.standing_by import InstanceDirectory, InstanceElection
from penstock.spark.host.starting import input_places, starting_offsets
from penstock.spark.host.task_cache import new_task
from penstock.spark.logs import REPORTED_BY_US, quieten
from penstock.spark.options import SERVERS, write_options
from penstock.spark.progress import last_committed
from penstock.spark.source import to_json
from penstock.spark.transactional import TransactionalWriter
from penstock.wire.errors import Fenced

log = logging.getLogger(__name__)

POLL_SECONDS: Final = 0.2
LEAVE_SECONDS: Final = 10.0
CREATED, STANDING_BY, RUNNING, FAILED, CLOSED = "created", "standing by", "running", "failed", "closed"


class Host:
    """`start` returns when the application is ready to run; a thread of its own runs it until `close`, a
    failure, or, with a trigger that ends, until everything that was there is processed.
    """

    def __init__(self, plan: Plan, application_id: str, servers: str, settings: HostSettings) -> None:
        self.plan, self.application_id, self.servers, self.settings = plan, application_id, servers, settings
        self._client = settings.client(servers, CLIENT_ID)
        self.program: Program | None = None
        self.commits: Commits | None = None
        """What is committed. This and `program` are enough to read the state (`state_files.py`)."""
        self.error: BaseException | None = None
        self.query: StreamingQuery | None = None
        self.running = threading.Event()
        """Set when the query has been started for the first time, or never will be."""
        self.counts = PipelineCounts(application_id)
        """Batches and records of this instance (`metrics.py` shows them)."""
        self._state = CREATED
        self._ended = threading.Event()
        self._closing = threading.Event()
        self._stopping = threading.Event()
        self._batch = threading.Lock()  # held while a batch runs
        self._computed: tuple[Computed, ...] = ()

    @property
    def state(self) -> str:
        return self._state

    def start(self, spark: SparkSession, trigger: Mapping[str, Any] | None) -> None:
        quieten(spark, REPORTED_BY_US)
        spark.dataSource.register(PenstockDataSource)
        spark.dataSource.register(ApplicationDataSource)
        directory = InstanceDirectory(self.settings.state_dir / self.application_id)
        try:
            self._computed = compiled(spark, self.plan)
            self.program = self._prepared(directory.path)
        except BaseException:
            directory.close()
            raise
        self.commits = Commits(directory.path / "committed.json")
        self._state = STANDING_BY
        name = f"streams-{self.application_id}"
        threading.Thread(target=self._run, args=[spark, trigger, directory], name=name, daemon=True).start()

    def wait(self, timeout_seconds: float | None = None) -> bool:
        """Whether the application has ended."""
        return self._ended.wait(timeout_seconds)

    def close(self) -> None:
        """The batch that runs is finished first."""
        self._closing.set()
        if self._state != CREATED:
            self._ended.wait()

    def _run(
        self, spark: SparkSession, trigger: Mapping[str, Any] | None, directory: InstanceDirectory
    ) -> None:
        assert self.program is not None
        election = InstanceElection(
            cluster_for(self._client),
            self.application_id,
            directory.instance_id,
            input_places(self.program),
            session_timeout_ms=self.settings.session_timeout_ms,
            heartbeat_interval_ms=self.settings.heartbeat_interval_ms,
        )
        election.start()
        try:
            self._run_when_elected(spark, trigger, election, directory.path)
            self._state = CLOSED
        except Exception as error:
            self.error = self.error or of_the_application(error) or error
            self._state = FAILED
            log.error("application %s has failed: %s", self.application_id, self.error)
        finally:
            election.end()
            election.join(LEAVE_SECONDS)
            directory.close()
            self._ended.set()
            self.running.set()

    def _run_when_elected(
        self, spark: SparkSession, trigger: Mapping[str, Any] | None, election: InstanceElection, place: Path
    ) -> None:
        """Run while this instance is elected and stand by while it is not, until the application ends."""
        fenced, lost = 0, 0
        while not self._closing.is_set():
            if election.error is not None:
                raise election.error
            if not election.elected.wait(POLL_SECONDS):
                continue
            before = self.commits and self.commits.last
            try:
                if self._run_query(spark, trigger, election, place):
                    return
            except Exception as error:
                lost = lost + 1 if (self.commits and self.commits.last) == before else 1
                if self.error is None and is_passing(error) and lost < ATTEMPTS:
                    log.warning("the query of %s is started again: %s", self.application_id, error)
                    continue
                if not isinstance(self.error, Fenced) or fenced:  # an instance that was fenced must not fight
                    raise
                log.warning("another instance of %s has taken over: standing by", self.application_id)
                fenced += 1
                self.error = None
            self._state = STANDING_BY
            election.resign()

    def _run_query(
        self, spark: SparkSession, trigger: Mapping[str, Any] | None, election: InstanceElection, place: Path
    ) -> bool:
        """Whether the query or the application has come to its end; false if another instance is elected."""
        self._stopping.clear()
        try:
            self.query = self._started(spark, trigger, place)
        except Fenced as error:
            self.error = error
            raise
        election.running = True
        self._state = RUNNING
        self.running.set()
        while not self.query.awaitTermination(POLL_SECONDS):
            if self._closing.is_set() or not election.elected.is_set():
                self._stopping.set()
                with self._batch:
                    pass  # the batch that runs is finished, and none begins any more
                self.query.stop()
                return self._closing.is_set()
        return True

    def _prepared(self, place: Path) -> Program:
        """Check plan and topics: everything that can be wrong with them is reported before anything runs."""
        cluster = cluster_for(self._client)
        topics = internal_topics.source_topics(self.plan, cluster)
        tables = internal_topics.source_topics(self.plan, cluster, of_global_tables=True)
        plan = without(self.plan, {one.head.node.name: one.rest for one in self._computed})
        cut = stages(plan, topics)
        wanted = internal_topics.internal_topics(self.plan, self.application_id, topics, cut)
        internal_topics.create(
            self.servers, self.settings.security, cluster, wanted, self.settings.replication_factor
        )
        return Program(
            run_id=uuid.uuid4().hex,
            plan=plan,
            application_id=self.application_id,
            client=self._client,
            state=place / "state",
            stages=cut,
            partitions={**topics, **{topic.name: topic.partitions for topic in wanted}},
            global_partitions=tuple(
                TopicPartition(topic, number) for topic, count in tables.items() for number in range(count)
            ),
            emit_every_update=self.settings.emit_every_update,
            on_bad_record=self.settings.on_bad_record,
            on_failure=self.settings.on_failure,
            on_expression_failure=self.settings.on_expression_failure,
            tracing=Tracing.asked(os.environ, self.application_id),
            computed=tuple(one.head.source for one in self._computed),
        )

    def _started(self, spark: SparkSession, trigger: Mapping[str, Any] | None, place: Path) -> StreamingQuery:
        assert self.program is not None
        assert self.commits is not None
        sink = self._sink()
        committed = sink.writer.open()
        self.commits.begin(
            last_committed((found.metadata for found in committed.values()), self.application_id)
        )
        begin = starting_offsets(
            self.plan,
            self.program,
            {place: found.offset for place, found in committed.items()},
            self.settings.reset,
        )
        checkpoint = self._fresh_checkpoint(place)

        batches = Batches(
            self.program,
            self.commits,
            Checkpoint(spark, str(checkpoint)),
            begin,
            sink,
            self._computed,
            self.counts,
        )

        def on_batch(rows: DataFrame, batch_id: int) -> None:
            with self._batch:
                if self._stopping.is_set():
                    return  # nothing is committed, so nothing is lost: the query is about to be stopped
                try:
                    batches.run(rows, batch_id)
                except Exception as error:
                    self.error = of_the_application(error) or error
                    raise self.error from None

        records = self._source(spark, begin)
        records = with_origin(records) if self.settings.writes_origin else records
        stream = records.writeStream.option("checkpointLocation", str(checkpoint))
        stream = stream.queryName(f"{self.application_id}-{self.program.run_id[:8]}")
        if trigger is not None:
            stream = stream.trigger(**trigger)
        return stream.foreachBatch(on_batch).start()

    def _sink(self) -> TransactionalSink | PlainSink:
        given = {
            **self.settings.options,
            SERVERS: self.servers,
            "kafka.compression.type": self.settings.compression,
        }
        writer = TransactionalWriter(
            write_options(given),
            transactional_id=self.application_id,
            group_id=self.application_id,
            timeout_ms=self.settings.transaction_timeout_ms,
            attempts=1,  # each attempt makes the state anew: `Batches` repeats
        )
        return TransactionalSink(writer, given) if self.settings.exactly_once else PlainSink(writer, given)

    def _source(self, spark: SparkSession, begin: Mapping[TopicPartition, int]) -> DataFrame:
        interval_ms = self._shortest_wall_clock_interval()
        source = spark.readStream.format(ApplicationDataSource.name())
        if interval_ms is not None:
            source = source.option(TICK_MS, str(interval_ms))
        source = (
            source.options(**self.settings.options)
            .option(SERVERS, self.servers)
            .option("startingOffsets", json.dumps(to_json(begin)))
            .option("kafka.isolation.level", "read_committed")
            .option("kafka.client.id", CLIENT_ID)
            .option("includeHeaders", "true")
            .option("maxOffsetsPerTrigger", str(self.settings.max_offsets_per_trigger))
        )
        patterns = [source.pattern for _, source in self.plan.sources if source.pattern is not None]
        topics = sorted({place.topic for place in begin})
        if not patterns:
            return source.option("subscribe", ",".join(topics)).load()
        named = [topic.replace(".", r"\.") for topic in topics]
        return source.option("subscribePattern", "|".join(f"(?:{one})" for one in [*named, *patterns])).load()

    def _shortest_wall_clock_interval(self) -> int | None:
        """Processors schedule punctuators when they are made. One of each is made here to learn the
        intervals."""
        assert self.program is not None
        attempt = BatchAttempt(0, "", {}, 0, {}, {})
        found = []
        for group in {run.group for run in self.program.runs}:
            plan = self.program.part(group)
            if any(isinstance(node.operation, UserProcessor) for node in plan.nodes):
                task = new_task(self.program, attempt, group, 0)
                found.append(task.punctuators.shortest(PunctuationType.WALL_CLOCK_TIME.value))
                task.close()
        return min((interval for interval in found if interval is not None), default=None)

    def _fresh_checkpoint(self, place: Path) -> Path:
        """A checkpoint for this run alone: the committed offsets decide what is read next."""
        shutil.rmtree(place / "checkpoints", ignore_errors=True)
        return place / "checkpoints" / uuid.uuid4().hex
