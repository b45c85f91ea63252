"""The brokers page: who is there, log directories, requests and latencies, the quorum. And one broker's
settings.
"""

from __future__ import annotations

import time

from nicegui import ui

from penstock.client.configs import Owner
from penstock.client.errors import InvalidValue
from penstock.console.broker_stats import ApiStats, Traffic
from penstock.console.cluster_values import Disks, LogDirectory, Quorum, QuorumReplica
from penstock.console.components.grid import Column, Grid, Row
from penstock.console.components.layout import Facts, Notice, page_head, panel, tabs
from penstock.console.components.live import Live
from penstock.console.components.settings_table import SettingsTable
from penstock.console.feed import Reading
from penstock.console.overview import Overview
from penstock.console.query import parse_number
from penstock.console.services import Services
from penstock.console.wording import UNKNOWN, ago, bytes_text, counted, number, rate
from penstock.settings import broker_definitions

BROKERS = (
    Column("broker", "Broker"),
    Column("address", "Address", "mono", "220px"),
    Column("role", "Role", "tag", "120px"),
    Column("leads", "Leads", "number", "100px"),
    Column("replicas", "Replicas", "number", "100px"),
    Column("behind", "Not in sync", "number", "110px", "wide-only"),
    Column("size", "Stored", "bytes", "110px"),
)
DIRECTORIES = (
    Column("path", "Directory", "mono"),
    Column("broker", "Broker", "number", "90px"),
    Column("state", "State", "tag", "100px"),
    Column("replicas", "Replicas", "number", "100px", "wide-only"),
    Column("used", "Logs", "bytes", "110px"),
    Column("free", "Free", "bytes", "110px"),
    Column("full", "Disk full", "percent", "100px"),
)
APIS = (
    Column("api", "Request"),
    Column("rate", "Per second", "rate", "120px"),
    Column("median", "Median", "ms", "110px"),
    Column("p99", "99th percentile", "ms", "140px"),
    Column("count", "In all", "number", "130px", "wide-only"),
)
QUORUM = (
    Column("node", "Node"),
    Column("role", "Role", "tag", "120px"),
    Column("end", "End of its log", "number", "140px"),
    Column("lag", "Behind", "number", "110px"),
    Column("caught", "Caught up", "text", "140px", "wide-only"),
)
WAITING = {"title": "Waiting for the broker", "text": "It appears as soon as it answers."}
NO_METRICS = {
    "title": "No metrics",
    "text": "Start brokers with metrics.listener=HOST:PORT and the console with --metrics-url "
    "http://HOST:PORT/metrics to see requests and their times.",
}


BROKER_TABS = (("Brokers", "/brokers"), ("Security", "/security"))


def brokers_page(services: Services) -> None:
    ui.page_title(f"Brokers · {services.title}")
    BrokersPage(services)


def broker_page(services: Services, name: str) -> None:
    ui.page_title(f"Broker {name} · {services.title}")
    with Live("section").classes("page"):
        with page_head(f"Broker {name}", (("Brokers", "/brokers"),), "Settings"):
            pass
        try:
            node_id = parse_number("broker", name, most=2**31 - 1)
        except InvalidValue as error:
            Notice("broker-notice").show(str(error))
            return
        SettingsTable(services, Owner.broker(node_id), broker_definitions())


