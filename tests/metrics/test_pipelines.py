"""Numbers of pipelines: what a batch adds, what Spark's report says, and Kafka's names for it."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

import pytest

from penstock.metrics import connect, pipelines, streams
from penstock.metrics.connect import BatchReport, TaskCounts
from penstock.metrics.pipelines import PipelineCounts, Place
from penstock.metrics.text import Sample, render

PAGE = Path(__file__).parents[2] / "docs" / "metrics.md"


def found(samples: list[Sample]) -> dict[str, float]:
    """Each sample as its line of text, without its number."""
    lines = [line.rpartition(" ") for line in render(samples).splitlines() if not line.startswith("#")]
    return {name: float(value) for name, _, value in lines}


def test_batches_add_up_by_partition() -> None:
    counts = PipelineCounts("app")
    counts.committed({Place("t", 0): 3, Place("t", 1): 0}, 0.5, now=100.0)
    counts.committed({Place("t", 0): 1, Place("t", 1): 4}, 1.5, now=101.0)
    told = found(list(counts.samples(up=True)))
    assert told['penstock_pipeline_batches_total{pipeline="app"}'] == 2
    assert told['penstock_pipeline_input_records_total{pipeline="app"}'] == 8
    assert told['penstock_pipeline_batch_seconds_sum{pipeline="app"}'] == 2.0
    assert told['penstock_pipeline_last_batch_timestamp_seconds{pipeline="app"}'] == 101.0
    assert counts.records_by_place == {Place("t", 0): 4, Place("t", 1): 4}


def test_kafka_streams_names_of_the_same_numbers() -> None:
    counts = PipelineCounts("app")
    counts.committed({Place("t", 0): 3, Place("u", 0): 2, Place("t", 1): 5}, 2.0, now=1.0)
    tasks = {Place("t", 0): "0_0", Place("u", 0): "0_0", Place("t", 1): "0_1"}
    told = found(list(streams.samples(counts, "running", tasks, {Place("t", 1): 7})))
    thread = 'thread_id="app-StreamThread-1"'
    assert told[f"kafka_streams_stream_thread_metrics_process_total{{{thread}}}"] == 10
    assert told[f"kafka_streams_stream_thread_metrics_commit_total{{{thread}}}"] == 1
    assert told[f"kafka_streams_stream_thread_metrics_process_latency_avg{{{thread}}}"] == 200.0
    assert told[f'kafka_streams_stream_task_metrics_process_total{{{thread},task_id="0_0"}}'] == 5
    assert told[f'kafka_streams_stream_task_metrics_process_total{{{thread},task_id="0_1"}}'] == 5
    assert told['kafka_streams_stream_metrics_client_state{client_id="app"}'] == 2
    lag = 'kafka_consumer_consumer_fetch_manager_metrics_records_lag{client_id="app",topic="t",partition="1"}'
    assert told[lag] == 7


def test_what_spark_reports_of_a_batch() -> None:
    progress = {
        "inputRowsPerSecond": 12.5,
        "processedRowsPerSecond": float("nan"),
        "durationMs": {"addBatch": 250, "walCommit": 8},
        "eventTime": {"watermark": "1970-01-01T00:01:00.000Z"},
        "stateOperators": [{"numRowsTotal": 9, "memoryUsedBytes": 1000}],
    }
    told = found(list(pipelines.progress_samples("q", progress)))
    assert told == {
        'penstock_pipeline_input_records_per_second{pipeline="q"}': 12.5,
        'penstock_pipeline_processed_records_per_second{pipeline="q"}': 0.0,
        'penstock_pipeline_phase_seconds{pipeline="q",phase="addBatch"}': 0.25,
        'penstock_pipeline_phase_seconds{pipeline="q",phase="walCommit"}': 0.008,
        'penstock_pipeline_watermark_timestamp_seconds{pipeline="q"}': 60.0,
        'penstock_pipeline_state_records{pipeline="q",operator="0"}': 9,
        'penstock_pipeline_state_bytes{pipeline="q",operator="0"}': 1000,
    }


def test_a_task_of_a_connector_adds_its_notes_up() -> None:
    counts = TaskCounts()
    note = {
        "task": 0,
        "counts": {"taken": 5, "done": 3, "failed": 2, "skipped": 2, "logged": 1, "letters": 2},
    }
    counts.add(BatchReport.of(note), 0.5, 1000, failed=False)
    counts.add(BatchReport.of({"task": 0}), 0.1, 2000, failed=False)
    told = found(list(counts.samples("c", 0, source=False)))
    task = 'connector="c",task="0"'
    assert told[f"kafka_connect_sink_task_metrics_sink_record_read_total{{{task}}}"] == 5
    assert told[f"kafka_connect_sink_task_metrics_sink_record_send_total{{{task}}}"] == 3
    assert told[f"kafka_connect_task_error_metrics_total_records_skipped{{{task}}}"] == 2
    assert told[f"kafka_connect_task_error_metrics_deadletterqueue_produce_requests{{{task}}}"] == 2
    assert told[f"kafka_connect_task_error_metrics_last_error_timestamp{{{task}}}"] == 1000
    assert told[f"kafka_connect_connector_task_metrics_batch_size_max{{{task}}}"] == 5
    assert not any("source_task" in name for name in told)


@pytest.mark.parametrize(
    ("title", "module"),
    [("A pipeline", pipelines), ("Kafka Streams' names", streams), ("Kafka Connect's names", connect)],
)
def test_the_page_lists_what_is_declared(title: str, module: ModuleType) -> None:
    section = PAGE.read_text().partition(f"## {title}\n")[2].partition("\n## ")[0]
    rows = [line for line in section.splitlines() if line.startswith("| `")]
    assert rows == [
        f"| `{each.name}` | {each.kind} | {', '.join(f'`{label}`' for label in each.labels)} | {each.help} |"
        for each in module.FAMILIES
    ]
