"""Who reads a topic: the groups that have committed offsets in it, and how far each is behind."""

from __future__ import annotations

import time
from dataclasses import replace

from nicegui import background_tasks

from penstock.client.errors import ClientError
from penstock.console.cluster_values import TopicProducer
from penstock.console.components.grid import Column, Grid, Row
from penstock.console.components.layout import Notice, panel
from penstock.console.components.live import Live
from penstock.console.components.topic_head import topic_head
from penstock.console.feed import Reading
from penstock.console.group_stats import AllGroups, GroupStats
from penstock.console.pages.groups import COLUMNS, group_row
from penstock.console.services import Services
from penstock.console.wording import ago

NOBODY = {
    "title": "No group reads this topic",
    "text": "A consumer appears here once it has committed an offset. One that never commits is not known.",
}


PRODUCERS = (
    Column("producer", "Transactional id, or producer"),
    Column("number", "Producer id", "text", "160px"),
    Column("state", "Transaction", "tag", "120px"),
    Column("partitions", "Partitions", "text", "240px", "wide-only"),
    Column("last", "Last written", "text", "140px"),
)
NO_PRODUCERS = {
    "title": "No producer is remembered",
    "text": "None was idempotent, or all have been idle for a day.",
}
OPEN, NOT_OPEN = {"text": "open", "tone": "warn"}, {"text": "none", "tone": "plain"}


def readers_page(services: Services, topic: str) -> None:
    with Live("section").classes("page") as page:
        topic_head(services, topic, "Readers")
        notice = Notice("readers-notice", tone="calm")
        table = Grid("Readers", COLUMNS[:-1], NOBODY, sort="lag", descending=True)
        with panel("Producers", "Idempotent ones that its partitions remember. Others leave nothing behind."):
            writers = Grid("Producers", PRODUCERS, NO_PRODUCERS, sort="producer")
            told = Notice("producers-notice", tone="calm")

    def receive(reading: Reading[AllGroups]) -> None:
        notice.show("" if reading.error is None else str(reading.error))
        if reading.value is not None:
            table.show([group_row(_only(topic, group)) for group in reading.value.readers(topic)])

    async def read_producers() -> None:
        try:
            found = await services.backend.producers(topic)
        except ClientError as error:
            told.show(str(error))
            return
        writers.show(producer_rows(found))

    page.until_gone(services.groups.watch(receive))
    background_tasks.create(read_producers(), name="producers", context=page)


def producer_rows(found: list[TopicProducer]) -> list[Row]:
    """One line for each producer, with the partitions that remember it."""
    by_id: dict[int, list[TopicProducer]] = {}
    for each in found:
        by_id.setdefault(each.producer_id, []).append(each)
    now = time.time()
    return [
        {
            "id": str(producer_id),
            "producer": each[0].transactional_id or f"Producer {producer_id}",
            "number": f"{producer_id}, epoch {max(one.producer_epoch for one in each)}",
            "partitions": ", ".join(str(one.partition) for one in each),
            "last": ago(max(one.last_timestamp_ms for one in each) / 1000, now),
            "state": OPEN if any(one.in_transaction for one in each) else NOT_OPEN,
        }
        for producer_id, each in by_id.items()
    ]


def _only(topic: str, group: GroupStats) -> GroupStats:
    """The group, with what it reads of this topic and no other."""
    return replace(group, partitions=tuple(each for each in group.partitions if each.lag.topic == topic))
