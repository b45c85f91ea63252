"""Pipelines by what their processes publish."""

from __future__ import annotations

import asyncio

import httpx

from penstock.console.batch_stats import BatchStats, batch_stats, batches_feed
from penstock.console.pipelines import pipeline_graph, pipelines
from penstock.console.prometheus import parse
from penstock.console.remotes import Addresses, Remotes

PAGE = """# HELP penstock_pipeline_up 1 while a pipeline runs
penstock_pipeline_up{pipeline="counting"} 1
penstock_pipeline_batches_total{pipeline="counting"} 12
penstock_pipeline_repeated_batches_total{pipeline="counting"} 1
penstock_pipeline_input_records_total{pipeline="counting"} 3400
penstock_pipeline_input_records_per_second{pipeline="counting"} 900
penstock_pipeline_processed_records_per_second{pipeline="counting"} 500
penstock_pipeline_phase_seconds{pipeline="counting",phase="addBatch"} 0.3
penstock_pipeline_phase_seconds{pipeline="counting",phase="triggerExecution"} 0.4
penstock_pipeline_state_bytes{pipeline="counting",operator="0_0"} 1024
penstock_pipeline_state_bytes{pipeline="counting",operator="0_1"} 2048
penstock_pipeline_lag_records{pipeline="counting",topic="said",partition="0"} 7
penstock_pipeline_lag_records{pipeline="counting",topic="said",partition="1"} 0
process_cpu_seconds_total 4
"""
STANDBY = 'penstock_pipeline_up{pipeline="counting"} 0\n'


def test_a_page_is_read_by_pipeline() -> None:
    (stats,) = batch_stats(parse(PAGE)).values()
    assert stats == BatchStats(
        "counting",
        up=True,
        batches=12,
        repeated=1,
        records=3400,
        input_rate=900,
        rate=500,
        phases={"addBatch": 0.3, "triggerExecution": 0.4},
        state_bytes=3072,
        lags=(("said", 0, 7), ("said", 1, 0)),
    )
    assert stats.seconds == 0.4
    assert stats.is_pressed, "900 come and 500 are processed"


def test_a_pipeline_without_a_group_stands_in_the_graph_by_itself() -> None:
    (found,) = pipelines(None, None, None, [], {}, batch_stats(parse(PAGE)))
    assert (found.kind, found.state, found.reads, found.lag) == ("spark", "RUNNING", ("said",), 7)
    assert (found.href, found.tone) == ("/pipelines/counting", "warn")
    (node,) = [each for each in pipeline_graph([found], None).nodes if each.kind == "spark"]
    assert node.detail == "running · 7 behind · 400 ms a batch · 3.0 KB state · cannot keep up"


def test_of_two_instances_the_one_that_runs_is_shown() -> None:
    pages = {"8088": "", "8083": "", "1": PAGE, "2": STANDBY, "3": None}

    def answer(request: httpx.Request) -> httpx.Response:
        page = pages[str(request.url.port)]
        if page is None:
            raise httpx.ConnectError("refused")
        return httpx.Response(200, text=page)

    async def look(order: str) -> BatchStats:
        urls = tuple(f"http://a:{port}/metrics" for port in order)
        feed = batches_feed(Remotes.at(Addresses(pipelines=urls), httpx.MockTransport(answer)))
        return (await feed.current(1.0))["counting"]

    assert [asyncio.run(look(order)).up for order in ("123", "321")] == [True, True]
