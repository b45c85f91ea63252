"""ASSERT TOPIC and ASSERT SCHEMA: wait until something is there, or gone."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, Final

from penstock.client.schema_registry import NotRegistered
from penstock.sql import statements as s
from penstock.sql import syntax as x
from penstock.sqlserver.entities import Entity, entity
from penstock.sqlserver.errors import ASSERTION_FAILED, NO_REGISTRY, KsqlError
from penstock.sqlserver.server import SqlServer

DEFAULT_MS: Final = 1000
LOOK_EVERY_S: Final = 0.05
LONGEST_MS: Final = 600_000


def run(server: SqlServer, node: s.AssertTopic | s.AssertSchema, text: str) -> Entity:
    timeout_ms = min(DEFAULT_MS if node.timeout is None else node.timeout.millis, LONGEST_MS)
    if isinstance(node, s.AssertTopic):
        _wait(lambda: _topic_problem(server, node), timeout_ms)
        return entity("assert_topic", text, topicName=node.topic, exists=node.exists)
    _wait(lambda: _schema_problem(server, node), timeout_ms)
    return entity("assert_schema", text, subject=node.subject, id=node.id, exists=node.exists)


def _wait(problem: Callable[[], str], timeout_ms: int) -> None:
    deadline = time.monotonic() + timeout_ms / 1000
    while found := problem():
        if time.monotonic() > deadline:
            raise KsqlError(found, ASSERTION_FAILED)
        time.sleep(LOOK_EVERY_S)


def _topic_problem(server: SqlServer, node: s.AssertTopic) -> str:
    found = server.topics.all().get(node.topic)
    if not node.exists:
        return f"Topic {node.topic} exists" if found is not None else ""
    if found is None:
        return f"Topic {node.topic} does not exist"
    known = {"PARTITIONS": len(found.partitions), "REPLICAS": len(found.partitions[0].replicas)}
    for entry in node.properties:
        name, wanted = entry.name.upper(), _number(entry.value)
        if name not in known:
            return f"Cannot assert unknown topic property: {entry.name}"
        if known[name] != wanted:
            return (
                f"Mismatched configuration for topic {node.topic}: For config {name.lower()}, "
                f"expected {wanted} got {known[name]}"
            )
    return ""


def _number(value: Any) -> int | None:
    if isinstance(value, x.IntegerLiteral):
        return value.value
    return int(value.value) if isinstance(value, x.StringLiteral) and value.value.isdecimal() else None


def _schema_problem(server: SqlServer, node: s.AssertSchema) -> str:
    if server.schemas is None:
        raise KsqlError(
            "Cannot assert a schema: no Schema Registry is configured. Set ksql.schema.registry.url",
            NO_REGISTRY,
        )
    what = " ".join(
        part
        for part in (
            f"with subject name {node.subject}" if node.subject else "",
            f"id {node.id}" if node.id is not None else "",
        )
        if part
    )
    try:
        found = server.schemas.latest(node.subject).schema_id if node.subject else node.id
        if node.id is not None:
            server.schemas.by_id(node.id)
        exists = node.id is None or found == node.id or not node.subject
    except NotRegistered:
        exists = False
    if exists == node.exists:
        return ""
    return f"Schema {what} exists." if exists else f"Schema {what} does not exist."
