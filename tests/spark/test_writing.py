"""Streams written exactly once, with Spark and a real broker around them; read back as `read_committed`."""

from __future__ import annotations

import json
import os
import shutil
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Message, Producer
from confluent_kafka.admin import AdminClient
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming import StreamingQuery

from penstock.spark import transactional, write_stream
from penstock.spark.options import OptionError, write_options
from penstock.spark.transactional import TransactionalWriter
from penstock.testing.process import BrokerProcess
from tests.peers.topic_reader import read_topic

SECONDS = 240
pytestmark = pytest.mark.timeout(300)  # a loaded machine starts Spark slowly
AVAILABLE_NOW = {"availableNow": True}


@pytest.fixture(params=["penstock"])
def servers(request: pytest.FixtureRequest) -> str:
    """Our own broker; what matters most is tried on Apache's as well, and all of it with `--apache`."""
    if request.param == "penstock" and not request.config.getoption("--apache"):
        return str(request.getfixturevalue("penstock_servers"))
    return str(request.getfixturevalue("apache_kafka").bootstrap_servers)


both = pytest.mark.parametrize("servers", ["penstock", "apache"], indirect=True)


class Pipeline:
    """Input, output and checkpoint of one test."""

    def __init__(self, spark: SparkSession, servers: str, new_topic: Callable[..., str], path: Path) -> None:
        self.spark = spark
        self.servers = servers
        self.input, self.output = new_topic(partitions=2), new_topic(partitions=3)
        self.checkpoint = path / "checkpoint"

    def produce(self, *values: str, partition: int = 0) -> None:
        producer = Producer({"bootstrap.servers": self.servers})
        for value in values:
            producer.produce(self.input, value, key=value[-1], partition=partition)
        assert producer.flush(20) == 0

    def source(self, **options: str) -> DataFrame:
        reader = self.spark.readStream.format("penstock").option("subscribe", self.input)
        reader = reader.option("kafka.bootstrap.servers", self.servers).options(**options)
        return reader.option("startingOffsets", "earliest").load()

    def start(self, frame: DataFrame | None = None, **changes: Any) -> StreamingQuery:
        given = {
            "topic": self.output,
            "bootstrap_servers": self.servers,
            "checkpoint": str(self.checkpoint),
            "trigger": AVAILABLE_NOW,
        }
        return write_stream(frame or self.source().select("key", "value"), **{**given, **changes})

    def run(self, frame: DataFrame | None = None, **changes: Any) -> None:
        query = self.start(frame, **changes)
        assert query.awaitTermination(SECONDS), "the query has not ended"

    def written(self, isolation: str = "read_committed") -> list[tuple[int, str]]:
        """Partition and value of what stands in the output, partition by partition."""
        return [(found.partition(), found.value().decode()) for found in self.read(self.output, isolation)]

    def read(self, topic: str, isolation: str = "read_committed") -> list[Message]:
        """All of a topic, as somebody else's client sees it."""
        return read_topic(self.servers, topic, isolation)

    def values(self) -> list[str]:
        return sorted(value for _, value in self.written())

    def forget_commit(self, batch_id: int) -> None:
        """The checkpoint of a driver that died after the transaction and before telling Spark."""
        for file in (self.checkpoint / "commits").glob(f"*{batch_id}*"):
            file.unlink()


@pytest.fixture
def pipeline(spark: SparkSession, servers: str, new_topic: Callable[..., str], tmp_path: Path) -> Pipeline:
    return Pipeline(spark, servers, new_topic, tmp_path)


@both
def test_every_row_arrives_once_and_in_the_order_of_its_input_partition(pipeline: Pipeline) -> None:
    for partition in range(2):
        pipeline.produce(*(f"{partition}-{number:04}" for number in range(500)), partition=partition)
    pipeline.run(pipeline.source(maxOffsetsPerTrigger="400").select("key", "value"))
    found = pipeline.written()
    assert len(found) == len(set(found)) == 1000
    assert {partition for partition, _ in found} == {0, 1, 2}
    for place in range(3):
        for origin in "01":
            numbers = [value for partition, value in found if partition == place and value[0] == origin]
            assert numbers == sorted(numbers)


@both
def test_a_batch_whose_commit_spark_did_not_hear_of_is_not_written_again(pipeline: Pipeline) -> None:
    pipeline.produce("a", "b")
    pipeline.run()
    pipeline.forget_commit(0)
    pipeline.produce("c")
    pipeline.run()  # that batch again, and one with what is new
    assert pipeline.values() == ["a", "b", "c"]


