"""The head that all pages of a topic share: its name, its tabs, and what can be done with it."""

from __future__ import annotations

from collections.abc import Callable
from urllib.parse import quote

from nicegui import ui

from penstock.console.components.controls import button
from penstock.console.components.layout import page_head, tabs
from penstock.console.dialogs.topic_actions import AddPartitionsDialog, EmptyTopicDialog
from penstock.console.services import Services

TABS = (("Messages", ""), ("Partitions", "/partitions"), ("Settings", "/settings"), ("Readers", "/readers"))


def topic_head(services: Services, topic: str, current: str, done: Callable[[], None] | None = None) -> None:
    """`done` is called when something was changed here."""
    base = f"/topics/{quote(topic, safe='')}"
    ui.page_title(f"{topic} · {current} · {services.title}")
    finished = done or (lambda: None)
    grow, empty = AddPartitionsDialog(services, topic, finished), EmptyTopicDialog(services, topic, finished)
    with page_head(topic, (("Topics", "/topics"),), current):
        button("Add partitions", grow.ask, symbol="plus").mark("add-partitions")
        button("Empty", empty.ask, symbol="trash").mark("empty-topic")
    tabs("Topic", [(word, base + ending) for word, ending in TABS], current)
