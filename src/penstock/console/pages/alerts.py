"""The alerts page: what fires now, the rules, and what has happened."""

from __future__ import annotations

import time
from datetime import UTC, datetime

from nicegui import background_tasks, ui

from penstock.client.errors import ClientError
from penstock.console.alert_engine import Event
from penstock.console.alert_rules import KINDS, Rule
from penstock.console.components.controls import button, notify
from penstock.console.components.grid import Action, Column, Grid, Row
from penstock.console.components.layout import Notice, page_head, panel
from penstock.console.components.live import Live
from penstock.console.dialogs.alert_rule import RuleDialog, SilenceDialog
from penstock.console.services import Services
from penstock.console.wording import counted, seconds

LOOK_S = 2.0
FIRING = (
    Column("rule", "Rule", "text", "220px"),
    Column("sentence", "What", "text", "", "wrap"),
    Column("since", "For", "text", "110px", "num"),
)
RULES = (
    Column("name", "Rule"),
    Column("state", "State", "tag", "110px"),
    Column("kind", "When", "text", "250px", "wide-only"),
    Column("target", "Of", "mono", "150px", "wide-only"),
    Column("threshold", "More than", "text", "150px", "wide-only"),
    Column("tells", "Tells", "text", "150px", "wide-only"),
)
EVENTS = (
    Column("fired", "Fired", "text", "190px"),
    Column("rule", "Rule", "text", "180px", "wide-only"),
    Column("state", "State", "tag", "110px"),
    Column("sentence", "What", "text", "", "wrap"),
    Column("lasted", "Lasted", "text", "110px", "wide-only num"),
)
ACTIONS = (
    Action("edit", "Edit", "edit"),
    Action("silence", "Silence", "bell"),
    Action("delete", "Delete", "trash", danger=True),
)
QUIET = {"title": "Nothing fires", "text": "All rules hold."}
NO_RULES = {"title": "No rules yet", "text": "Create one: a lag, a topic without data, a disk that fills."}
NO_EVENTS = {
    "title": "Nothing has happened",
    "text": "Alerts that fired stand here, also after they cleared.",
}


def alerts_page(services: Services) -> None:
    ui.page_title(f"Alerts · {services.title}")
    AlertsPage(services)


class AlertsPage:
    def __init__(self, services: Services) -> None:
        self._services = services
        with Live("section").classes("page") as self._page:
            self._dialog = RuleDialog(services, self._look)
            self._silence = SilenceDialog(services, self._look)
            with page_head("Alerts") as self._note:
                button("Create rule", self._dialog.ask, kind="primary", symbol="plus").mark("create-rule")
            self._notice = Notice("alerts-notice")
            with panel("Firing now"):
                self._firing = Grid("Firing", FIRING, QUIET)
            with panel("Rules"):
                self._rules = Grid("Rules", RULES, NO_RULES, actions=ACTIONS)
            with panel("History"):
                self._events = Grid("History", EVENTS, NO_EVENTS)
            ui.timer(LOOK_S, self._look)
        self._rules.on("act", lambda event: self._act(event.args["action"], event.args["id"]))
        background_tasks.create(self._start(), name="alerts", context=self._page)

    async def _start(self) -> None:
        try:
            await self._services.alerts.start()
        except ClientError as error:
            self._notice.show(str(error))
        self._look()

    def _look(self) -> None:
        """What the process has in memory; no broker is asked."""
        alerts, now = self._services.alerts, time.time()
        silenced = {each.rule for each in alerts.silences}
        events = alerts.events
        firing = [event for event in events if event.cleared_at is None]
        self._notice.show("" if alerts.error is None else str(alerts.error))
        self._note.set_text(f"{counted(len(alerts.rules), 'rule')} · {len(firing)} firing")
        self._firing.show([_firing_row(event, now) for event in firing])
        broken = {event.rule for event in firing}
        self._rules.show(
            [_rule_row(rule, rule.name in broken, rule.name in silenced) for rule in alerts.rules]
        )
        self._events.show([_event_row(event, now) for event in events])

    def _act(self, action: str, name: str) -> None:
        rule = next((each for each in self._services.alerts.rules if each.name == name), None)
        if rule is None:
            return
        if action == "edit":
            self._dialog.ask(rule)
        elif action == "silence":
            self._silence.ask(rule)
        else:
            background_tasks.create(self._delete(name), name="delete rule", context=self._page)

    async def _delete(self, name: str) -> None:
        try:
            await self._services.alerts.delete(name)
        except ClientError as error:
            self._notice.show(str(error))
            return
        self._look()
        with self._page:
            notify(f"Deleted rule {name}. What it fired stays in the history.")


def _firing_row(event: Event, now: float) -> Row:
    return {
        "id": event.key,
        "rule": event.rule,
        "sentence": event.sentence,
        "since": seconds(max(1.0, now - event.fired_at)),
    }


def _rule_row(rule: Rule, fires: bool, silenced: bool) -> Row:
    kind = KINDS[rule.kind]
    state = {"text": "firing", "tone": "bad"} if fires else {"text": "holds", "tone": "good"}
    if not rule.enabled:
        state = {"text": "off", "tone": "plain"}
    elif silenced:
        state = {"text": "silenced", "tone": "warn"}
    wait = f" for {seconds(rule.for_s)}" if rule.for_s else ""
    return {
        "id": rule.name,
        "name": rule.name,
        "state": state,
        "kind": kind.title,
        "target": rule.target,
        "threshold": (f"{rule.threshold:g} {kind.unit}" if kind.unit else "any") + wait,
        "tells": ", ".join(channel.kind for channel in rule.channels) or "this page",
    }


def _event_row(event: Event, now: float) -> Row:
    cleared = event.cleared_at
    state = {"text": "firing", "tone": "bad"} if cleared is None else {"text": "cleared", "tone": "good"}
    return {
        "id": event.key,
        "fired": datetime.fromtimestamp(event.fired_at, UTC).strftime("%Y-%m-%d %H:%M:%S UTC"),
        "rule": event.rule,
        "state": {"text": "silenced", "tone": "warn"} if event.silenced and cleared is None else state,
        "sentence": event.sentence,
        "lasted": seconds(max(1.0, (cleared or now) - event.fired_at)),
    }
