"""Settings of topics, brokers and groups: asked and changed on both brokers, with the same answers."""

from __future__ import annotations

from typing import Any, Final

import pytest

from tests.peers.asking import (
    APPEND,
    BROKER,
    DELETE,
    GROUP,
    SET,
    SUBTRACT,
    TOPIC,
    Asker,
    Pair,
)

OTHER_DEFAULTS: Final = {
    # Measured or bounded here, and other than Kafka's.
    "queued.max.request.bytes",
    "socket.listen.backlog.size",
    "socket.receive.buffer.bytes",
    "socket.send.buffer.bytes",
    # What each broker was started with.
    "advertised.listeners",
    "controller.listener.names",
    "controller.quorum.voters",
    "listener.security.protocol.map",
    "listeners",
    "log.dirs",
    "node.id",
    "process.roles",
    "transaction.state.log.min.isr",
    "transaction.state.log.replication.factor",
    "offsets.topic.replication.factor",
    # Changed while the broker runs by Kafka only.
    "num.replica.fetchers",
    "sasl.mechanism.inter.broker.protocol",
    # Streams groups are not offered, and Java's reporter is not there.
    "group.coordinator.rebalance.protocols",
    "metric.reporters",
}


def test_every_setting_of_a_topic_is_described_alike(pair: Pair) -> None:
    name = pair.new_topic()
    _, _, settings = pair.same_soon(lambda peer: peer.describe(TOPIC, name))
    assert len(settings) > 30


def test_every_setting_of_the_broker_that_both_know_is_described_alike(pair: Pair) -> None:
    theirs, ours = pair.theirs.describe(BROKER, "1")[2], pair.ours.describe(BROKER, "1")[2]
    both = (ours.keys() & theirs.keys()) - OTHER_DEFAULTS
    assert len(both) > 100
    assert {name: ours[name] for name in both} == {name: theirs[name] for name in both}


@pytest.mark.parametrize(
    "configs",
    [
        {"cleanup.policy": "delete,compact"},
        {"cleanup.policy": "compact, delete"},
        {"cleanup.policy": "delete,delete"},
        {"cleanup.policy": ""},
        {"cleanup.policy": "delete,"},
        {"cleanup.policy": "delete,,compact"},
        {"cleanup.policy": "shred"},
        {"cleanup.policy": None},
        {"leader.replication.throttled.replicas": "0:1,0:1"},
        {"leader.replication.throttled.replicas": "*,*"},
        {"leader.replication.throttled.replicas": "x"},
        {"retention.ms": " 5000 "},
        {"retention.ms": "-7"},
        {"retention.ms": ""},
        {"retention.bytes": "-5"},
        {"segment.bytes": "99999999999"},
        {"preallocate": "TRUE"},
        {"preallocate": "maybe"},
        {"min.cleanable.dirty.ratio": "0.50"},
        {"min.cleanable.dirty.ratio": "7"},
        {"compression.type": "rar"},
        {"compression.gzip.level": "0"},
        {"min.compaction.lag.ms": "10", "max.compaction.lag.ms": "5"},
        {"remote.storage.enable": "true"},
        {"message.format.version": "3.0"},
        {"no.such.setting": "1"},
    ],
    ids=str,
)
def test_a_topic_is_created_with_odd_settings_or_refused_alike(
    pair: Pair,
    configs: dict[str, str | None],
) -> None:
    name = f"odd-{abs(hash(tuple(configs.items())))}"
    code, _, _ = pair.same(lambda peer: peer.create(name, **configs))
    if code == 0:
        pair.same_soon(lambda peer: peer.describe(TOPIC, name, list(configs)))


def test_a_list_is_appended_to_and_subtracted_from_alike(pair: Pair) -> None:
    name, policy = pair.new_topic(), "cleanup.policy"
    steps: list[tuple[int, str | None]] = [
        (APPEND, "compact"),
        (APPEND, "compact"),
        (SUBTRACT, "delete"),
        (SUBTRACT, "compact"),
        (APPEND, "delete,compact"),
        (APPEND, ""),
        (APPEND, ","),
        (APPEND, "shred"),
        (SUBTRACT, ""),
        (SET, "delete,delete,compact"),
        (SUBTRACT, "delete"),
        (SET, " compact , delete"),
        (SET, ""),
        (SET, None),
        (DELETE, None),
    ]
    for step in steps:
        pair.same(lambda peer, step=step: peer.alter(TOPIC, name, (policy, *step)))  # type: ignore[misc]
        pair.same_soon(lambda peer: peer.describe(TOPIC, name, [policy]))


