"""The settings of a topic, with the meaning and default of each."""

from __future__ import annotations

from penstock.client.configs import Owner
from penstock.console.components.live import Live
from penstock.console.components.settings_table import SettingsTable
from penstock.console.components.topic_head import topic_head
from penstock.console.services import Services
from penstock.settings import topic_definitions


def settings_page(services: Services, topic: str) -> None:
    with Live("section").classes("page"):
        topic_head(services, topic, "Settings")
        SettingsTable(services, Owner.topic(topic), topic_definitions())
