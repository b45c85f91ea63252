"""The strip of facts above a topic's messages. Numbers follow the shared feed; settings are read once."""

from __future__ import annotations

from nicegui import ui

from penstock.client.errors import ClientError
from penstock.console.backend import Backend
from penstock.console.components.controls import text
from penstock.console.overview import TopicStats
from penstock.console.wording import UNKNOWN, duration, number, rate

FACTS = ("Records", "Records/s", "Partitions", "Replicas", "Cleanup policy", "Retention")


class TopicFacts:
    def __init__(self) -> None:
        self._settings_known = False
        self._asking = False
        with ui.element("dl").classes("facts"):
            self._values = {name: self._fact(name) for name in FACTS}

    def show(self, stats: TopicStats) -> None:
        self._values["Records"].set_text(number(stats.records))
        self._values["Records/s"].set_text(rate(stats.records_per_second))
        self._values["Partitions"].set_text(number(stats.partitions))
        self._values["Replicas"].set_text(number(stats.replication_factor))

    async def load(self, backend: Backend, topic: str) -> None:
        """Once.

        What cannot be read stays unknown, the page says why elsewhere, and may be asked for again.
        """
        if self._settings_known or self._asking:
            return
        self._asking = True
        try:
            detail = await backend.topic(topic)
        except ClientError:
            return
        finally:
            self._asking = False
        self._settings_known = True
        policy = detail.config("cleanup.policy") or UNKNOWN
        self._values["Cleanup policy"].set_text(policy.replace(",", ", "))
        forever = "delete" not in policy
        self._values["Retention"].set_text("forever" if forever else duration(detail.config("retention.ms")))

    @staticmethod
    def _fact(name: str) -> ui.label:
        with ui.element("div").classes("fact"):
            text("dt", name)
            value: ui.label = text("dd", UNKNOWN).mark(f"fact-{name.lower().replace(' ', '-')}")
            return value
