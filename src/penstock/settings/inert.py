"""Settings of Kafka that a server.properties may hold and that change nothing here, each with the reason.

They are accepted without a warning, so that an existing file starts the broker. What is neither here nor in
the tables is unknown, which is a warning.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from typing import Final

from penstock.settings import kinds
from penstock.settings.definition import Definition

_THREADS: Final = "each connection has its own thread; there is no pool to size"
_NODES: Final = "nodes work together without it"
_JAVA: Final = "names Java classes or configures the Java machine"
_ENCODED: Final = "passwords stand in the properties file only"
_PURGATORY: Final = "a waiting request is removed when it is answered; nothing has to be purged"
_PAGE_CACHE: Final = "files are read through the page cache, without a buffer of that size"
_AT_ONCE: Final = "a coordinator appends each change at once"
_RETIRED: Final = "Kafka 4 has retired it: records are always in format 2"
_NODE_ID: Final = "node.id is given, or 1"
_TIMERS: Final = "a transaction is aborted when its time is up, not when it is next looked at"
_STABLE: Final = "everything that is offered is stable"
_TWO_PHASES: Final = "transactions that an outside coordinator commits are not offered"

_NAMES: Final[dict[str, str]] = {
    _THREADS: """
        num.io.threads num.network.threads background.threads num.replica.alter.log.dirs.threads
        num.recovery.threads.per.data.dir group.coordinator.threads queued.max.requests
    """,
    _PAGE_CACHE: """
        offsets.load.buffer.size transaction.state.log.load.buffer.size
        log.cleaner.io.buffer.size log.cleaner.io.buffer.load.factor
    """,
    _AT_ONCE: "group.coordinator.append.linger.ms",
    _NODE_ID: "broker.id.generation.enable reserved.broker.max.id",
    _RETIRED: """
        log.message.format.version log.message.downconversion.enable log.message.timestamp.difference.max.ms
        inter.broker.protocol.version
    """,
    _TIMERS: "transaction.abort.timed.out.transaction.cleanup.interval.ms",
    _TWO_PHASES: "transaction.two.phase.commit.enable",
    _STABLE: "unstable.api.versions.enable unstable.feature.versions.enable",
    _NODES: """
        controlled.shutdown.max.retries controlled.shutdown.retry.backoff.ms
        control.plane.listener.name early.start.listeners
        security.inter.broker.protocol
        socket.connection.setup.timeout.ms socket.connection.setup.timeout.max.ms log.dir.failure.timeout.ms
        eligible.leader.replicas.enable
    """,
    _JAVA: """
        create.topic.policy.class.name alter.config.policy.class.name client.quota.callback.class
        principal.builder.class auto.include.jmx.reporter telemetry.max.bytes
    """,
    _PURGATORY: """
        fetch.purgatory.purge.interval.requests producer.purgatory.purge.interval.requests
        delete.records.purgatory.purge.interval.requests
    """,
}

INERT_SETTINGS: Final[dict[str, str]] = {
    name: reason for reason, names in _NAMES.items() for name in names.split()
}
"""Reason by name; `INERT_PREFIXES` has whole families beside them."""

INERT_PREFIXES: Final[tuple[tuple[str, str], ...]] = (
    ("zookeeper.", "there is no ZooKeeper: the broker keeps its metadata in its own log"),
    ("remote.", "tiered storage is not offered"),
    ("replica.", _NODES),
    ("leader.imbalance.", "every partition is looked at, as in a KRaft cluster of Kafka"),
    ("controller.quorum.", _NODES),
    ("controller.socket.", _NODES),
    ("metadata.", _NODES),
    ("replication.quota.", _NODES),
    ("alter.log.dirs.replication.", _NODES),
    ("share.", "the share coordinator has neither threads nor buffers of its own"),
    ("group.streams.", "streams groups are not offered by this version"),
    ("metric.", _JAVA),
    ("metrics.", _JAVA),
    ("kafka.metrics.", _JAVA),
    ("security.", _NODES),
    ("password.encoder.", _ENCODED),
)


@cache
def inert_definitions() -> Mapping[str, Definition]:
    """Settings of Kafka that a running broker can change, and that change nothing here. Tools tune them, so
    they can be set and are described like any other setting."""
    return {row.name: row for row in _rows()}


def _rows() -> Iterable[Definition]:
    kinds_and_defaults: dict[str, tuple[kinds.Kind, object]] = {
        "background.threads": (kinds.int_(1), 10),
        "log.cleaner.io.buffer.load.factor": (kinds.double(0), 0.9),
        "log.cleaner.io.buffer.size": (kinds.int_(0), 524_288),
        "metric.reporters": (kinds.LIST, ()),
        "num.io.threads": (kinds.int_(1), 8),
        "num.network.threads": (kinds.int_(1), 3),
        "num.recovery.threads.per.data.dir": (kinds.int_(1), 2),
        "replica.alter.log.dirs.io.max.bytes.per.second": (kinds.long(0), kinds.LONG_MAX),
    }
    for name, (kind, default) in kinds_and_defaults.items():
        yield Definition(name, kind, default, f"No effect: {why_inert(name)}.", read_only=False)


def why_inert(name: str) -> str | None:
    """The reason why a setting changes nothing, or None when it does or is unknown."""
    reason = INERT_SETTINGS.get(name)
    if reason is not None:
        return reason
    return next((why for prefix, why in INERT_PREFIXES if name.startswith(prefix)), None)
