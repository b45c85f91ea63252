"""The partitions of a topic: leader, replicas, ISR, offsets and size; records a second over the last hour."""

from __future__ import annotations

from nicegui import ui

from penstock.client.errors import TopicNotFound
from penstock.client.metadata import PartitionInfo
from penstock.console.cluster_values import Disks
from penstock.console.components.chart import Chart
from penstock.console.components.grid import Column, Grid, Row
from penstock.console.components.layout import Facts, Notice
from penstock.console.components.live import Live
from penstock.console.components.topic_head import topic_head
from penstock.console.feed import Reading
from penstock.console.overview import Overview
from penstock.console.services import Services
from penstock.console.wording import bytes_text, number, rate

COLUMNS = (
    Column("partition", "Partition", "number", "100px"),
    Column("state", "State", "tag", "150px"),
    Column("leader", "Leader", "text", "100px"),
    Column("replicas", "Replicas", "text", "130px"),
    Column("isr", "In sync", "text", "130px"),
    Column("start", "First offset", "number", "130px", "wide-only"),
    Column("end", "End", "number", "130px"),
    Column("records", "Records", "number", "120px", "wide-only"),
    Column("size", "Size", "bytes", "100px"),
)
WAITING = {"title": "Waiting for the broker", "text": "Partitions appear as soon as it answers."}
WELL = {"text": "in sync", "tone": "good"}
BEHIND = {"text": "under-replicated", "tone": "warn"}
OFFLINE = {"text": "offline", "tone": "bad"}


def partitions_page(services: Services, topic: str) -> None:
    PartitionsPage(services, topic)


class PartitionsPage:
    def __init__(self, services: Services, topic: str) -> None:
        self._services, self._topic = services, topic
        self._sizes: dict[int, int] = {}
        with Live("section").classes("page") as page:
            topic_head(services, topic, "Partitions", services.disks.refresh)
            self._notice = Notice("partitions-notice")
            self._facts = Facts(("Partitions", "Replicas", "Records", "Records/s", "Size"))
            self._table = Grid("Partitions", COLUMNS, WAITING, sort="partition")
            with ui.element("div").classes("columns"):
                self._chart = Chart("Records written per second", "rate")
                self._size_chart = Chart("Size", "bytes")
        page.until_gone(services.overview.watch(self._receive))
        page.until_gone(services.disks.watch(self._receive_disks))

    def _receive_disks(self, reading: Reading[Disks]) -> None:
        if reading.value is not None:
            self._sizes = {
                p: size for (topic, p), size in reading.value.sizes.items() if topic == self._topic
            }
            self._receive(self._services.overview.reading)

    def _receive(self, reading: Reading[Overview]) -> None:
        if reading.value is None:
            return
        info, stats = reading.value.snapshot.topic(self._topic), reading.value.topic(self._topic)
        self._notice.show("" if info is not None else str(TopicNotFound(self._topic)))
        if info is None or stats is None:
            self._table.show([])
            return
        self._table.show([self._row(partition) for partition in info.partitions])
        self._facts.show(
            partitions=number(stats.partitions),
            replicas=number(stats.replication_factor),
            records=number(stats.records),
            records_s=rate(stats.records_per_second),
            size=bytes_text(sum(self._sizes.values()) if self._sizes else None),
        )
        self._draw()

    def _draw(self) -> None:
        history = self._services.history
        for chart, what in ((self._chart, "records/s"), (self._size_chart, "bytes")):
            found = history.series([f"topic {self._topic} {what}"])
            if found:
                chart.show(history.moments, {what: next(iter(found.values()))})

    def _row(self, partition: PartitionInfo) -> Row:
        state = OFFLINE if partition.leader is None else WELL
        if partition.leader is not None and len(partition.isr) < len(partition.replicas):
            state = BEHIND
        return {
            "id": str(partition.index),
            "partition": partition.index,
            "state": state,
            "leader": partition.leader,
            "replicas": ", ".join(map(str, partition.replicas)),
            "isr": ", ".join(map(str, partition.isr)),
            "start": partition.log_start_offset,
            "end": partition.high_watermark,
            "records": partition.records,
            "size": self._sizes.get(partition.index),
        }
