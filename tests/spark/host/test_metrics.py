"""`/metrics` of an application and of a query of Spark's own, read over HTTP while they run."""

from __future__ import annotations

import json
import re
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from penstock.settings.listeners import format_address
from penstock.spark.pipeline_metrics import serve_metrics
from tests.spark.host.conftest import Run, Topics
from tests.spark.host.test_host import word_count

pytestmark = pytest.mark.timeout(300)
PATIENCE_S = 120.0


def page(address: tuple[str, int] | None, path: str = "/metrics") -> str:
    assert address is not None
    with urllib.request.urlopen(f"http://{format_address(*address)}{path}", timeout=30) as answer:
        return str(answer.read().decode())


def value(text: str, sample: str) -> float | None:
    found = re.search(rf"^{re.escape(sample)} (\S+)$", text, re.MULTILINE)
    return None if found is None else float(found[1])


def eventually(text: Callable[[], str], sample: str, wanted: float) -> str:
    end = time.monotonic() + PATIENCE_S
    while value(seen := text(), sample) != wanted:
        assert time.monotonic() < end, (sample, wanted, seen)
        time.sleep(0.2)  # between two scrapes
    return seen


def test_an_application_reports_records_phases_state_and_lag(run: Run, topics: Topics) -> None:
    topics.create("told-lines", partitions=2)
    topics.create("told-counts")
    topics.write("told-lines", [(None, b"a b"), (None, b"b"), (None, b"c")], partition=1)
    settings = {"metrics.listener": "127.0.0.1:0", "auto.offset.reset": "earliest"}
    trigger = {"processingTime": "0 seconds"}
    application = run(word_count("told-lines", "told-counts"), "told", settings, trigger=trigger)
    records = 'penstock_pipeline_input_records_total{pipeline="told"}'
    seen = eventually(lambda: page(application.metrics_address), records, 3)
    phase = 'penstock_pipeline_phase_seconds{pipeline="told",phase="addBatch"}'
    lag = 'penstock_pipeline_lag_records{pipeline="told",topic="told-lines",partition="1"}'
    seen = eventually(lambda: page(application.metrics_address), lag, 0)  # Spark reports when a batch is over
    assert (value(seen, phase) or 0) > 0
    state = re.findall(
        r'^penstock_pipeline_state_bytes\{pipeline="told",operator="\d_\d"\} (\S+)$', seen, re.M
    )
    assert sum(map(float, state)) > 0
    assert value(seen, 'penstock_pipeline_up{pipeline="told"}') == 1
    task = 'thread_id="told-StreamThread-1",task_id="0_1"'
    assert value(seen, f"kafka_streams_stream_task_metrics_process_total{{{task}}}") == 3
    assert value(seen, 'kafka_streams_stream_metrics_client_state{client_id="told"}') == 2
    assert (value(seen, "process_resident_memory_bytes") or 0) > 1e6
    assert json.loads(page(application.metrics_address, "/ready")) == {"status": "READY"}
    application.close()
    assert application.metrics_address is None


def test_a_query_of_sparks_own_reports_its_batches_and_lag(
    spark: SparkSession, topics: Topics, tmp_path: Path
) -> None:
    topics.create("plain-in", "plain-out")
    topics.write("plain-in", [(None, b"1"), (None, b"2")])
    endpoint = serve_metrics(spark, "127.0.0.1:0")
    servers = {"kafka.bootstrap.servers": topics.servers}
    rows = spark.readStream.format("penstock").options(**servers, subscribe="plain-in")
    rows = rows.option("startingOffsets", "earliest")
    query = (
        rows.load()
        .writeStream.format("penstock")
        .options(**servers, topic="plain-out", checkpointLocation=str(tmp_path))
        .queryName("plain")
        .start()
    )
    try:
        eventually(
            lambda: page(endpoint.address), 'penstock_pipeline_input_records_total{pipeline="plain"}', 2
        )
        lag = 'penstock_pipeline_lag_records{pipeline="plain",topic="plain-in",partition="0"}'
        eventually(lambda: page(endpoint.address), lag, 0)
        query.stop()
        eventually(lambda: page(endpoint.address), 'penstock_pipeline_up{pipeline="plain"}', 0)
    finally:
        query.stop()
        endpoint.close()
