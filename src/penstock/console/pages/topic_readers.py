"""Who reads a topic: the groups that have committed offsets in it, and how far each is behind."""

from __future__ import annotations

from dataclasses import replace

from penstock.console.components.grid import Grid
from penstock.console.components.layout import Notice
from penstock.console.components.live import Live
from penstock.console.components.topic_head import topic_head
from penstock.console.feed import Reading
from penstock.console.group_stats import AllGroups, GroupStats
from penstock.console.pages.groups import COLUMNS, group_row
from penstock.console.services import Services

NOBODY = {
    "title": "No group reads this topic",
    "text": "A consumer appears here once it has committed an offset. One that never commits is not known.",
}


def readers_page(services: Services, topic: str) -> None:
    with Live("section").classes("page") as page:
        topic_head(services, topic, "Readers")
        notice = Notice("readers-notice", tone="calm")
        table = Grid("Readers", COLUMNS[:-1], NOBODY, sort="lag", descending=True)

    def receive(reading: Reading[AllGroups]) -> None:
        notice.show("" if reading.error is None else str(reading.error))
        if reading.value is not None:
            table.show([group_row(_only(topic, group)) for group in reading.value.readers(topic)])

    page.until_gone(services.groups.watch(receive))


def _only(topic: str, group: GroupStats) -> GroupStats:
    """The group, with what it reads of this topic and no other."""
    return replace(group, partitions=tuple(each for each in group.partitions if each.lag.topic == topic))
