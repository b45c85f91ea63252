"""Groups of the Java client with every assignor, and Kafka's own tools on them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from penstock.testing import Broker
from penstock.testing.process import BrokerProcess
from tests.compat.churn import LONG_SECONDS, PARTITIONS, SETTINGS, TOPIC, stand_the_churn, until
from tests.compat.test_groups import PROTOCOLS, Watched
from tests.peers.apache_kafka import QUICK_JAVA
from tests.peers.java_programs import JavaPrograms

GROUPS = ("Range", "RoundRobin", "Sticky", "CooperativeSticky", "Consumer", "ConsumerRange")


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[Broker]:
    settings = {**SETTINGS, "offsets.topic.num.partitions": "1"}
    with Broker(data=str(tmp_path / "data"), settings=settings) as running:
        yield running


def make_topic(servers: str, name: str, partitions: int) -> None:
    admin = AdminClient({"bootstrap.servers": servers})
    admin.create_topics([NewTopic(name, partitions)])[name].result(10)


def test_the_java_client_shares_partitions_by_every_assignor_while_members_come_and_go(
    broker: Broker, java_programs: JavaPrograms
) -> None:
    make_topic(broker.bootstrap_servers, "java", 6)
    said = java_programs.run("GroupCheck", broker.bootstrap_servers, "java", "1500")
    assert [line for line in said.splitlines() if line.startswith(GROUPS)] == [
        f"{name} ok" for name in GROUPS
    ]


ASSIGNORS = "org.apache.kafka.clients.consumer.{}Assignor"
CLASSIC = ("group.protocol=classic", "session.timeout.ms=2500", "heartbeat.interval.ms=300")
MEMBERS = {
    "consumer": ("group.protocol=consumer",),
    "cooperative": (*CLASSIC, f"partition.assignment.strategy={ASSIGNORS.format('CooperativeSticky')}"),
    "range": (*CLASSIC, f"partition.assignment.strategy={ASSIGNORS.format('Range')}"),
    "roundrobin": (*CLASSIC, f"partition.assignment.strategy={ASSIGNORS.format('RoundRobin')}"),
    "sticky": (*CLASSIC, f"partition.assignment.strategy={ASSIGNORS.format('Sticky')}"),
}


def java_member(programs: JavaPrograms) -> list[str]:
    """The command that starts GroupMember; servers, topic, group and settings follow."""
    return ["java", *QUICK_JAVA, "-Xmx96m", "-cp", programs.class_path, "GroupMember"]


@pytest.mark.claim("A10")
@pytest.mark.timeout(900)
def test_java_members_come_and_go_and_the_broker_is_killed(
    tmp_path: Path, java_programs: JavaPrograms, long_form: bool
) -> None:
    def member(servers: str, topic: str, group: str) -> list[str]:
        return [*java_member(java_programs), servers, topic, group, *MEMBERS[group]]

    groups = list(MEMBERS) if long_form else ["consumer", "cooperative"]
    with BrokerProcess(str(tmp_path / "data"), settings=SETTINGS) as process:
        make_topic(process.bootstrap_servers, TOPIC, PARTITIONS)
        stand_the_churn(process, groups, member, LONG_SECONDS if long_form else 0)


def test_kafkas_consumer_performance_test_and_group_command_run(
    broker: Broker, java_programs: JavaPrograms
) -> None:
    servers = broker.bootstrap_servers
    make_topic(servers, "perf", 2)
    producer = Producer({"bootstrap.servers": servers})
    for number in range(2000):
        producer.produce("perf", b"x" * 100, partition=number % 2)
    producer.flush(10)
    said = java_programs.run(
        "org.apache.kafka.tools.ConsumerPerformance",
        *("--bootstrap-server", servers, "--topic", "perf", "--num-records", "2000", "--group", "perf"),
    )
    assert said.splitlines()[1].split(", ")[4] == "2000"
    command = "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand"
    told = java_programs.run(command, "--bootstrap-server", servers, "--describe", "--group", "perf")
    rows = [line.split() for line in told.splitlines() if line.startswith("perf")]
    assert [(row[1], row[2], row[4]) for row in rows] == [("perf", "0", "1000"), ("perf", "1", "1000")]


def test_kafkas_dump_tool_reads_every_kind_of_record(
    broker: Broker, tmp_path: Path, java_programs: JavaPrograms
) -> None:
    servers = broker.bootstrap_servers
    make_topic(servers, "dumped", 4)
    cooperative = {"partition.assignment.strategy": "cooperative-sticky"}
    members = [Watched(servers, ["dumped"], "dumped", **PROTOCOLS["classic"], **cooperative)]
    until("the classic member has everything", lambda: _polled(members) == [4])
    members.append(Watched(servers, ["dumped"], "dumped", **PROTOCOLS["consumer"]))
    until("both have their share", lambda: _polled(members) == [2, 2])
    members.append(Watched(servers, ["^dum.*"], "dumped", **PROTOCOLS["consumer"]))
    until("all have their share", lambda: min(_polled(members)) >= 1)
    for member in members:
        member.close()
    broker.stop()
    log = tmp_path / "data" / "__consumer_offsets-0" / "00000000000000000000.log"
    said = java_programs.run("kafka.tools.DumpLogSegments", "--offsets-decoder", "--files", str(log))
    kinds = Counter(
        line.split('"type":"')[1].split('"')[0] for line in said.splitlines() if '"type":"' in line
    )
    assert kinds.keys() == {"2", "3", "4", "5", "6", "7", "8", "16"}
    assert '"classicMemberMetadata":{"sessionTimeoutMs":6000' in said
    assert "^dum.*" in next(line for line in said.splitlines() if '"type":"16"' in line)


def _polled(members: list[Watched]) -> list[int]:
    for member in members:
        member.poll()
    return [len(member.owned) for member in members]
