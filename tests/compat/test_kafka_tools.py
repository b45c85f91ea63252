"""Kafka's own command-line tools (Java) against the broker, and its dump tool against the internal topics.

Segments, indexes and snapshots are dumped in tests/storage.
"""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from penstock.clock import SystemClock
from penstock.controller.broker_records import (
    BrokerRegistrationChangeRecord,
    Endpoint,
    RegisterBrokerRecord,
)
from penstock.controller.controller import Controller
from penstock.controller.metadata_records import PartitionRecord, TopicRecord
from penstock.controller.partition_records import PartitionChangeRecord
from penstock.controller.quorum import Quorum
from penstock.settings import TopicSettings
from penstock.storage.disk import OsDisk
from penstock.storage.log import Log
from penstock.testing import Broker
from tests.peers.apache_kafka import Unavailable, jars, tool_jars

TOOL_SECONDS = 60
QUIET = ("-Xmx256m", "-XX:TieredStopAtLevel=1", "-Dlog4j2.level=OFF")


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("data")


@pytest.fixture(scope="module")
def broker(data: Path) -> Iterator[Broker]:
    with Broker(str(data), {"offsets.topic.num.partitions": "2", "num.partitions": "2"}) as running:
        yield running


@pytest.fixture(scope="module")
def libraries() -> Path:
    try:
        return tool_jars()
    except Unavailable as reason:
        pytest.skip(str(reason))


def tool(libraries: Path, name: str, *arguments: str, given: str = "") -> str:
    command = ["java", *QUIET, "-cp", f"{libraries}/*", name, *arguments]
    done = subprocess.run(
        command, input=given, capture_output=True, text=True, timeout=TOOL_SECONDS, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_producer_and_consumer_performance_tests_run(broker: Broker, libraries: Path) -> None:
    out = tool(
        libraries,
        "org.apache.kafka.tools.ProducerPerformance",
        *("--topic", "perf", "--num-records", "50000", "--record-size", "100", "--throughput", "-1"),
        *("--bootstrap-server", broker.bootstrap_servers),
    )
    assert re.search(r"50000 records sent, [\d.]+ records/sec", out), out
    out = tool(
        libraries,
        "org.apache.kafka.tools.ConsumerPerformance",
        *("--topic", "perf", "--num-records", "50000", "--bootstrap-server", broker.bootstrap_servers),
    )
    assert re.search(r",\s*50000,", out), out


def test_topics_are_created_described_altered_and_listed(broker: Broker, libraries: Path) -> None:
    topics = "org.apache.kafka.tools.TopicCommand"
    servers = ("--bootstrap-server", broker.bootstrap_servers)
    created = tool(libraries, topics, *servers, "--create", "--topic", "made", "--partitions", "3")
    assert "Created topic made." in created
    tool(libraries, topics, *servers, "--alter", "--topic", "made", "--partitions", "4")
    described = tool(libraries, topics, *servers, "--describe", "--topic", "made")
    assert "PartitionCount: 4" in described
    assert len(re.findall(r"Leader: 1\b", described)) == 4


def test_offsets_are_told(broker: Broker, libraries: Path) -> None:
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers})
    for number in range(7):
        producer.produce("counted", str(number), partition=0)
    assert producer.flush(10) == 0
    out = tool(
        libraries,
        "org.apache.kafka.tools.GetOffsetShell",
        *("--bootstrap-server", broker.bootstrap_servers, "--topic", "counted"),
    )
    assert set(out.split()) == {"counted:0:7", "counted:1:0"}


@pytest.mark.usefixtures("libraries")
def test_the_dump_tool_reads_the_metadata_log(broker: Broker, data: Path) -> None:
    Producer({"bootstrap.servers": broker.bootstrap_servers}).list_topics("asked-for", timeout=10)
    log = data / "__cluster_metadata-0" / "00000000000000000000.log"
    out = dump(log, "--cluster-metadata-decoder")
    payloads = [json.loads(found) for found in re.findall(r"payload: (\{.*\})", out)]
    topics = [item["data"]["name"] for item in payloads if item["type"] == "TOPIC_RECORD"]
    assert "asked-for" in topics
    partitions = [item["data"] for item in payloads if item["type"] == "PARTITION_RECORD"]
    assert all(part["leader"] == 1 and part["isr"] == [1] for part in partitions)
    assert 'LeaderChange: {"version":0,"leaderId":1,"voters":[{"voterId":1}]' in out


@pytest.mark.usefixtures("libraries")
def test_the_dump_tool_reads_a_snapshot_of_the_metadata(tmp_path: Path) -> None:
    log = Log.open(OsDisk(), str(tmp_path), TopicSettings(), SystemClock(), clean=False)
    controller = Controller(Quorum(log, OsDisk(), SystemClock(), Random(1), node_id=1))
    topic_id = (7).to_bytes(16, "big")
    records = [
        TopicRecord("kept", topic_id),
        PartitionRecord(0, topic_id, (1, 2), (1,), 1, 0, 0),
        RegisterBrokerRecord(1, b"i" * 16, 5, (Endpoint("OUT", "host", 65000),), "rack-a", fenced=True),
        BrokerRegistrationChangeRecord(1, 5, fenced=False, in_controlled_shutdown=True),
        PartitionChangeRecord(0, topic_id, isr=(), leader=-1, elr=(1,), last_known_elr=(2,)),
    ]
    controller.submit(lambda image: (records, None))
    out = dump(tmp_path / "00000000000000000000.log", "--cluster-metadata-decoder")
    assert '"fenced":-1,"inControlledShutdown":1' in out, out
    assert '"isr":[],"leader":-1,"eligibleLeaderReplicas":[1],"lastKnownElr":[2]' in out, out
    controller.write_snapshot()
    out = dump(tmp_path / "00000000000000000006-0000000001.checkpoint", "--cluster-metadata-decoder")
    assert "SnapshotHeader" in out
    assert "SnapshotFooter" in out
    assert '"name":"kept"' in out
    assert '"host":"host","port":65000' in out, out
    assert '"rack":"rack-a","fenced":false,"inControlledShutdown":true' in out, out


def test_the_quorum_tool_describes_the_single_voter(broker: Broker, libraries: Path) -> None:
    command = ("--bootstrap-server", broker.bootstrap_servers, "describe")
    status = tool(libraries, "org.apache.kafka.tools.MetadataQuorumCommand", *command, "--status")
    assert re.search(r"LeaderId:\s+1\b", status), status
    assert re.search(r"MaxFollowerLag:\s+0\b", status), status
    replicas = tool(libraries, "org.apache.kafka.tools.MetadataQuorumCommand", *command, "--replication")
    assert re.search(r"^1\s.*\sLeader\s*$", replicas, re.MULTILINE), replicas


@pytest.mark.usefixtures("libraries")
def test_the_dump_tool_reads_committed_offsets(broker: Broker, data: Path) -> None:
    consumer = Consumer({"bootstrap.servers": broker.bootstrap_servers, "group.id": "dumped-group"})
    Producer({"bootstrap.servers": broker.bootstrap_servers}).list_topics("committed", timeout=10)
    consumer.commit(offsets=[TopicPartition("committed", 1, 42)], asynchronous=False)
    consumer.close()
    logs = sorted(data.glob("__consumer_offsets-*/00000000000000000000.log"))
    out = "".join(dump(log, "--offsets-decoder") for log in logs)
    assert "dumped-group" in out
    assert re.search(r'"offset":\s*42', out), out


def dump(log: Path, *arguments: str) -> str:
    """This one comes with the broker, not with the tools."""
    return tool(jars(), "kafka.tools.DumpLogSegments", "--files", str(log), *arguments)
