"""Penstock and Apache Kafka, each mirrored to the other, and looked at with librdkafka."""

from __future__ import annotations

import asyncio
import json
import time
from typing import Any

import pytest
from confluent_kafka import Producer

from penstock.console.mirrors import Mirrors
from penstock.console.remotes import MIRROR
from penstock.console.rest_service import RestService
from tests.mirroring.rig import Client, Mirror, penstock, until

pytestmark = pytest.mark.timeout(600)


@pytest.mark.parametrize("direction", ["from Penstock", "from Apache Kafka"])
def test_records_configurations_and_partitions_are_those_of_the_source(
    ours: Client, theirs: Client, mirror: Mirror, direction: str
) -> None:
    alias, source, target = ("A", ours, theirs) if direction == "from Penstock" else ("B", theirs, ours)
    topic = f"orders-{alias}"
    source.create(topic, 3, cleanup_policy="compact", retention_ms="7200000", min_insync_replicas="1")
    values = [b"%d %s" % (n, b"x" * (n % 100)) if n % 9 else b"" for n in range(3000)]
    source.produce(topic, values, 3, **{"compression.type": "lz4"})

    copied = f"{alias}.{topic}"
    until("the topic is there", lambda: target.topics().get(copied) == 3, mirror.told)
    for partition in range(3):
        wanted = source.read(topic, partition)
        until("all is copied", lambda p=partition: len(target.read(copied, p)) >= 1000, mirror.told)  # type: ignore[misc]
        assert target.read(copied, partition) == wanted
    assert target.config(copied) == {"cleanup.policy": "compact", "retention.ms": "7200000"}

    from confluent_kafka.admin import NewPartitions

    source.admin.create_partitions([NewPartitions(topic, 4)])[topic].result(30)
    until("the partition is added", lambda: target.topics()[copied] == 4, mirror.told)
    source.produce(topic, [b"late %d" % n for n in range(40)], 4)
    until("it is filled", lambda: len(target.read(copied, 3)) == 10, mirror.told)


def test_nothing_runs_in_a_circle_and_what_is_excluded_stays(
    ours: Client, theirs: Client, mirror: Mirror
) -> None:
    ours.create("round", 1)
    ours.create("other-things", 1)
    ours.produce("round", [b"once"], 1)

    until("the topic is there", lambda: "A.round" in theirs.topics(), mirror.told)
    until("heartbeats are mirrored", lambda: "A.heartbeats" in theirs.topics(), mirror.told)
    until("and back", lambda: len(ours.read("B.heartbeats")) > 3, mirror.told)

    for names in (ours.topics(), theirs.topics()):
        assert not [name for name in names if name.startswith(("A.B.", "B.A."))], names
    assert "A.other-things" not in theirs.topics()
    until("it is copied", lambda: theirs.read("A.round"), mirror.told)
    assert [value for _, value, _, _ in theirs.read("A.round")] == [b"once"]


def test_aborted_transactions_stay_behind(ours: Client, theirs: Client, mirror: Mirror) -> None:
    ours.create("paid", 1)
    producer = Producer({"bootstrap.servers": ours.servers, "transactional.id": "payer"})
    producer.init_transactions(30)
    for number in range(6):
        producer.begin_transaction()
        producer.produce("paid", b"%d" % number)
        producer.flush(30)
        if number % 2:
            producer.abort_transaction(30)
        else:
            producer.commit_transaction(30)

    until("the topic is there", lambda: "A.paid" in theirs.topics(), mirror.told)
    until("all is copied", lambda: len(theirs.read("A.paid")) >= 3, mirror.told)
    assert [value for _, value, _, _ in theirs.read("A.paid")] == [b"0", b"2", b"4"]