@pytest.mark.parametrize(
    "change",
    [
        ("retention.ms", APPEND, "5"),
        ("retention.ms", SUBTRACT, "5"),
        ("retention.ms", SET, "x"),
        ("retention.ms", SET, None),
        ("no.such.setting", SET, "1"),
        ("no.such.setting", APPEND, "1"),
        ("leader.replication.throttled.replicas", APPEND, "*,0:1"),
    ],
    ids=str,
)
def test_a_change_of_a_topic_that_cannot_be_is_refused_alike(
    pair: Pair,
    change: tuple[str, int, str | None],
) -> None:
    name = pair.new_topic()
    assert pair.same(lambda peer: peer.alter(TOPIC, name, change))[0] != 0


@pytest.mark.parametrize(
    ("broker", "change"),
    [
        ("", ("min.insync.replicas", DELETE, None)),
        ("1", ("min.insync.replicas", SET, "1")),
        ("1", ("broker.id", SET, "5")),
        ("1", ("node.id", SET, "5")),
        ("", ("log.retention.hours", SET, "5")),
        ("", ("message.max.bytes", SET, "-5")),
        ("", ("compression.type", SET, "none")),
        ("", ("advertised.listeners", SET, "PLAINTEXT://x:1")),
        ("", ("auto.create.topics.enable", SET, "false")),
        ("77", ("log.retention.ms", SET, "5")),
        ("x", ("log.retention.ms", SET, "5")),
    ],
    ids=str,
)
def test_a_change_of_a_broker_that_cannot_be_is_refused_alike(
    pair: Pair,
    broker: str,
    change: tuple[str, int, str | None],
) -> None:
    assert pair.same(lambda peer: peer.alter(BROKER, broker, change))[0] != 0


def test_a_setting_of_brokers_is_seen_in_their_topics_alike(pair: Pair) -> None:
    name = pair.new_topic()

    def seen(peer: Asker) -> Any:
        topic = peer.describe(TOPIC, name, ["retention.ms", "cleanup.policy", "min.insync.replicas"])
        broker = peer.describe(BROKER, "1", ["log.retention.ms", "log.cleanup.policy", "num.io.threads"])
        return topic, broker, peer.describe(BROKER, "")

    changes = {
        "log.retention.ms": "5000",
        "log.cleanup.policy": "delete,compact",
        "num.io.threads": "4",
        "min.insync.replicas": "1",
        "nobody.knows.it": "secret",
    }
    try:
        for broker in ("", "1"):
            own = {key: value for key, value in changes.items() if not (broker and key.startswith("min."))}
            wanted = [(key, SET, value) for key, value in own.items()]
            assert pair.same(lambda peer, b=broker, w=wanted: peer.alter(BROKER, b, *w))[0] == 0  # type: ignore[misc]
            pair.same_soon(seen)
    finally:
        for broker in ("1", ""):
            gone = [(key, DELETE, None) for key in changes if not key.startswith("min.")]
            pair.same(lambda peer, b=broker, g=gone: peer.alter(BROKER, b, *g))  # type: ignore[misc]
    pair.same_soon(seen)


def test_a_group_is_configured_alike(pair: Pair) -> None:
    setting = "consumer.session.timeout.ms"
    for step in ((SET, "5"), (SET, "50000"), (APPEND, "1"), (DELETE, None)):
        pair.same(lambda peer, step=step: peer.alter(GROUP, "g", (setting, *step)))  # type: ignore[misc]
        pair.same_soon(lambda peer: peer.describe(GROUP, "g", [setting]))
    pair.same(lambda peer: peer.alter(GROUP, "g", ("no.such.setting", SET, "1")))


@pytest.mark.parametrize(
    ("kind", "name"),
    [(TOPIC, "no-such-topic"), (TOPIC, ""), (TOPIC, "a b"), (BROKER, "77"), (BROKER, "x"), (GROUP, "")],
)
def test_what_is_not_there_is_described_alike(pair: Pair, kind: int, name: str) -> None:
    assert pair.same(lambda peer: peer.describe(kind, name))[0] != 0
