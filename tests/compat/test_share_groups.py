"""Share groups (KIP-932) with Kafka's own client and tools: on one node, and on three while one is killed."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from penstock.client import Admin
from penstock.client.api.admin.configs import AlterConfigOp, ConfigResource
from penstock.testing import Broker
from penstock.testing.cluster import Cluster
from tests.peers.java_programs import QUIET, JavaPrograms

TOPIC: Final = "work"
COMMAND: Final = "org.apache.kafka.tools.consumer.group.ShareGroupCommand"

pytestmark = pytest.mark.timeout(600)


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[Broker]:
    settings = {
        "offsets.topic.num.partitions": "1",
        "share.coordinator.state.topic.num.partitions": "1",
        "group.initial.rebalance.delay.ms": "0",
    }
    with Broker(data=str(tmp_path / "data"), settings=settings) as running:
        admin = AdminClient({"bootstrap.servers": running.bootstrap_servers})
        admin.create_topics([NewTopic(TOPIC, 2)])[TOPIC].result(30)
        yield running


def test_members_of_the_java_client_share_the_records_of_a_topic(
    broker: Broker, tmp_path: Path, java_programs: JavaPrograms
) -> None:
    servers = broker.bootstrap_servers
    said = java_programs.run("ShareCheck", servers, TOPIC, "600", "3").splitlines()
    assert said == [
        "together 600 of 600, 0 twice, members several",
        "explicit 540 accepted, 60 rejected, deliveries {1=600, 2=180}",
        "rest 0",
        "describe Empty 0",
        "listed true",
    ]
    check_tools(java_programs, servers)
    broker.stop()
    check_dump(java_programs, tmp_path / "data")


def check_tools(java_programs: JavaPrograms, servers: str) -> None:
    """Kafka's command for share groups lists them, shows their place, sets it, and deletes them."""

    def command(*words: str) -> str:
        return java_programs.run(COMMAND, "--bootstrap-server", servers, *words)

    assert set(command("--list").split()) == {"together", "explicit"}
    assert sum(place[0] for place in places(command("--describe", "--group", "together"))) == 600
    assert {place[1] for place in places(command("--describe", "--group", "together"))} == {0}
    reset = ("--reset-offsets", "--group", "together", "--topic", TOPIC, "--to-earliest", "--execute")
    command(*reset)
    again = places(command("--describe", "--group", "together"))
    assert (sum(start for start, _ in again), sum(lag for _, lag in again)) == (0, 600)
    command("--delete-offsets", "--group", "explicit", "--topic", TOPIC)
    command("--delete", "--group", "together")
    assert command("--list").split() == ["explicit"]


def places(table: str) -> list[tuple[int, int]]:
    """Start offset and lag of each partition."""
    lines = [line.split() for line in table.splitlines() if line.strip()]
    head = lines[0]
    at, lag = head.index("START-OFFSET"), head.index("LAG")
    return [(int(line[at]), int(line[lag])) for line in lines[1:]]


def check_dump(java_programs: JavaPrograms, data: Path) -> None:
    """Kafka's dump tool reads what was written to both internal topics."""
    dump, name = "kafka.tools.DumpLogSegments", "00000000000000000000.log"
    states = data / "__share_group_state-0" / name
    said = java_programs.run(dump, "--share-group-state-decoder", "--files", str(states))
    records = [json.loads(line.split(" payload: ")[1]) for line in said.splitlines() if " payload: {" in line]
    assert any(record["data"]["startOffset"] > 0 for record in records)
    groups = data / "__consumer_offsets-0" / name
    said = java_programs.run(dump, "--offsets-decoder", "--files", str(groups))
    kinds = {line.split('"type":"')[1].split('"')[0] for line in said.splitlines() if '"type":"' in line}
    assert kinds == {"10", "11", "12", "13", "14", "15"}


@pytest.mark.claim("A10")
def test_nothing_is_lost_when_a_broker_of_three_is_killed(
    tmp_path: Path, java_programs: JavaPrograms, long_form: bool
) -> None:
    count, kills = (20_000, 10) if long_form else (1200, 1)
    with Cluster(tmp_path, settings={"group.share.record.lock.duration.ms": "15000"}) as cluster:
        cluster.create_topic(TOPIC, 6)
        _earliest(cluster.bootstrap_servers, "steady")
        producer = Producer({"bootstrap.servers": cluster.bootstrap_servers, "acks": "all"})
        for number in range(count):
            producer.produce(TOPIC, str(number).encode(), partition=number % 6)
        assert producer.flush(60) == 0
        members = _start(java_programs, cluster.bootstrap_servers, count, 400)
        try:
            for kill in range(kills):
                _wait_for(members, count * (kill + 1) // (kills + 2))
                node = cluster.nodes[kill % 3]
                node.kill()
                node.start()
            rest, _ = members.communicate(timeout=400)
        finally:
            members.kill()
    assert rest.splitlines()[-1] == f"accepted {count} of {count}"


def _start(programs: JavaPrograms, servers: str, count: int, seconds: int) -> subprocess.Popen[str]:
    words = (servers, TOPIC, "steady", str(count), "3", str(seconds))
    command = ["java", *QUIET, "-cp", programs.class_path, "ShareSteady", *words]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def _wait_for(members: subprocess.Popen[str], accepted: int) -> None:
    assert members.stdout is not None
    for line in members.stdout:
        if line.startswith("so far") and int(line.split()[-1]) >= accepted:
            return
    raise AssertionError("the members ended early")


def _earliest(servers: str, group: str) -> None:
    """The group begins with the first record."""
    with Admin({"bootstrap.servers": servers}) as admin:
        wanted = {ConfigResource("GROUP", group): [AlterConfigOp("share.auto.offset.reset", "earliest")]}
        admin.incremental_alter_configs(wanted).all().result(30)
