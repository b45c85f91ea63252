"""Requests of clients and admin tools, asked of both brokers, with the same answers."""

from __future__ import annotations

import re
import time
from typing import Any

import pytest
from confluent_kafka import Producer

from penstock.protocol.apis import Api
from penstock.records.codecs import Codec
from penstock.records.record import Record, encode_batch
from tests.peers.asking import TOPIC, Asker, Pair
from tests.peers.java_programs import JavaPrograms

LATEST, EARLIEST, MAX_TIMESTAMP, EARLIEST_LOCAL, LATEST_TIERED, PENDING_UPLOAD = range(-1, -7, -1)
UPGRADE, SAFE_DOWNGRADE = 1, 2
STEP_MS = 1000


def produce(peer: Asker, topic: str, records: list[Record], codec: Codec = Codec.NONE) -> Any:
    """Code, first offset, log start offset, errors of records, message; times are left out."""
    data = {"index": 0, "records": bytes(encode_batch(records, codec=codec))}
    fields = {"transactional_id": None, "acks": -1, "timeout": 5000}
    answer = peer.ask(Api.PRODUCE, 9, topic_data=[{"name": topic, "partition_data": [data]}], **fields)
    part = answer.responses[0].partition_responses[0]
    errors = [(error.batch_index, _timeless(error.batch_index_error_message)) for error in part.record_errors]
    return (
        int(part.error_code),
        part.base_offset,
        part.log_start_offset,
        errors,
        _timeless(part.error_message),
    )


def _timeless(text: str | None) -> str | None:
    return None if text is None else re.sub(r"[0-9]{12,}", "TIME", text)


@pytest.mark.parametrize("codec", [Codec.NONE, Codec.LZ4])
def test_every_refused_record_of_a_batch_is_named_alike(pair: Pair, codec: Codec) -> None:
    now = int(time.time() * 1000)
    compacted = {"cleanup.policy": "compact"}
    bounded = {"message.timestamp.after.max.ms": "60000", "message.timestamp.before.max.ms": "60000"}
    good, keyless = Record(b"k", b"v", (), now), Record(None, b"v", (), now)
    late, early = Record(None, b"v", (), now + 999_000), Record(None, b"v", (), now - 999_000)
    late_with_key = Record(b"k", b"v", (), now + 999_000)
    for configs, records in (
        (compacted, [good, keyless, good]),
        (compacted, [keyless, good, keyless, keyless, keyless]),
        (bounded, [keyless, late, early, keyless]),
        ({**compacted, **bounded}, [early, late_with_key, good, keyless]),
    ):
        name = pair.new_topic(**configs)
        code, *_ = pair.same(lambda peer: produce(peer, name, records, codec))  # noqa: B023
        assert code in (32, 87)
        assert pair.same(lambda peer: produce(peer, name, [good], codec))[:2] == (0, 0)  # noqa: B023


def refused_by_librdkafka(peer: Asker, topic: str) -> list[str | None]:
    """The error of each record of one batch, half of which have no key."""
    producer = Producer({"bootstrap.servers": peer.servers, "linger.ms": 500, "log_level": 0})
    errors: dict[bytes, str | None] = {}

    def delivered(error: Any, message: Any) -> None:
        errors[message.value()] = None if error is None else error.name()

    for number in range(6):
        key = None if number in (0, 2, 5) else b"k"
        producer.produce(topic, b"%d" % number, key, on_delivery=delivered, partition=0)
    assert producer.flush(20) == 0
    return [errors[b"%d" % number] for number in range(6)]


def test_librdkafka_fails_just_the_refused_records_for_their_own_reason(pair: Pair) -> None:
    name = pair.new_topic(**{"cleanup.policy": "compact"})
    errors = pair.same(lambda peer: refused_by_librdkafka(peer, name))
    refused, others = [errors[number] for number in (0, 2, 5)], [errors[number] for number in (1, 3, 4)]
    assert refused == ["INVALID_RECORD"] * 3
    assert others == ["_INVALID_DIFFERENT_RECORD"] * 3


