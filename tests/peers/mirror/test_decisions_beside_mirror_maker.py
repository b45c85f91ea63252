"""Names, filters, settings, records and translated offsets, each beside MirrorMaker 2's own Java class."""

from __future__ import annotations

import random
from typing import Any

import pytest

from penstock.mirror.filters import Selection
from penstock.mirror.layouts import Checkpoint, Heartbeat, OffsetSync
from penstock.mirror.policies import PACKAGE, policy_from
from penstock.mirror.settings import MirrorSettings
from penstock.mirror.translation import OffsetSyncs
from penstock.protocol.topic_partition import TopicPartition
from tests.peers.mirror.judge import Judge
from tests.peers.mirror.judge import judge as judge

NAMES = (
    "orders", "A.orders", "B.orders", "C.A.orders", "C.B.orders", "A.B.C.x", "heartbeats", "A.heartbeats",
    "B.heartbeats", "my-heartbeats", "orders.", ".orders", "A.", "A..", "A..b", "..", "__consumer_offsets",
    "x-internal", "x.internal", "mm2-offset-syncs.B.internal", "A.checkpoints.internal", "x.replica",
    "A_orders", "A_heartbeats", "ÄÖ.ü", "console-consumer-1", "connect-x", "min.insync.replicas",
    "retention.ms", "message.timestamp.type", "a_internal",
)  # fmt: skip


@pytest.mark.parametrize("kind", ["DefaultReplicationPolicy", "IdentityReplicationPolicy"])
@pytest.mark.parametrize(
    "config",
    [
        {},
        {"source.cluster.alias": "A"},
        {"replication.policy.separator": "_"},
        {
            "replication.policy.separator": "_",
            "replication.policy.internal.topic.separator.enabled": "false",
        },
    ],
)
def test_topics_are_named_as_by_its_policies(judge: Judge, kind: str, config: dict[str, str]) -> None:
    policy = policy_from({**config, "replication.policy.class": PACKAGE + kind})
    for topic in NAMES:
        theirs = judge.ask("policy", **{"class": PACKAGE + kind}, config=config, topic=topic, alias="A")
        ours = {
            "remote": policy.remote_topic("A", topic),
            "source": policy.topic_source(topic),
            "upstream": policy.upstream_topic(topic),
            "original": policy.original_topic(topic),
            "syncs": policy.offset_syncs_topic("A"),
            "checkpoints": policy.checkpoints_topic("A"),
            "is_heartbeats": policy.is_heartbeats_topic(topic),
            "is_internal": policy.is_internal_topic(topic),
        }
        assert ours == theirs, topic


@pytest.mark.parametrize(
    "config",
    [
        {},
        {"topics": "orders, A.*", "topics.exclude": ""},
        {"topics": "", "groups": ""},
        {"topics": "[a-zA-Z.]+", "groups": "connect-.*", "groups.exclude": "x"},
        {"config.properties.exclude": r"retention\..*"},
    ],
)
def test_topics_groups_and_configurations_are_chosen_as_by_its_filters(
    judge: Judge, config: dict[str, str]
) -> None:
    selection = Selection.of({**config, "source.cluster.alias": "A", "target.cluster.alias": "B"})
    for name in NAMES:
        ours = {
            "topic": selection.filters_topic(name),
            "group": selection.takes_group(name),
            "property": selection.takes_config(name),
            "replicated": selection.takes_topic(name),
        }
        assert ours == judge.ask("filter", config=config, name=name), name


FILES: tuple[dict[str, str], ...] = (
    {
        "clusters": "A, B",
        "A.bootstrap.servers": "a:1",
        "B.bootstrap.servers": "b:1",
        "A->B.enabled": "true",
        "A->B.topics": "foo.*",
        "topics": "bar",
        "replication.factor": "1",
        "sync.topic.acls.enabled": "false",
        "emit.heartbeats.interval.seconds": "5",
        "producer.linger.ms": "7",
        "use.defaults.from": "source",
    },
    {
        "clusters": "primary,backup,third",
        "primary.bootstrap.servers": "a:1",
        "backup.bootstrap.servers": "b:1",
        "third.bootstrap.servers": "c:1",
        "emit.heartbeats.enabled": "false",
        "primary->backup.enabled": "TRUE",
        "third->primary.emit.heartbeats.enabled": "true",
        "primary.consumer.isolation.level": "read_committed",
        "backup.producer.compression.type": "zstd",
        "primary->backup.producer.batch.size": "9",
        "security.protocol": "SSL",
        "ssl.truststore.location": "/trust",
        "primary.ssl.truststore.location": "/other",
        "backup.consumer.ssl.truststore.location": "/third",
        "replication.policy.separator": "_",
        "config.providers": "",
    },
)