def test_groups_go_on_where_they_were_and_a_failover_says_what_it_means(
    ours: Client, theirs: Client, mirror: Mirror
) -> None:
    ours.create("moved", 2)
    ours.produce("moved", [b"%d" % n for n in range(500)])
    ours.consume("movers", ["moved"], 500)
    until("all is copied", lambda: "A.moved" in theirs.topics() and len(theirs.read("A.moved", 1)) >= 250)

    until("offsets are synced", lambda: len(theirs.committed("movers")) == 2, mirror.told)
    for (topic, partition), offset in theirs.committed("movers").items():
        assert topic == "A.moved"
        # Everything was read, so nothing is left but the marker of the mirror's transaction.
        assert theirs.read(topic, partition, offset) == []

    config = str(mirror.config)
    shown = json.loads(penstock("mirror", "offsets", "--config", config, "--from", "A", "--group", "movers", "--json"))  # fmt: skip # noqa: E501
    assert {(row["topic"], row["source_offset"]) for row in shown} == {("A.moved", 250)}
    words = ("mirror", "failover", "--config", config, "--from", "A", "--group", "movers", "--json", "--yes")
    plan = json.loads(penstock(*words))
    assert plan["source_answers"]
    assert [row["reprocessed_at_most"] for row in plan["resumptions"]] == [0, 0]
    assert [row["not_copied"] for row in plan["resumptions"]] == [0, 0]


def test_lag_and_rates_are_shown(ours: Client, theirs: Client, mirror: Mirror) -> None:
    ours.create("counted", 1)
    ours.produce("counted", [b"x"] * 100, 1)
    line = 'penstock_mirror_records_total{source="A",target="B",topic="counted",partition="0"} 100'

    until("the records are counted", lambda: line in mirror.ask("/metrics"), mirror.told)
    text = mirror.ask("/metrics")
    assert 'penstock_mirror_up{source="A",target="B"} 1' in text
    assert 'penstock_mirror_lag_records{source="A",target="B",topic="counted",partition="0"} 0' in text
    assert mirror.flows()["A->B"]["state"] == "running"

    shown = json.loads(penstock("mirror", "status", "--config", str(mirror.config), "--from", "A", "--json"))
    assert shown["heartbeat_age_seconds"] < 120
    rows = {(row["topic"], row["partition"]): row for row in shown["partitions"]}
    assert rows["counted", 0]["copied"] == 100

    ours.produce("counted", [b"x"] * 100, 1)
    shown = until("there is a rate", lambda: _rates(mirror).get("A->B counted-0"), mirror.told)
    assert shown["records_per_second"] > 0
    assert shown["bytes_per_second"] > 0
    flows = asyncio.run(Mirrors([RestService(MIRROR, mirror.url)]).flows())  # as the console asks
    assert {(flow.name, flow.state) for flow in flows} == {("A→B", "running"), ("B→A", "running")}
    assert ("counted", 0) in {(each.topic, each.partition) for flow in flows for each in flow.partitions}


def _rates(mirror: Mirror) -> dict[str, dict[str, Any]]:
    """Partitions with a rate, as the command line shows them."""
    flows = json.loads(penstock("mirror", "flows", "--url", mirror.url, "--json"))
    return {
        f"{flow['source']}->{flow['target']} {row['topic']}-{row['partition']}": row
        for flow in flows
        for row in flow["partitions"]
        if row["records_per_second"] > 0
    }


def test_a_mirror_that_was_killed_goes_on_without_gap_or_repetition(
    ours: Client, theirs: Client, mirror: Mirror
) -> None:
    ours.create("killed", 2)
    ours.produce("killed", [b"%d" % n for n in range(2000)])
    until("the topic is there", lambda: "A.killed" in theirs.topics(), mirror.told)
    mirror.kill()
    ours.produce("killed", [b"%d" % n for n in range(2000, 4000)])
    began = time.monotonic()
    mirror.start()

    until("all is copied", lambda: len(theirs.read("A.killed", 0)) >= 2000, mirror.told)
    for partition in range(2):
        until("the rest", lambda p=partition: len(theirs.read("A.killed", p)) >= 2000, mirror.told)  # type: ignore[misc]
        assert theirs.read("A.killed", partition) == ours.read("killed", partition), time.monotonic() - began
