"""Alerts: rules are judged, fire after their time, clear, are kept, and people are told."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from penstock.client.errors import InvalidValue
from penstock.console.alert_rules import KINDS, Channel, Rule, checked
from penstock.console.alert_store import MemoryStore
from penstock.console.dialogs.alert_rule import parse_channels
from penstock.console.fake_backend import FakeBackend
from penstock.console.notifying import mail, slack
from penstock.console.observing import observe
from penstock.console.services import Services
from tests.console.conftest import fake_services_over
from tests.console.fake_services import FakeServices

HOOK = Channel("webhook", "http://hooks.test/penstock")


def run(work: Callable[[], Awaitable[None]]) -> None:
    asyncio.run(work())  # type: ignore[arg-type]


class Scene:
    """Rules over the fake cluster; each `look` is one look of the recorder."""

    def __init__(self, services: Services) -> None:
        self.services = services
        self.now = 1_000.0

    async def look(self, later_s: float = 10.0) -> list[tuple[str, bool]]:
        self.now += later_s
        seen = await observe(self.services, 0.0)
        changed = await self.services.alerts.step(seen, self.now)
        return [(event.subject, event.cleared_at is None) for event in changed]


def scene(
    backend: FakeBackend,
    others: FakeServices,
    body: Callable[[Scene], Awaitable[None]],
    store: MemoryStore | None = None,
) -> None:
    async def work() -> None:
        services = fake_services_over(backend, others, store)
        try:
            await body(Scene(services))
        finally:
            await services.close()

    run(work)


def a_group_falls_behind(backend: FakeBackend, _others: FakeServices) -> None:
    backend.commit("billing", "orders", 0, 0)


def it_catches_up(backend: FakeBackend, _others: FakeServices) -> None:
    backend.commit("billing", "orders", 0, 2)


def a_disk_fills(backend: FakeBackend, _others: FakeServices) -> None:
    backend.usable_bytes = 10


def a_disk_is_emptied(backend: FakeBackend, _others: FakeServices) -> None:
    backend.usable_bytes = 700


def replicas_are_lost(backend: FakeBackend, _others: FakeServices) -> None:
    backend.lose_replicas("orders")


def replicas_return(backend: FakeBackend, _others: FakeServices) -> None:
    backend.restore_replicas("orders")


def a_connector_fails(_backend: FakeBackend, others: FakeServices) -> None:
    others.connectors["lines"] = {"config": {}, "state": "FAILED", "trace": "it broke"}


def the_connector_is_mended(_backend: FakeBackend, others: FakeServices) -> None:
    others.connectors["lines"] |= {"state": "RUNNING", "trace": None}


@pytest.mark.parametrize(
    ("rule", "cause", "cure", "subject"),
    [
        (Rule("r", "lag", "bill*", 1), a_group_falls_behind, it_catches_up, "billing"),
        (Rule("r", "disk", "*", 90), a_disk_fills, a_disk_is_emptied, "1:/data"),
        (Rule("r", "under_replication", "*", 0), replicas_are_lost, replicas_return, "orders"),
        (Rule("r", "failed_pipeline"), a_connector_fails, the_connector_is_mended, "lines"),
    ],
)
def test_an_alert_fires_with_its_cause_and_clears_with_its_cure(
    backend: FakeBackend, others: FakeServices, rule: Rule, cause: Any, cure: Any, subject: str
) -> None:
    async def body(at: Scene) -> None:
        await at.services.alerts.save(
            Rule(rule.name, rule.kind, rule.target, rule.threshold, channels=(HOOK,))
        )
        assert await at.look() == []
        cause(backend, others)
        assert await at.look() == [(subject, True)]
        assert await at.look() == [], "it is told once"
        cure(backend, others)
        assert await at.look() == [(subject, False)]
        assert [sent["state"] for _, sent in others.sent] == ["fired", "cleared"]

    scene(backend, others, body)


def test_a_topic_without_data_fires_and_clears_when_data_comes(
    backend: FakeBackend, others: FakeServices
) -> None:
    async def body(at: Scene) -> None:
        await at.services.alerts.save(Rule("silent", "no_data", "payments"))
        # A rate needs two sights of the topic, and one look may see it twice.
        assert [*await at.look(), *await at.look()] == [("payments", True)]
        backend.append("payments", b"x")
        assert [*await at.look(), *await at.look()] == [("payments", False)]

    scene(backend, others, body)


def test_a_rule_waits_for_its_time_and_a_short_trouble_is_none(
    backend: FakeBackend, others: FakeServices
) -> None:
    async def body(at: Scene) -> None:
        await at.services.alerts.save(Rule("r", "lag", "*", 0, for_s=30))
        a_group_falls_behind(backend, others)
        assert await at.look() == []
        it_catches_up(backend, others)
        assert await at.look() == []
        a_group_falls_behind(backend, others)
        assert [await at.look() for _ in range(4)] == [[], [], [], [("billing", True)]]

    scene(backend, others, body)


def test_while_the_cluster_is_away_nothing_fires_and_nothing_clears(
    backend: FakeBackend, others: FakeServices
) -> None:
    async def body(at: Scene) -> None:
        await at.services.alerts.save(Rule("r", "lag", "*", 0))
        a_group_falls_behind(backend, others)
        assert await at.look() == [("billing", True)]
        backend.unreachable = True
        assert await at.look() == []
        backend.unreachable = False
        assert await at.look() == []

    scene(backend, others, body)


def test_a_silenced_rule_tells_nobody_and_stands_in_the_history(
    backend: FakeBackend, others: FakeServices
) -> None:
    async def body(at: Scene) -> None:
        at.now = time.time()
        await at.services.alerts.save(Rule("r", "lag", "*", 0, channels=(HOOK,)))
        await at.services.alerts.silence("r", 60, "planned work")
        a_group_falls_behind(backend, others)
        assert await at.look() == [("billing", True)]
        assert others.sent == []
        assert at.services.alerts.events[0].silenced

    scene(backend, others, body)


def test_what_fired_before_a_restart_clears_after_it(backend: FakeBackend, others: FakeServices) -> None:
    store = MemoryStore()

    async def before(at: Scene) -> None:
        await at.services.alerts.save(Rule("r", "lag", "*", 0))
        a_group_falls_behind(backend, others)
        assert await at.look() == [("billing", True)]

    async def after(at: Scene) -> None:
        assert [event.subject for event in at.services.alerts.firing] == ["billing"]
        assert await at.look() == [], "it is not told again"
        it_catches_up(backend, others)
        assert await at.look() == [("billing", False)]

    scene(backend, others, before, store)
    scene(backend, others, after, store)


def test_a_rule_that_is_switched_off_clears_what_it_fired(backend: FakeBackend, others: FakeServices) -> None:
    async def body(at: Scene) -> None:
        await at.services.alerts.save(Rule("r", "lag", "*", 0))
        a_group_falls_behind(backend, others)
        assert await at.look() == [("billing", True)]
        await at.services.alerts.save(Rule("r", "lag", "*", 0, enabled=False))
        assert await at.look() == [("billing", False)]

    scene(backend, others, body)


def test_wrong_rules_are_refused_with_what_to_write() -> None:
    with pytest.raises(InvalidValue, match="has no name"):
        checked(Rule(" ", "lag"))
    with pytest.raises(InvalidValue, match="no rule of kind"):
        checked(Rule("r", "mood"))
    with pytest.raises(InvalidValue, match="no address for email"):
        checked(Rule("r", "lag", channels=(Channel("email", "http://x"),)))
    with pytest.raises(InvalidValue, match="names no channel"):
        parse_channels("pigeon somewhere")
    assert set(KINDS) >= {"lag", "no_data", "errors", "disk", "under_replication", "failed_pipeline"}


def test_messages_for_slack_and_for_e_mail(backend: FakeBackend, others: FakeServices) -> None:
    async def body(at: Scene) -> None:
        await at.services.alerts.save(Rule("lag of billing", "lag", "*", 0))
        a_group_falls_behind(backend, others)
        await at.look()
        (event,) = at.services.alerts.firing
        assert slack(event)["text"] == (
            ":rotating_light: *lag of billing* fired: Group billing is 2 records behind"
        )
        letter = mail(event, "a@x", "b@y")
        assert letter["Subject"] == "[Penstock] lag of billing fired: billing"

    scene(backend, others, body)
