"""SQL and pipelines in a simulated browser."""

from __future__ import annotations

from penstock.console.components.grid import Grid
from penstock.console.components.pipeline_graph import PipelineGraph
from penstock.console.fake_backend import FakeBackend
from tests.console.conftest import Visit, Visitor
from tests.console.fake_services import FakeServices
from tests.console.pages.test_groups import grid


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


def test_pipelines_say_which_service_is_away(
    visit: Visit, backend: FakeBackend, others: FakeServices
) -> None:
    backend.commit("billing", "orders", 0, 1)
    others.away = True

    async def body(visitor: Visitor) -> None:
        await visitor.until(lambda: len(grid(visitor, "Pipelines").rows) == 1)
        await visitor.user.should_see("Not shown: SQL does not answer", retries=50)

    visit("/pipelines", body)
