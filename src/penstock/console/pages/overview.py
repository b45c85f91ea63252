"""The overview page: health at a glance, throughput and latency over time, what needs attention now."""

from __future__ import annotations

from collections.abc import Iterable
from urllib.parse import quote

from nicegui import ui

from penstock.console.attention import Concern, concerns
from penstock.console.broker_stats import Traffic
from penstock.console.cluster_values import Disks
from penstock.console.components.chart import Chart
from penstock.console.components.controls import icon, text
from penstock.console.components.grid import Column, Grid
from penstock.console.components.layout import Facts, page_head, panel
from penstock.console.components.live import Live
from penstock.console.feed import Reading
from penstock.console.group_stats import AllGroups, GroupStats
from penstock.console.overview import Overview
from penstock.console.services import Services
from penstock.console.wording import UNKNOWN, behind, bytes_text, number, rate

LAGS_MAX = 8
FACTS = ("Brokers", "Controller", "Topics", "Partitions", "Offline", "Under-replicated", "Records/s", "Disk")


def overview_page(services: Services) -> None:
    ui.page_title(f"Overview · {services.title}")
    OverviewPage(services)


class OverviewPage:
    def __init__(self, services: Services) -> None:
        self._services = services
        self._shown_concerns: tuple[bool, list[Concern]] | None = None
        with Live("section").classes("page") as page:
            with page_head("Overview") as self._note:
                pass
            self._facts = Facts(FACTS)
            with panel("Needs attention"):
                self._attention = ui.element("div").classes("card concerns")
            with ui.element("div").classes("columns"):
                self._records = Chart("Records written per second, all topics", "rate")
                self._bytes = Chart("Bytes per second", "bytes_rate", NO_METRICS)
            with ui.element("div").classes("columns"):
                self._times = Chart("Request times, 99th percentile", "ms", NO_METRICS)
                with panel("Largest lags"):
                    self._lags = Grid("Largest lags", LAG_COLUMNS, NO_LAGS, sort="lag", descending=True)
        page.until_gone(services.overview.watch(self._receive))
        page.until_gone(services.groups.watch(self._receive_groups))
        page.until_gone(services.disks.watch(self._receive_disks))
        page.until_gone(services.traffic.watch(self._receive_traffic))

    def _receive(self, reading: Reading[Overview]) -> None:
        overview = reading.value
        if overview is None or reading.error is not None:
            self._show_concerns()
            return
        cluster, topics = overview.snapshot.cluster, overview.snapshot.topics
        partitions = [partition for topic in topics for partition in topic.partitions]
        self._note.set_text(f"Cluster {cluster.cluster_id or 'without an id'}")
        self._facts.show(
            brokers=number(len(cluster.brokers)),
            controller=UNKNOWN if cluster.controller_id is None else f"Broker {cluster.controller_id}",
            topics=number(cluster.topics),
            partitions=number(cluster.partitions),
            offline=number(sum(p.leader is None for p in partitions)),
            **{"under-replicated": number(sum(len(p.isr) < len(p.replicas) for p in partitions))},
            records_s=rate(sum(topic.records_per_second or 0.0 for topic in overview.topics)),
        )
        self._show_charts()
        self._show_concerns()

    def _receive_groups(self, reading: Reading[AllGroups]) -> None:
        if reading.value is None:
            return
        reading_groups = [group for group in reading.value.groups if group.partitions]
        worst = sorted(reading_groups, key=lambda group: -group.lag)[:LAGS_MAX]
        self._lags.show([lag_row(group) for group in worst])
        self._show_concerns()

    def _receive_disks(self, reading: Reading[Disks]) -> None:
        if reading.value is not None:
            used = sum(each.used_bytes for each in reading.value.directories)
            self._facts.show(disk=bytes_text(used))
            self._show_concerns()

    def _receive_traffic(self, _: Reading[Traffic]) -> None:
        self._show_charts()

    def _show_charts(self) -> None:
        history = self._services.history
        moments = history.moments
        if moments and moments[-1:] != getattr(self, "_drawn", None):
            self._drawn = moments[-1:]
            self._records.show(moments, history.series(["records/s"]))
            self._bytes.show(moments, history.series(["bytes in", "bytes out"]))
            self._times.show(moments, history.series(["Produce p99", "Fetch p99"]))

    def _show_concerns(self) -> None:
        services = self._services
        overview = services.overview.reading
        known = overview.value is not None and overview.error is None
        found = concerns(overview.value, services.groups.reading.value, services.disks.reading.value)
        if (known, found) == self._shown_concerns:
            return
        self._shown_concerns = known, found
        self._attention.clear()
        with self._attention:
            _list(found, known)


def _list(found: Iterable[Concern], known: bool) -> None:
    if not known:
        with ui.element("p").classes("concern warn"):
            icon("warning")
            text("span", "Not known while the cluster does not answer.").mark("unknown")
    if known and not found:
        with ui.element("p").classes("concern good"):
            icon("check")
            text("span", "Nothing. All partitions have their leader and their copies.").mark("all-well")
        return
    with ui.element("ul").classes("concern-list"):
        for each in found:
            with ui.element("li").classes(f"concern {each.severity}"):
                icon("warning")
                text("a", each.sentence).props(f'href="{each.href}"')


NO_METRICS = (
    "No broker publishes metrics here. Start brokers with metrics.listener=HOST:PORT, and the console with "
    "--metrics-url http://HOST:PORT/metrics."
)
NO_LAGS = {"title": "No groups", "text": "A group appears once a consumer commits an offset."}
LAG_COLUMNS = (
    Column("group", "Group"),
    Column("members", "Members", "number", "96px"),
    Column("lag", "Records", "number", "110px"),
    Column("behind", "Time", "text", "110px", "num"),
)


def lag_row(group: GroupStats) -> dict[str, object]:
    name = group.info.group_id
    return {
        "id": name,
        "href": f"/groups/{quote(name, safe='')}",
        "group": name,
        "members": len(group.info.members),
        "lag": group.lag,
        "behind": behind(group.behind),
    }