def dying(original: Callable[..., Any], flag: Path) -> Callable[..., Any]:
    """The task of the sink, whose worker is killed once when all its rows are written."""

    def make(*arguments: Any) -> Callable[[Iterator[Any]], Iterator[Any]]:
        task = original(*arguments)

        def write(batches: Iterator[Any]) -> Iterator[Any]:
            results = list(task(batches))
            if results[0].num_rows and not flag.exists():
                flag.touch()
                os.kill(os.getpid(), signal.SIGKILL)
            yield from results

        return write

    return make


@both
def test_a_task_that_dies_after_writing_makes_the_whole_batch_new_and_nothing_double(
    pipeline: Pipeline, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(transactional, "_writing", dying(transactional._writing, tmp_path / "died"))
    values = [f"{number:03}" for number in range(100)]
    pipeline.produce(*values)
    pipeline.run()
    assert (tmp_path / "died").exists()
    assert "attempt 1 failed and is repeated" in caplog.text
    assert pipeline.values() == values
    assert len(pipeline.written("read_uncommitted")) > 100  # what the first attempt wrote is there, aborted


def test_a_deleted_checkpoint_writes_everything_again_and_skips_nothing(pipeline: Pipeline) -> None:
    pipeline.produce("a", "b")
    pipeline.run()
    shutil.rmtree(pipeline.checkpoint)
    pipeline.produce("c")
    pipeline.run()
    assert pipeline.values() == ["a", "a", "b", "b", "c"]


def test_a_checkpoint_restored_from_a_copy_is_refused(pipeline: Pipeline, tmp_path: Path) -> None:
    pipeline.produce("a")
    pipeline.run()
    shutil.copytree(pipeline.checkpoint, tmp_path / "copy")
    pipeline.produce("b")
    pipeline.run()
    shutil.rmtree(pipeline.checkpoint)
    shutil.copytree(tmp_path / "copy", pipeline.checkpoint)
    pipeline.produce("c")
    with pytest.raises(StreamingQueryException, match="restored from a copy"):
        pipeline.run()
    assert pipeline.values() == ["a", "b"]


def test_a_query_that_was_stopped_for_longer_than_its_progress_is_kept_is_refused(pipeline: Pipeline) -> None:
    pipeline.produce("a")
    pipeline.run()
    pipeline.forget_commit(0)
    query_id = json.loads((pipeline.checkpoint / "metadata").read_text())["id"]
    admin = AdminClient({"bootstrap.servers": pipeline.servers})
    group = f"penstock-sink-{query_id}"
    admin.delete_consumer_groups([group])[group].result(20)  # as the broker does after seven days
    entry = pipeline.checkpoint / "offsets" / "0"
    version, planned, *rest = entry.read_text().splitlines()
    old = {**json.loads(planned), "batchTimestampMs": 1_700_000_000_000}
    entry.write_text("\n".join([version, json.dumps(old), *rest]))
    (entry.parent / ".0.crc").unlink(missing_ok=True)
    with pytest.raises(StreamingQueryException, match=r"nobody knows whether this batch was written"):
        pipeline.run()


@both
def test_a_driver_whose_place_was_taken_stops_and_says_so(pipeline: Pipeline) -> None:
    pipeline.produce("a")
    query = pipeline.start(trigger={"processingTime": "0 seconds"})
    query.processAllAvailable()
    options = write_options({"kafka.bootstrap.servers": pipeline.servers, "topic": pipeline.output})
    name = f"penstock-sink-{query.id}"
    TransactionalWriter(options, transactional_id=name, group_id=name).open()
    pipeline.produce("b")
    with pytest.raises(StreamingQueryException, match="somebody else has taken it over"):
        query.awaitTermination(SECONDS)
    assert pipeline.values() == ["a"]
    pipeline.run()  # the newer run goes on where the last transaction ended
    assert pipeline.values() == ["a", "b"]


@pytest.mark.parametrize(
    ("mode", "expected"), [("complete", ["1 1", "1 1", "2 1"]), ("update", ["1 1", "2 1"])]
)
def test_results_are_written_whole_or_where_they_changed(
    pipeline: Pipeline, mode: str, expected: list[str]
) -> None:
    counted = pipeline.source().groupBy("value").count()
    rows = counted.selectExpr("value AS key", "concat(decode(value, 'UTF-8'), ' ', count) AS value")
    for value in ("1", "2"):
        pipeline.produce(value)
        pipeline.run(rows, output_mode=mode)
    assert pipeline.values() == expected


def test_rows_that_name_topic_partition_headers_and_time_keep_them(
    pipeline: Pipeline, new_topic: Callable[..., str]
) -> None:
    other = new_topic()
    pipeline.produce("0", "1", "2")
    rows = pipeline.source().selectExpr(
        f"CASE WHEN value = X'30' THEN '{other}' ELSE '{pipeline.output}' END AS topic",
        "CASE WHEN value = X'30' THEN 0 ELSE 2 END AS partition",
        "value",
        "array(named_struct('key', 'h', 'value', value)) AS headers",
        "timestamp_millis(1234) AS timestamp",
    )
    pipeline.run(rows, topic=None)
    assert pipeline.written() == [(2, "1"), (2, "2")]
    (found,) = pipeline.read(other)
    assert (found.value(), found.headers(), found.timestamp()[1]) == (b"0", [("h", b"0")], 1234)


def test_at_least_once_needs_no_transaction(pipeline: Pipeline) -> None:
    pipeline.produce("a", "b")
    pipeline.run(guarantee="at-least-once")
    assert sorted(value for _, value in pipeline.written("read_uncommitted")) == ["a", "b"]
    groups = AdminClient({"bootstrap.servers": pipeline.servers}).list_consumer_groups().result(20).valid
    query_id = json.loads((pipeline.checkpoint / "metadata").read_text())["id"]
    assert not [group for group in groups if query_id in group.group_id]


def test_an_output_that_nobody_answers_for_is_an_error_in_the_time_given(pipeline: Pipeline) -> None:
    pipeline.produce("a")
    with pytest.raises(StreamingQueryException, match=r"no broker answers at 127\.0\.0\.1:1 .*is it running"):
        pipeline.run(bootstrap_servers="127.0.0.1:1", options={"kafka.delivery.timeout.ms": "500"})
    pipeline.run()  # and nothing is lost
    assert pipeline.values() == ["a"]


def test_an_output_that_goes_away_in_the_middle_is_an_error_and_nothing_is_lost(
    pipeline: Pipeline, tmp_path: Path
) -> None:
    with BrokerProcess(str(tmp_path / "data"), {"auto.create.topics.enable": "true"}) as broker:
        away = {
            "bootstrap_servers": broker.bootstrap_servers,
            "trigger": {"processingTime": "0 seconds"},
            "options": {"kafka.delivery.timeout.ms": "3000"},
        }
        pipeline.produce("a")
        query = pipeline.start(**away)
        query.processAllAvailable()
        broker.kill()
        pipeline.produce("b")
        with pytest.raises(
            StreamingQueryException, match=rf"no broker answers at {broker.bootstrap_servers}"
        ):
            query.awaitTermination(SECONDS)
        broker.start()
        pipeline.run(bootstrap_servers=broker.bootstrap_servers)
        pipeline.servers = broker.bootstrap_servers
        assert pipeline.values() == ["a", "b"]


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"output_mode": "whole"}, "output_mode is one of append, complete, update, not 'whole'"),
        ({"guarantee": "at-most-once"}, "guarantee is exactly-once or at-least-once"),
        ({"topic": None}, "set the option topic, or give the rows a column topic"),
        ({"options": {"kafka.acks": "1"}}, "kafka.acks is always all"),
    ],
)
def test_what_cannot_be_done_is_refused_before_anything_starts(
    spark: SparkSession, tmp_path: Path, changes: dict[str, Any], sentence: str
) -> None:
    frame = spark.readStream.format("rate").load().selectExpr("CAST(value AS STRING) AS value")
    given = {"topic": "t", "bootstrap_servers": "127.0.0.1:1", "checkpoint": str(tmp_path)}
    with pytest.raises(OptionError, match=sentence):
        write_stream(frame, **{**given, **changes})


def test_a_frame_that_is_no_stream_is_sent_to_the_other_door(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(OptionError, match=r"df\.write"):
        write_stream(
            spark.range(1).selectExpr("CAST(id AS STRING) AS value"),
            topic="t",
            bootstrap_servers="127.0.0.1:1",
            checkpoint=str(tmp_path),
        )
