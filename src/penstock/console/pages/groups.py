"""The groups page: every group of consumers, share groups too, with its lag in records and in seconds."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from nicegui import ui

from penstock.console.components.controls import search_box
from penstock.console.components.grid import Column, Grid, Row
from penstock.console.components.layout import page_head, tabs
from penstock.console.components.live import Live
from penstock.console.feed import Reading
from penstock.console.group_stats import AllGroups, GroupStats
from penstock.console.services import Services
from penstock.console.wording import behind, counted

NO_GROUPS = {
    "title": "No groups yet",
    "text": "A group appears once a consumer joins it or commits an offset.",
}
NO_MATCH = {"title": "No group matches", "text": "Change the search."}
WAITING = {"title": "Waiting for the broker", "text": "Groups appear as soon as it answers."}
COLUMNS = (
    Column("group", "Group"),
    Column("state", "State", "tag", "130px"),
    Column("kind", "Protocol", "text", "110px", "wide-only"),
    Column("members", "Members", "number", "100px"),
    Column("topics", "Topics", "number", "90px", "wide-only"),
    Column("lag", "Lag, records", "number", "130px"),
    Column("seconds", "Lag, time", "seconds", "110px"),
    Column("trend", "Lag, last hour", "spark", "120px", "wide-only"),
)
TONES = {"STABLE": "good", "EMPTY": "plain", "DEAD": "bad"}
GROUP_TABS = (("Groups", "/groups"), ("Transactions", "/transactions"))


def groups_page(services: Services) -> None:
    ui.page_title(f"Groups · {services.title}")
    GroupsPage(services)


class GroupsPage:
    def __init__(self, services: Services) -> None:
        self._services = services
        self._search = ""
        with Live("section").classes("page") as page:
            with page_head("Groups") as self._note:
                pass
            tabs("Groups", GROUP_TABS, "Groups")
            with ui.element("div").classes("toolbar"):
                search_box("Search groups and topics", self._searched).mark("search-groups")
            self._table = Grid("Groups", COLUMNS, WAITING, sort="lag", descending=True)
        page.until_gone(services.groups.watch(self._receive))

    def _searched(self, event: Any) -> None:
        self._search = (event.value or "").strip().casefold()
        self._receive(self._services.groups.reading)

    def _receive(self, reading: Reading[AllGroups]) -> None:
        if reading.value is None:
            return
        groups = reading.value.groups
        found = [group for group in groups if self._matches(group)]
        self._table.show([self._row(group) for group in found], NO_MATCH if groups else NO_GROUPS)
        records = counted(sum(group.lag for group in groups), "record")
        self._note.set_text(f"{counted(len(groups), 'group')} · {records} behind in all")

    def _matches(self, group: GroupStats) -> bool:
        names = (group.info.group_id, *group.topics)
        return any(self._search in name.casefold() for name in names)

    def _row(self, group: GroupStats) -> Row:
        name = group.info.group_id
        history = self._services.history.series([f"group {name} lag"])
        lags = [value or 0.0 for value in next(iter(history.values()), [])]
        return group_row(group) | {"trend": lags[-60:]}


def group_row(group: GroupStats) -> Row:
    info, late = group.info, group.behind
    return {
        "id": info.group_id,
        "href": f"/groups/{quote(info.group_id, safe='')}",
        "group": info.group_id,
        "state": {"text": info.state.capitalize().replace("_", " "), "tone": TONES.get(info.state, "warn")},
        "kind": info.kind.capitalize(),
        "members": len(info.members),
        "topics": len(group.topics),
        "lag": group.lag,
        "seconds": behind(late) if late is not None and not late.exact else late and late.seconds,
    }
