"""Keys and values of the config, offset and status topics, as Kafka Connect writes them. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from penstock.connect.api.source import Place

STARTED: Final = "STARTED"
PAUSED: Final = "PAUSED"
STOPPED: Final = "STOPPED"
CONNECTOR: Final = "connector-"
TASK: Final = "task-"
COMMIT: Final = "commit-"
TARGET: Final = "target-state-"
STATUS_CONNECTOR: Final = "status-connector-"
STATUS_TASK: Final = "status-task-"
STATUS_TOPIC: Final = "status-topic-"

Entry = tuple[bytes, bytes | None]


def connector(name: str, config: Mapping[str, str] | None) -> Entry:
    return _entry(CONNECTOR + name, None if config is None else {"properties": dict(config)})


def task(name: str, number: int, config: Mapping[str, str]) -> Entry:
    return _entry(f"{TASK}{name}-{number}", {"properties": dict(config)})


def commit(name: str, tasks: int) -> Entry:
    """The task configurations of the connector count from here on."""
    return _entry(COMMIT + name, {"tasks": tasks})


def target(name: str, state: str | None) -> Entry:
    """Workers before Kafka 3.5 do not know STOPPED: for them it is PAUSED."""
    if state is None:
        return _entry(TARGET + name, None)
    return _entry(TARGET + name, {"state": PAUSED if state == STOPPED else state, "state.v2": state})


def connector_status(name: str, status: Mapping[str, Any] | None) -> Entry:
    return _entry(STATUS_CONNECTOR + name, status)


def task_status(name: str, number: int, status: Mapping[str, Any] | None) -> Entry:
    return _entry(f"{STATUS_TASK}{name}-{number}", status)


def topic_status(name: str, topic: str, task: int, now_ms: int | None) -> Entry:
    """That the connector uses a topic; None forgets it."""
    told = {"topic": {"name": topic, "connector": name, "task": task, "discoverTimestamp": now_ms}}
    return _entry(f"{STATUS_TOPIC}{topic}:connector-{name}", None if now_ms is None else told)


def read_offsets(values: Mapping[bytes, bytes | None], name: str) -> list[tuple[Place, Place]]:
    """The offsets of one connector among everything in the offset topic."""
    found: list[tuple[Place, Place]] = []
    for key, value in values.items():
        owner, partition = _offset_key(key)
        if owner == name and value is not None:
            offset = json.loads(value)
            if isinstance(offset, dict):
                found.append((partition, offset))
    return found


def _offset_key(key: bytes) -> tuple[str | None, dict[str, Any]]:
    try:
        owner, partition = json.loads(key)
    except (ValueError, TypeError):
        return None, {}
    return (owner, partition) if isinstance(owner, str) and isinstance(partition, dict) else (None, {})


def _entry(key: str, value: Mapping[str, Any] | None) -> Entry:
    return key.encode(), None if value is None else json.dumps(value, separators=(",", ":")).encode()