@pytest.mark.parametrize("texts", FILES)
def test_the_settings_of_each_flow_are_its(judge: Judge, texts: dict[str, str]) -> None:
    flows = {str(flow): dict(flow.config) for flow in MirrorSettings(texts).flows()}

    assert flows == judge.ask("config", config=texts)["flows"]


def test_records_of_its_internal_topics_are_the_same_bytes(judge: Judge) -> None:
    for topic, partition, group, metadata in (
        ("orders", 0, "g", ""),
        ("Ä.ö", 2**31 - 1, "gruppe ü", "where I was"),
        ("x" * 249, 7, "", "m" * 3000),
    ):
        upstream, downstream = random.randrange(2**62), random.randrange(2**62)
        place = TopicPartition(topic, partition)
        sync = OffsetSync(place, upstream, downstream)
        checkpoint = Checkpoint(group, place, upstream, downstream, metadata)
        heartbeat = Heartbeat(group, metadata, upstream)
        theirs = judge.ask(
            "layouts", topic=topic, partition=partition, group=group, metadata=metadata,
            upstream=upstream, downstream=downstream,
        )  # fmt: skip
        ours: dict[str, Any] = {}
        for name, record in (("sync", sync), ("checkpoint", checkpoint), ("heartbeat", heartbeat)):
            ours[f"{name}_key"], ours[f"{name}_value"] = record.key().hex(), record.value().hex()
            assert type(record).read(record.key(), record.value()) == record
        assert ours == theirs


@pytest.mark.parametrize("must_read_to_end", [False, True])
@pytest.mark.parametrize("seed", range(12))
def test_offsets_are_translated_as_by_its_store_and_those_between_closely(
    judge: Judge, seed: int, must_read_to_end: bool
) -> None:
    """At the end, and where nothing is known, the answers are the same. Between them its store may forget
    more than ours: ours is off from the closest sync by no more than half of what the group is behind."""
    chance = random.Random(seed)
    syncs, upstream, downstream = [], 0, 0
    for _ in range(chance.choice((1, 3, 40, 400))):
        step = chance.choice((1, 1, 2, 100, chance.randrange(1, 5000)))
        upstream, downstream = upstream + step, downstream + chance.randrange(step + 1)
        if chance.random() < 0.01:
            upstream = chance.randrange(upstream + 1)
        syncs.append((upstream, downstream))
    cut = chance.randrange(len(syncs) + 1)
    offsets = [0, upstream, upstream + 1, *(chance.randrange(upstream + 200) for _ in range(60))]
    theirs = judge.ask(
        "translation",
        before=syncs[:cut],
        after=syncs[cut:],
        offsets=offsets,
        must_read_to_end=must_read_to_end,
    )
    place = TopicPartition("t", 0)
    ours = OffsetSyncs(only_newest_at_start=must_read_to_end)
    ours.take_all(OffsetSync(place, *pair) for pair in syncs[:cut])
    ours.started()
    ours.take_all(OffsetSync(place, *pair) for pair in syncs[cut:])

    for offset, answer in zip(offsets, theirs["translated"], strict=True):
        translated = ours.translate(place, offset)
        if answer is None or answer < 0 or offset >= syncs[-1][0]:
            assert translated == answer, offset
        else:
            known = _since_rewound(syncs[:cut][-1:] + syncs[cut:] if must_read_to_end else syncs)
            closest = max(up for up, _ in known if up <= offset)
            used = ours.used(place, offset)
            assert used is not None
            assert (used.upstream, used.downstream) in known
            assert 2 * (closest - used.upstream) <= syncs[-1][0] - offset, offset
            assert translated == used.downstream + (offset > used.upstream)


def _since_rewound(syncs: list[tuple[int, int]]) -> list[tuple[int, int]]:
    known: list[tuple[int, int]] = []
    for pair in syncs:
        known = [*(known if not known or pair[0] >= known[-1][0] else ()), pair]
    return known