def test_java_fails_just_the_refused_records_for_their_own_reason(
    pair: Pair, java_programs: JavaPrograms
) -> None:
    name = pair.new_topic(**{"cleanup.policy": "compact"})
    said = pair.same(lambda peer: java_programs.run("RefusedRecordsCheck", peer.servers, name).splitlines())
    assert [number for number, line in enumerate(said) if "Compacted topic cannot accept" in line] == [
        0,
        2,
        5,
    ]
    assert len(said) == 6


def list_offset(peer: Asker, topic: str, timestamp: int, version: int, epoch: int = -1, part: int = 0) -> Any:
    wanted = {"partition_index": part, "current_leader_epoch": epoch, "timestamp": timestamp}
    fields = {"replica_id": -1, "isolation_level": 0, "timeout": 5000}
    answer = peer.ask(Api.LIST_OFFSETS, version, topics=[{"name": topic, "partitions": [wanted]}], **fields)
    found = answer.topics[0].partitions[0]
    return int(found.error_code), found.timestamp, found.offset, getattr(found, "leader_epoch", None)


def test_offsets_are_listed_alike_in_every_version(pair: Pair) -> None:
    name, now = pair.new_topic(), int(time.time() * 1000)
    records = [Record(None, b"v", (), now + delta * STEP_MS) for delta in (1, 3, 2, 5, 4)]
    assert pair.same(lambda peer: produce(peer, name, records))[0] == 0
    special = (LATEST, EARLIEST, MAX_TIMESTAMP, EARLIEST_LOCAL, LATEST_TIERED, PENDING_UPLOAD, -7)
    for version in (1, 4, 6, 7, 8, 9, 10, 11):
        for timestamp in special:
            pair.same(lambda peer, t=timestamp, v=version: list_offset(peer, name, t, v))  # type: ignore[misc]
    for timestamp in (0, *(now + delta * STEP_MS // 2 for delta in range(1, 12))):
        pair.same(lambda peer, t=timestamp: list_offset(peer, name, t, 11))  # type: ignore[misc]
    pair.same(lambda peer: list_offset(peer, name, LATEST, 11, epoch=0))
    pair.same(lambda peer: list_offset(peer, name, LATEST, 11, epoch=5))
    pair.same(lambda peer: list_offset(peer, name, LATEST, 11, part=9))
    pair.same(lambda peer: list_offset(peer, "no-such-topic", LATEST, 11))


def elect(peer: Asker, places: list[tuple[str, int]], kind: int, version: int) -> Any:
    wanted = [{"topic": topic, "partitions": [part]} for topic, part in places]
    answer = peer.ask(Api.ELECT_LEADERS, version, election_type=kind, topic_partitions=wanted, timeout=5000)
    results = {
        topic.topic: [
            (part.partition_id, int(part.error_code), part.error_message) for part in topic.partition_result
        ]
        for topic in answer.replica_election_results
    }
    return getattr(answer, "error_code", None), results


@pytest.mark.parametrize("version", [0, 1, 2])
def test_elections_are_answered_alike(pair: Pair, version: int) -> None:
    name = pair.new_topic()
    for kind in (0, 1, 5) if version else (0,):
        pair.same(lambda peer, k=kind: elect(peer, [(name, 0)], k, version))  # type: ignore[misc]
    pair.same(lambda peer: elect(peer, [(name, 9), ("no-such-topic", 0)], 0, version))


def update_feature(peer: Asker, name: str, level: int, kind: int) -> Any:
    change = {"feature": name, "max_version_level": level, "upgrade_type": kind}
    answer = peer.ask(Api.UPDATE_FEATURES, 2, timeout=5000, feature_updates=[change], validate_only=True)
    return int(answer.error_code), answer.error_message


@pytest.mark.parametrize(
    ("name", "level", "kind"),
    [
        ("no.such.feature", 1, UPGRADE),
        ("group.version", 5, UPGRADE),
        ("group.version", -1, UPGRADE),
        ("group.version", 0, UPGRADE),
        ("group.version", 0, SAFE_DOWNGRADE),
        ("group.version", 1, 9),
        ("transaction.version", 1, SAFE_DOWNGRADE),
        ("metadata.version", 25, UPGRADE),
        ("metadata.version", 25, SAFE_DOWNGRADE),
        ("kraft.version", 0, UPGRADE),
    ],
)
def test_feature_levels_are_updated_or_refused_alike(pair: Pair, name: str, level: int, kind: int) -> None:
    pair.same(lambda peer: update_feature(peer, name, level, kind))


def features(peer: Asker, version: int) -> tuple[set[str], dict[str, int]]:
    told = {"client_software_name": "test", "client_software_version": "1"}
    answer = peer.ask(Api.API_VERSIONS, version, **told)
    finalised = {row.name: row.max_version_level for row in answer.finalized_features}
    return {row.name for row in answer.supported_features}, finalised


def test_features_are_at_the_same_levels(pair: Pair) -> None:
    not_offered = {"streams.version"}
    for version in (3, 4):
        ours, theirs = features(pair.ours, version), features(pair.theirs, version)
        assert ours[1] == {name: level for name, level in theirs[1].items() if name not in not_offered}
    assert ours[0] == theirs[0] - not_offered


def test_the_versions_that_are_served_are_the_same(pair: Pair) -> None:
    def served(peer: Asker) -> dict[int, tuple[int, int]]:
        answer = peer.ask(Api.API_VERSIONS, 2)
        return {row.api_key: (row.min_version, row.max_version) for row in answer.api_keys}

    ours, theirs = served(pair.ours), served(pair.theirs)
    assert ours == {key: versions for key, versions in theirs.items() if key in ours}


def described(peer: Asker, *names: str, create: bool = False) -> Any:
    answer = peer.ask(
        Api.METADATA,
        10,
        topics=[{"name": name, "topic_id": bytes(16)} for name in names],
        allow_auto_topic_creation=create,
        include_cluster_authorized_operations=True,
        include_topic_authorized_operations=True,
    )
    topics = {
        topic.name: (
            int(topic.error_code),
            topic.topic_id is not None,
            topic.is_internal,
            len(topic.partitions),
            topic.topic_authorized_operations,
        )
        for topic in answer.topics
    }
    return len(answer.topics), topics, answer.cluster_authorized_operations


def test_topics_are_described_alike_also_when_they_are_not_there(pair: Pair) -> None:
    name = pair.new_topic()
    pair.same_soon(lambda peer: described(peer, name))
    pair.same(lambda peer: described(peer, name, "no-such-topic", "a b", "", ".", name))


def test_a_topic_is_created_by_the_request_that_names_it_and_seen_by_a_later_one(pair: Pair) -> None:
    for _ in range(2):
        pair.same(lambda peer: described(peer, "named", create=True))
        assert pair.same_soon(lambda peer: described(peer, "named"))[1]["named"][0] == 0
        pair.same(lambda peer: delete(peer, "named"))  # the next round: deleted a moment ago


def delete(peer: Asker, *names: str, version: int = 6) -> Any:
    if version >= 6:
        fields: dict[str, Any] = {"topics": [{"name": name, "topic_id": None} for name in names]}
    else:
        fields = {"topic_names": names}
    answer = peer.ask(Api.DELETE_TOPICS, version, timeout=5000, **fields)
    return [
        (
            item.name,
            getattr(item, "topic_id", None) is not None,
            int(item.error_code),
            getattr(item, "error_message", None),
        )
        for item in answer.responses
    ]


def test_topics_are_deleted_alike(pair: Pair) -> None:
    names = [pair.new_topic() for _ in range(3)]
    for version, name in zip((4, 5, 6), names, strict=True):
        for _ in range(2):
            pair.same(lambda peer, n=name, v=version: delete(peer, n, version=v))  # type: ignore[misc]
    kept = pair.new_topic()
    pair.same(lambda peer: delete(peer, kept, kept))
    pair.same(lambda peer: delete(peer, "a b"))
    assert pair.same(lambda peer: peer.describe(TOPIC, kept, ["preallocate"]))[0] == 0
