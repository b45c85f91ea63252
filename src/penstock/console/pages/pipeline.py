"""The page of one pipeline on Spark: rates, the phases of its last batch, state, lag by partition."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from urllib.parse import quote

from nicegui import ui

from penstock.console.batch_stats import WHOLE, BatchStats
from penstock.console.components.chart import Chart
from penstock.console.components.grid import Column, Grid, Row
from penstock.console.components.layout import Facts, Notice, page_head, panel
from penstock.console.components.live import Live
from penstock.console.components.pipeline_graph import PipelineGraph
from penstock.console.observing import pipelines_read
from penstock.console.pipelines import Pipeline
from penstock.console.plan_graph import plan_graph
from penstock.console.services import Services
from penstock.console.wording import UNKNOWN, ago, bytes_text, number, rate, seconds

FACTS = (
    "State", "Arriving", "Processed", "Last batch", "Ended", "Batches", "Repeated", "State size", "Watermark",
    "Lag records",
)  # fmt: skip
PHASES = (
    Column("phase", "Phase", "mono", "200px"),
    Column("meaning", "What happens"),
    Column("seconds", "Time", "seconds", "110px"),
    Column("share", "Of the batch", "percent", "110px"),
)
MEANINGS = {
    "latestOffset": "looks for the newest records",
    "getBatch": "notes which records the batch has",
    "queryPlanning": "Spark plans the batch",
    "walCommit": "writes down what the batch will read",
    "addBatch": "reads, computes and writes: the work itself",
    "commitOffsets": "writes down that the batch is done",
    "commitBatch": "writes down that the batch is done",
    WHOLE: "all of it",
}
PLACES = (
    Column("topic", "Topic"),
    Column("partition", "Partition", "number", "110px"),
    Column("lag", "Not processed yet", "number", "160px"),
)
NO_BATCH = {"title": "No batch yet", "text": "Phases appear with the first batch that has records."}
NO_LAG = {"title": "Nothing read yet", "text": "Partitions appear with the first batch."}
UNKNOWN_PIPELINE = (
    "No process publishes numbers of a pipeline of this name. The SQL server is asked by itself; start a "
    "Streams application with metrics.listener=HOST:PORT, and the console with --pipeline-metrics-url."
)
PRESSED = "More records arrive than it can process: the lag grows. More cores or executors help."


def pipeline_page(services: Services, name: str) -> None:
    ui.page_title(f"{name} · {services.title}")
    PipelinePage(services, name)


class PipelinePage:
    def __init__(self, services: Services, name: str) -> None:
        self._services = services
        self._name = name
        with Live("section").classes("page") as page:
            with page_head(name, (("Pipelines", "/pipelines"),), "Pipeline") as self._note:
                pass
            self._notice = Notice("pipeline-notice")
            self._facts = Facts(FACTS)
            with ui.element("div").classes("columns"):
                self._times = Chart("Time of a batch", "seconds")
                self._rates = Chart("Records a second", "rate")
            with panel("Phases of the last batch"):
                self._phases = Grid("Phases", PHASES, NO_BATCH, sort="seconds", descending=True)
            with panel("Lag by partition"):
                self._places = Grid("Lag by partition", PLACES, NO_LAG, sort="lag", descending=True)
            self._graph = PipelineGraph("The steps of the pipeline")
            self._graph.set_visibility(False)
        for feed in (services.groups, services.sql_state, services.batches):
            page.until_gone(feed.watch(lambda _: self._show()))

    def _show(self) -> None:
        found = next((each for each in pipelines_read(self._services) if each.name == self._name), None)
        stats = None if found is None else found.batches
        if found is None or stats is None:
            if self._services.batches.reading.value is not None:
                self._notice.show(UNKNOWN_PIPELINE)
            return
        self._notice.show(found.error or (PRESSED if stats.is_pressed else ""))
        self._note.set_text(f"reads {', '.join(found.reads) or 'nothing'}")
        self._facts.show(**_facts(found, stats))
        self._phases.show([_phase(phase, taken, stats) for phase, taken in stats.phases.items()])
        self._places.show([_place(*each) for each in stats.lags])
        self._show_charts()
        self._show_steps()

    def _show_charts(self) -> None:
        history, name = self._services.history, f"pipeline {self._name}"
        found = history.series([f"{name} seconds", f"{name} rate", f"{name} input"])
        if f"{name} seconds" in found:
            self._times.show(history.moments, {"batch": found[f"{name} seconds"]})
        rates = {"processed": f"{name} rate", "arriving": f"{name} input"}
        if known := {label: found[key] for label, key in rates.items() if key in found}:
            self._rates.show(history.moments, known)

    def _show_steps(self) -> None:
        """SQL describes the topology of its queries."""
        state = self._services.sql_state.reading.value
        query = next((each for each in state.queries if each.query_id == self._name), None) if state else None
        if query is not None and query.topology:
            self._graph.set_visibility(True)
            self._graph.show(plan_graph(query.topology))


def _facts(found: Pipeline, stats: BatchStats) -> dict[str, str]:
    mark = stats.watermark
    return {
        "state": found.state.capitalize(),
        "arriving": f"{rate(stats.input_rate)}/s",
        "processed": f"{rate(stats.rate)}/s",
        "last_batch": seconds(stats.seconds),
        "ended": ago(stats.last_batch, time.time()) if stats.last_batch else UNKNOWN,
        "batches": number(int(stats.batches)),
        "repeated": number(int(stats.repeated)),
        "state_size": bytes_text(stats.state_bytes),
        "watermark": f"{datetime.fromtimestamp(mark, UTC):%Y-%m-%d %H:%M:%S}" if mark else UNKNOWN,
        "lag_records": number(sum(lag for _, _, lag in stats.lags) if stats.lags else found.lag),
    }


def _phase(phase: str, taken: float, stats: BatchStats) -> Row:
    whole = stats.seconds
    return {
        "id": phase,
        "phase": phase,
        "meaning": MEANINGS.get(phase, ""),
        "seconds": taken,
        "share": 100 * taken / whole if whole else None,
    }


def _place(topic: str, partition: int, lag: int) -> Row:
    return {
        "id": f"{topic}-{partition}",
        "href": f"/topics/{quote(topic, safe='')}",
        "topic": topic,
        "partition": partition,
        "lag": lag,
    }
