"""A trace from the producer through an application of Streams to a sink, as a collector gets it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest

from penstock.client import Producer
from penstock.connect.api.guards import ALLOWED_PATHS
from penstock.connect.config.validation import Defaults
from penstock.connect.pipeline.rows import Row
from penstock.connect.pipeline.sink_work import SinkBatch
from penstock.metrics.tracing import Tracing
from penstock.plan.raw_records import ProducedColumns, fail
from penstock.protocol.topic_partition import TopicPartition
from penstock.spark.host import rows, work
from penstock.spark.host.program import BatchAttempt, Program
from penstock.spark.host.stages import stages
from penstock.streams import StreamsBuilder, StringSerde
from penstock.testing import Broker
from tests.operations.collector import Collector
from tests.peers.topic_reader import read_topic

pytestmark = pytest.mark.timeout(280)


@pytest.fixture
def collector(monkeypatch: pytest.MonkeyPatch) -> Iterator[Collector]:
    """The environment asks for traces; processes that the test starts inherit it."""
    running = Collector()
    monkeypatch.setenv("OTEL_TRACES_EXPORTER", "otlp")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", f"http://127.0.0.1:{running.server_port}")
    yield running
    running.shutdown()
    running.thread.join()
    running.server_close()


def test_a_shard_and_a_task_of_a_sink_go_on_with_the_trace_of_a_producer(
    collector: Collector, tmp_path: Path
) -> None:
    """The same without Spark: what a process of Spark runs, run here."""
    with Broker() as broker:
        with Producer({"bootstrap.servers": broker.bootstrap_servers, "client.id": "here"}) as producer:
            producer.send("asked", b"hello", headers=[("kept", b"1")]).result(30)
        (message,) = read_topic(broker.bootstrap_servers, "asked")
    answered = _processed(tuple(message.headers()), tmp_path)
    assert answered[0] == ("kept", b"1")
    config = {"file": str(tmp_path / "out.txt"), "topics": "answered", ALLOWED_PATHS: str(tmp_path)}
    place = TopicPartition("answered", 0)
    texts = Defaults(*["org.apache.kafka.connect.storage.StringConverter"] * 3)
    batch = SinkBatch(
        *("kept", "FileStreamSink", "", ((0, config, {place: (0, 1)}),), texts),
        Tracing.asked(os.environ, "connect-kept"),
    )
    batch.run(0, lambda *_: iter([Row("answered", 0, None, b"HELLO", answered, 0, 0)]), lambda _: None)
    assert (tmp_path / "out.txt").read_text() == "HELLO\n"
    spans = {span.service: span for span in collector.spans}
    sent, processed, put = spans["here"], spans["shouting"], spans["connect-kept"]
    assert {sent.trace, processed.trace, put.trace} == {sent.trace}
    assert (sent.parent, processed.parent, put.parent) == (b"", sent.span, processed.span)


def _processed(headers: tuple[tuple[str, bytes | None], ...], place: Path) -> tuple[Any, ...]:
    """The headers of what an application makes of a record with these."""
    builder = StreamsBuilder(key_serde=StringSerde(), value_serde=StringSerde())
    builder.stream("asked").map_values(str.upper).to("answered")
    plan, topics = builder.build().plan, {"asked": 1}
    tracing = Tracing.asked(os.environ, "shouting")
    program = Program(
        *("run", plan, "shouting", "", place, stages(plan, topics), topics, (), False, fail),  # type: ignore[arg-type]
        tracing=tracing,
    )
    columns = ProducedColumns([None], [b"hello"], ["asked"], [0], [0], [headers])
    table = rows.with_columns(rows.produced_table(columns, 0, 0, 0, 0), offset=pa.array([0], pa.int64()))
    shipped = SimpleNamespace(value=work.shipped(program))
    run = work.work(shipped, "shouting", "run", 0, BatchAttempt(0, "t", {}, 0, {}, {}))  # type: ignore[arg-type]
    (made,) = run(iter(table.select(list(rows.RECORD)).combine_chunks().to_batches()))
    assert made["value"].to_pylist() == [b"HELLO"]
    return rows.headers_of(made)[0]
