"""The alerts page in a simulated browser."""

from __future__ import annotations

from penstock.console.components.grid import Grid
from penstock.console.fake_backend import FakeBackend
from penstock.console.recorder import Recorder
from tests.console.conftest import Visit, Visitor
from tests.console.pages.test_groups import grid


def test_a_rule_is_made_fires_is_silenced_and_deleted(visit: Visit, backend: FakeBackend) -> None:
    backend.commit("billing", "orders", 0, 0)

    async def body(visitor: Visitor) -> None:
        recorder = Recorder(visitor.services, 0.05)
        visitor.click("create-rule")
        visitor.write("rule-name", "billing reads")
        visitor.write("rule-threshold", "1")
        visitor.click("rule-confirm")
        await visitor.until(lambda: [row["id"] for row in grid(visitor, "Rules").rows] == ["billing reads"])
        recorder.start()
        await visitor.until(lambda: grid(visitor, "Firing").rows)
        assert "2 records behind" in grid(visitor, "Firing").rows[0]["sentence"]
        table = visitor.user.find(Grid)
        table.trigger("act", {"action": "silence", "id": "billing reads"})
        visitor.click("silence-confirm")
        await visitor.until(lambda: grid(visitor, "Rules").rows[0]["state"]["text"] == "silenced")
        backend.commit("billing", "orders", 0, 2)
        await visitor.until(lambda: not grid(visitor, "Firing").rows)
        await visitor.until(lambda: grid(visitor, "History").rows[0]["state"]["text"] == "cleared")
        table.trigger("act", {"action": "delete", "id": "billing reads"})
        await visitor.until(lambda: not grid(visitor, "Rules").rows)
        await recorder.close()

    visit("/alerts", body)


def test_a_rule_that_cannot_be_says_why(visit: Visit) -> None:
    async def body(visitor: Visitor) -> None:
        visitor.click("create-rule")
        visitor.write("rule-name", "r")
        visitor.write("rule-channels", "slack nowhere")
        visitor.click("rule-confirm")
        await visitor.user.should_see("is no address for slack", retries=50)

    visit("/alerts", body)
