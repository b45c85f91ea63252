"""What the config and status topics say, as values. Pure: the herder keeps it and writes what changes it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from penstock.connect.worker import layout


@dataclass
class Connector:
    """One connector as it is configured."""

    config: dict[str, str]
    target: str = layout.STARTED
    tasks: list[dict[str, str]] = field(default_factory=list)
    generation: int = 0
    """Counts changes of the configuration: a run of an older one is ended."""


def read_connectors(values: Mapping[bytes, bytes | None]) -> dict[str, Connector]:
    """From the last value of each key of the config topic. Tasks count if their connector's commit does."""
    texts = {key.decode(errors="replace"): _parsed(value) for key, value in values.items()}
    found = {}
    for key, value in texts.items():
        name = key.removeprefix(layout.CONNECTOR)
        if not key.startswith(layout.CONNECTOR) or not isinstance(value.get("properties"), dict):
            continue
        target = texts.get(layout.TARGET + name, {})
        state = str(target.get("state.v2") or target.get("state") or layout.STARTED)
        count = int(texts.get(layout.COMMIT + name, {}).get("tasks", 0))
        tasks: list[Any] = [
            texts.get(f"{layout.TASK}{name}-{number}", {}).get("properties") for number in range(count)
        ]
        complete = all(isinstance(each, dict) for each in tasks)
        found[name] = Connector(
            dict(value["properties"]), state, [dict(each) for each in tasks] if complete else []
        )
    return found


@dataclass
class Statuses:
    """What is shown of connectors and tasks, and which topics they use."""

    connectors: dict[str, dict[str, Any]] = field(default_factory=dict)
    tasks: dict[str, dict[int, dict[str, Any]]] = field(default_factory=dict)
    topics: dict[str, dict[str, int]] = field(default_factory=dict)
    """By connector, its topics and the task that used each first."""

    def forget(self, name: str) -> None:
        for each in (self.connectors, self.tasks, self.topics):
            each.pop(name, None)


def read_statuses(values: Mapping[bytes, bytes | None]) -> Statuses:
    found = Statuses()
    for key, value in values.items():
        text, told = key.decode(errors="replace"), _parsed(value)
        if not told:
            continue
        if text.startswith(layout.STATUS_TOPIC) and isinstance(told.get("topic"), dict):
            topic = told["topic"]
            uses = found.topics.setdefault(str(topic["connector"]), {})
            uses[str(topic["name"])] = int(topic.get("task", 0))
        elif text.startswith(layout.STATUS_CONNECTOR) and told.get("state") not in (None, "DESTROYED"):
            found.connectors[text.removeprefix(layout.STATUS_CONNECTOR)] = told
        elif text.startswith(layout.STATUS_TASK) and told.get("state") not in (None, "DESTROYED"):
            name, _, number = text.removeprefix(layout.STATUS_TASK).rpartition("-")
            if number.isdecimal():
                found.tasks.setdefault(name, {})[int(number)] = told
    return found


def _parsed(value: bytes | None) -> dict[str, Any]:
    try:
        found = json.loads(value) if value is not None else {}
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}