class BrokersPage:
    def __init__(self, services: Services) -> None:
        self._services = services
        with Live("section").classes("page") as page:
            with page_head("Brokers") as self._note:
                pass
            tabs("Brokers", BROKER_TABS, "Brokers")
            self._facts = Facts(("Requests/s", "Bytes in/s", "Bytes out/s", "Connections", "CPU", "Memory"))
            self._brokers = Grid("Brokers", BROKERS, WAITING)
            with panel("Log directories"):
                self._directories = Grid("Log directories", DIRECTORIES, WAITING)
            with panel(
                "Requests", "Rates since the last look; times of the last minutes, as brokers publish them."
            ):
                self._apis = Grid("Requests", APIS, NO_METRICS, sort="rate", descending=True)
            with panel("Metadata quorum"):
                self._notice = Notice("quorum-notice", tone="calm")
                self._quorum = Grid("Metadata quorum", QUORUM, WAITING)
        page.until_gone(services.overview.watch(self._receive))
        page.until_gone(services.disks.watch(self._receive_disks))
        page.until_gone(services.traffic.watch(self._receive_traffic))
        page.until_gone(services.quorum.watch(self._receive_quorum))

    def _receive(self, reading: Reading[Overview]) -> None:
        if reading.value is None:
            return
        cluster = reading.value.snapshot.cluster
        self._note.set_text(counted(len(cluster.brokers), "broker"))
        self._brokers.show(_broker_rows(reading.value, self._services.disks.reading.value))

    def _receive_disks(self, reading: Reading[Disks]) -> None:
        if reading.value is not None:
            self._directories.show([_directory_row(each) for each in reading.value.directories])
            self._receive(self._services.overview.reading)

    def _receive_traffic(self, reading: Reading[Traffic]) -> None:
        traffic = reading.value
        if traffic is None or not traffic.answering:
            return
        self._apis.show([_api_row(each) for each in traffic.apis])
        self._facts.show(
            requests_s=rate(sum(each.per_second for each in traffic.apis)),
            bytes_in_s=bytes_text(traffic.bytes_in),
            bytes_out_s=bytes_text(traffic.bytes_out),
            connections=number(None if traffic.connections is None else int(traffic.connections)),
            cpu=UNKNOWN if traffic.cpu_percent is None else f"{traffic.cpu_percent:.0f} %",
            memory=bytes_text(traffic.memory_bytes),
        )

    def _receive_quorum(self, reading: Reading[Quorum]) -> None:
        self._notice.show("" if reading.error is None else str(reading.error))
        if reading.value is not None:
            quorum, now = reading.value, time.time()
            self._quorum.show([_quorum_row(each, quorum, now) for each in quorum.replicas])


def _broker_rows(overview: Overview, disks: Disks | None) -> list[Row]:
    cluster = overview.snapshot.cluster
    partitions = [partition for topic in overview.snapshot.topics for partition in topic.partitions]
    stored: dict[int, int] = {}
    for each in disks.directories if disks else ():
        stored[each.broker] = stored.get(each.broker, 0) + each.used_bytes
    return [
        {
            "id": str(broker.node_id),
            "href": f"/brokers/{broker.node_id}",
            "broker": f"Broker {broker.node_id}",
            "address": f"{broker.host}:{broker.port}",
            "role": {"text": "controller", "tone": "good"} if broker.node_id == cluster.controller_id else "",
            "leads": sum(p.leader == broker.node_id for p in partitions),
            "replicas": sum(broker.node_id in p.replicas for p in partitions),
            "behind": sum(broker.node_id in p.replicas and broker.node_id not in p.isr for p in partitions),
            "size": stored.get(broker.node_id),
        }
        for broker in cluster.brokers
    ]


def _directory_row(each: LogDirectory) -> Row:
    return {
        "id": f"{each.broker} {each.path}",
        "path": each.path,
        "broker": each.broker,
        "state": {"text": "offline", "tone": "bad"} if each.error else {"text": "works", "tone": "good"},
        "replicas": each.replicas,
        "used": each.used_bytes,
        "free": each.usable_bytes,
        "full": each.full_percent,
    }


def _api_row(each: ApiStats) -> Row:
    return {
        "id": each.api,
        "api": each.api,
        "rate": each.per_second,
        "median": each.median_ms,
        "p99": each.p99_ms,
        "count": each.count,
    }


def _quorum_row(each: QuorumReplica, quorum: Quorum, now: float) -> Row:
    leads = each.node_id == quorum.leader_id
    caught = each.last_caught_up_ms
    return {
        "id": str(each.node_id),
        "node": f"Node {each.node_id}",
        "role": {
            "text": "leader" if leads else "voter" if each.voter else "observer",
            "tone": "good" if leads else "plain",
        },
        "end": each.log_end_offset,
        "lag": each.lag,
        "caught": UNKNOWN if leads or caught is None else ago(caught / 1000, now),
    }
