"""SQL and pipelines in a simulated browser."""

from __future__ import annotations

from penstock.console.components.grid import Grid
from penstock.console.components.pipeline_graph import PipelineGraph
from penstock.console.fake_backend import FakeBackend
from tests.console.conftest import Visit, Visitor
from tests.console.fake_services import FakeServices
from tests.console.pages.test_groups import grid
from tests.console.test_batch_stats import PAGE


def rows(visitor: Visitor) -> list[dict[str, object]]:
    found = [each for each in visitor.user.find(Grid).elements if each._props["caption"] == "Rows"]
    return found[0].rows if found else []


def test_rows_of_a_select_come_newest_first(visit: Visit) -> None:
    async def body(visitor: Visitor) -> None:
        await visitor.until(lambda: grid(visitor, "Running queries").rows)
        visitor.write("statement", "SELECT * FROM ORDERS EMIT CHANGES;")
        visitor.click("run")
        await visitor.until(lambda: len(rows(visitor)) == 2)
        assert [(row["c0"], row["c1"]) for row in rows(visitor)] == [("2", "null"), ("1", "2.5")]
        await visitor.until(lambda: visitor.text("sql-status") == "Ended after 2 rows")

    visit("/sql", body)


def test_a_mistake_is_said_in_the_server_s_words(visit: Visit) -> None:
    async def body(visitor: Visitor) -> None:
        await visitor.until(lambda: grid(visitor, "Running queries").rows)
        visitor.write("statement", "BROKEN;")
        visitor.click("run")
        await visitor.user.should_see("line 1: BROKEN is no statement", retries=50)
        visitor.write("statement", "SELECT * FROM NOWHERE;")
        visitor.click("run")
        await visitor.user.should_see("NOWHERE does not exist", retries=50)

    visit("/sql", body)


def test_a_statement_is_run_and_a_query_explained_and_terminated(visit: Visit, others: FakeServices) -> None:
    async def body(visitor: Visitor) -> None:
        await visitor.until(lambda: grid(visitor, "Running queries").rows)
        visitor.write("statement", "CREATE STREAM X AS SELECT * FROM ORDERS;")
        visitor.click("run")
        await visitor.user.should_see("Stream created", retries=50)
        table = visitor.user.find(Grid)
        table.trigger("act", {"action": "explain", "id": "CSAS_BIG_1"})
        await visitor.until(lambda: len(visitor.the(PipelineGraph).graph["nodes"]) == 5)
        table.trigger("act", {"action": "terminate", "id": "CSAS_BIG_1"})
        await visitor.until(lambda: not grid(visitor, "Running queries").rows)

    visit("/sql", body)


def test_sql_that_is_away_says_how_to_start_it(visit: Visit, others: FakeServices) -> None:
    others.away = True

    async def body(visitor: Visitor) -> None:
        await visitor.user.should_see("The SQL server does not answer", retries=50)

    visit("/sql", body)


def test_groups_queries_and_connectors_are_one_graph(
    visit: Visit, backend: FakeBackend, others: FakeServices
) -> None:
    backend.commit("billing", "orders", 0, 1)
    config = {"connector.class": "a.File", "file": "a"}
    others.connectors["lines"] = {"config": config, "state": "RUNNING", "trace": None}

    async def body(visitor: Visitor) -> None:
        await visitor.until(lambda: len(grid(visitor, "Pipelines").rows) == 3)
        graph = visitor.the(PipelineGraph).graph
        edges = {edge["id"] for edge in graph["edges"]}
        assert {
            "topic orders>group billing",
            "topic orders>query CSAS_BIG_1",
            "query CSAS_BIG_1>topic payments",
            "connector lines>topic orders",
        } <= edges
        others.fail("lines", "it broke")
        await visitor.user.should_see("3 pipelines · 1 failed", retries=50)
        visitor.write("search-pipelines", "billing")
        await visitor.until(lambda: [r["name"] for r in grid(visitor, "Pipelines").rows] == ["billing"])

    visit("/pipelines", body)


def test_a_pipeline_shows_the_phases_of_its_batches_its_state_and_its_steps(
    visit: Visit, backend: FakeBackend, others: FakeServices
) -> None:
    group = "_confluent-ksql-default_query_CSAS_BIG_1"
    backend.commit(group, "orders", 0, 1)
    others.metrics = PAGE.replace("counting", group)

    async def body(visitor: Visitor) -> None:
        await visitor.until(lambda: visitor.text("fact-state-size") == "3.0 KB")
        assert visitor.text("fact-arriving") == "900/s"
        assert visitor.text("fact-last-batch") == "400 ms"
        shares = {row["phase"]: row["share"] for row in grid(visitor, "Phases").rows}
        assert (round(shares["addBatch"]), shares["triggerExecution"]) == (75, 100)
        assert [row["lag"] for row in grid(visitor, "Lag by partition").rows] == [7, 0]
        await visitor.until(lambda: len(visitor.the(PipelineGraph).graph["nodes"]) == 5)
        await visitor.user.should_see("More records arrive than it can process")

    visit("/pipelines/CSAS_BIG_1", body)


def test_a_pipeline_that_publishes_nothing_says_what_to_do(visit: Visit) -> None:
    async def body(visitor: Visitor) -> None:
        await visitor.user.should_see("No process publishes numbers", retries=50)

    visit("/pipelines/nothing", body)


def test_pipelines_say_which_service_is_away(
    visit: Visit, backend: FakeBackend, others: FakeServices
) -> None:
    backend.commit("billing", "orders", 0, 1)
    others.away = True

    async def body(visitor: Visitor) -> None:
        await visitor.until(lambda: len(grid(visitor, "Pipelines").rows) == 1)
        await visitor.user.should_see("Not shown: SQL does not answer", retries=50)

    visit("/pipelines", body)


NUMBERS = {"lag_records": 7, "lag_seconds": 2.5, "records_per_second": 40.0, "bytes_per_second": 4000.0}
FLOW = {
    "source": "A",
    "target": "B",
    "state": "running",
    "batches": 3,
    "latency_seconds": 0.5,
    **NUMBERS,
    "errors": {"checkpoints": 2},
    "partitions": [{"topic": "orders", "partition": 1, **NUMBERS}],
}


def test_mirrors_show_lag_rates_and_errors(visit: Visit, others: FakeServices) -> None:
    others.flows = [FLOW]

    async def body(visitor: Visitor) -> None:
        await visitor.until(lambda: grid(visitor, "Mirrors").rows)
        (flow,) = grid(visitor, "Mirrors").rows
        assert (flow["flow"], flow["state"]) == ("A→B", {"text": "running", "tone": "good"})
        assert (flow["lag"], flow["seconds"], flow["rate"], flow["bytes"]) == (7, 2.5, 40.0, 4000.0)
        assert flow["errors"] == "checkpoints: 2"
        (row,) = grid(visitor, "Mirrored partitions").rows
        assert (row["topic"], row["partition"], row["lag"], row["seconds"]) == ("orders", 1, 7, 2.5)
        assert row["rate"] == 40.0

    visit("/pipelines", body)


def test_without_a_mirror_the_page_says_how_to_start_one(visit: Visit) -> None:
    async def body(visitor: Visitor) -> None:
        await visitor.until(lambda: grid(visitor, "Pipelines").rows)
        table = grid(visitor, "Mirrors")
        assert table.rows == []
        assert "penstock mirror" in table._props["empty"]["text"]

    visit("/pipelines", body)
