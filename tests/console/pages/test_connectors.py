"""Connectors in a simulated browser: a form made of the plugin's definition, states, errors."""

from __future__ import annotations

import pytest

from penstock.console.components.grid import Grid
from penstock.console.fake_backend import FakeBackend
from tests.console.conftest import Visit, Visitor
from tests.console.fake_services import PLUGIN, FakeServices
from tests.console.pages.test_groups import grid


@pytest.fixture
def running(others: FakeServices) -> FakeServices:
    config = {"connector.class": PLUGIN, "file": "/data/a", "errors.deadletterqueue.topic.name": "dead"}
    others.connectors["lines"] = {"config": config, "state": "RUNNING", "trace": None}
    return others


def test_a_connector_is_created_by_a_form_that_validates_as_one_types(
    visit: Visit, others: FakeServices
) -> None:
    async def body(visitor: Visitor) -> None:
        await visitor.until(lambda: grid(visitor, "Plugins").rows)
        visitor.click("create-connector")
        await visitor.until(lambda: "1 to mend" in visitor.text("connector-mistakes"))
        assert not visitor.marked("connector-confirm").enabled
        assert "Missing required" in visitor.marked("setting-file").error
        visitor.write("connector-name", "lines")
        visitor.write("setting-file", "/data/a")
        await visitor.until(lambda: "accepts" in visitor.text("connector-mistakes"))
        visitor.click("connector-confirm")
        await visitor.until(lambda: [row["id"] for row in grid(visitor, "Connectors").rows] == ["lines"])
        assert others.connectors["lines"]["config"]["file"] == "/data/a"

    visit("/connectors", body)


def test_a_connector_is_paused_and_resumed(visit: Visit, running: FakeServices) -> None:
    async def body(visitor: Visitor) -> None:
        await visitor.until(lambda: grid(visitor, "Connectors").rows)
        table = visitor.user.find(Grid)
        table.trigger("act", {"action": "pause", "id": "lines"})
        await visitor.until(lambda: grid(visitor, "Connectors").rows[0]["state"]["text"] == "paused")
        assert "resume" in grid(visitor, "Connectors").rows[0]["acts"]
        table.trigger("act", {"action": "resume", "id": "lines"})
        await visitor.until(lambda: grid(visitor, "Connectors").rows[0]["state"]["text"] == "running")

    visit("/connectors", body)


def test_a_connector_that_failed_shows_its_error_and_is_restarted(
    visit: Visit, running: FakeServices
) -> None:
    running.fail("lines", "Traceback:\n  at line 3\nNo such file: /data/a")

    async def body(visitor: Visitor) -> None:
        await visitor.until(lambda: visitor.text("fact-state") == "Failed")
        assert grid(visitor, "Tasks").rows[0]["error"] == "No such file: /data/a"
        await visitor.until(lambda: grid(visitor, "Offsets").rows)
        visitor.click("connector-restart")
        await visitor.until(lambda: visitor.text("fact-state") == "Running")

    visit("/connectors/lines", body)


def test_dead_letters_are_shown_with_their_reasons_and_sent_again(
    visit: Visit, running: FakeServices, backend: FakeBackend
) -> None:
    backend.add_topic("dead", 1)
    said = {"topic": b"orders", "partition": b"1", "offset": b"7", "exception.message": b"no such column"}
    headers = [(f"__connect.errors.{name}", value) for name, value in said.items()]
    backend.append("dead", b"v", b"k", headers)

    async def body(visitor: Visitor) -> None:
        await visitor.until(lambda: visitor.text("letters-waiting") == "1 letter not sent again yet")
        (row,) = grid(visitor, "Dead letters").rows
        assert (row["source"], row["why"]) == ("orders, partition 1, offset 7", "no such column")
        assert row["href"] == "/follow/dead?partition=0&offset=0"
        visitor.click("redrive")
        await visitor.until(lambda: "1 dead letter in dead will be sent" in visitor.text("redrive-what"))
        visitor.click("redrive-confirm")
        await visitor.user.should_see("1 dead letter sent again", retries=50)
        assert running.redriven == ["lines"]

    visit("/connectors/lines", body)


def test_a_connector_is_deleted_after_its_name_was_typed(visit: Visit, running: FakeServices) -> None:
    async def body(visitor: Visitor) -> None:
        await visitor.until(lambda: grid(visitor, "Connectors").rows)
        visitor.user.find(Grid).trigger("act", {"action": "delete", "id": "lines"})
        visitor.write("typed-connector", "lines")
        visitor.click("delete-connector-confirm")
        await visitor.until(lambda: not running.connectors)

    visit("/connectors", body)


def test_connect_that_is_away_says_how_to_start_it(visit: Visit, others: FakeServices) -> None:
    others.away = True

    async def body(visitor: Visitor) -> None:
        await visitor.user.should_see("Connect does not answer", retries=50)
        assert visitor.text("away-command").startswith("penstock connect")

    visit("/connectors", body)
