"""Kafka's own command-line tools (Java) against the broker, and its dump tool against the internal topics.

Segments, indexes and snapshots are dumped in tests/storage.
"""

from __future__ import annotations

import json
import re
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
from penstock.controller.directory_ids import LOST, UNASSIGNED
from penstock.controller.metadata_records import PartitionRecord, TopicRecord
from penstock.controller.partition_records import PartitionChangeRecord
from penstock.controller.quorum import Quorum
from penstock.settings import TopicSettings
from penstock.storage.disk import OsDisk
from penstock.storage.log import Log
from penstock.testing import Broker
from tests.peers.java_programs import JavaPrograms


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("data")


@pytest.fixture(scope="module")
def broker(data: Path) -> Iterator[Broker]:
    with Broker(str(data), {"offsets.topic.num.partitions": "2", "num.partitions": "2"}) as running:
        yield running


def test_the_producer_and_consumer_performance_tests_run(broker: Broker, java_programs: JavaPrograms) -> None:
    out = java_programs.run(
        "org.apache.kafka.tools.ProducerPerformance",
        *("--topic", "perf", "--num-records", "50000", "--record-size", "100", "--throughput", "-1"),
        *("--bootstrap-server", broker.bootstrap_servers),
    )
    assert re.search(r"50000 records sent, [\d.]+ records/sec", out), out
    out = java_programs.run(
        "org.apache.kafka.tools.ConsumerPerformance",
        *("--topic", "perf", "--num-records", "50000", "--bootstrap-server", broker.bootstrap_servers),
    )
    assert re.search(r",\s*50000,", out), out


def test_topics_are_created_described_altered_and_listed(broker: Broker, java_programs: JavaPrograms) -> None:
    topics = "org.apache.kafka.tools.TopicCommand"
    servers = ("--bootstrap-server", broker.bootstrap_servers)
    created = java_programs.run(topics, *servers, "--create", "--topic", "made", "--partitions", "3")
    assert "Created topic made." in created
    java_programs.run(topics, *servers, "--alter", "--topic", "made", "--partitions", "4")
    described = java_programs.run(topics, *servers, "--describe", "--topic", "made")
    assert "PartitionCount: 4" in described
    assert len(re.findall(r"Leader: 1\b", described)) == 4


def test_offsets_are_told(broker: Broker, java_programs: JavaPrograms) -> None:
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers})
    for number in range(7):
        producer.produce("counted", str(number), partition=0)
    assert producer.flush(10) == 0
    out = java_programs.run(
        "org.apache.kafka.tools.GetOffsetShell",
        *("--bootstrap-server", broker.bootstrap_servers, "--topic", "counted"),
    )
    assert set(out.split()) == {"counted:0:7", "counted:1:0"}


def test_the_dump_tool_reads_the_metadata_log(
    broker: Broker, data: Path, java_programs: JavaPrograms
) -> None:
    Producer({"bootstrap.servers": broker.bootstrap_servers}).list_topics("asked-for", timeout=10)
    log = data / "__cluster_metadata-0" / "00000000000000000000.log"
    out = dump(java_programs, log, "--cluster-metadata-decoder")
    payloads = [json.loads(found) for found in re.findall(r"payload: (\{.*\})", out)]
    topics = [item["data"]["name"] for item in payloads if item["type"] == "TOPIC_RECORD"]
    assert "asked-for" in topics
    partitions = [item["data"] for item in payloads if item["type"] == "PARTITION_RECORD"]
    assert all(part["leader"] == 1 and part["isr"] == [1] for part in partitions)
    assert 'LeaderChange: {"version":0,"leaderId":1,"voters":[{"voterId":1}]' in out


def test_the_dump_tool_reads_a_snapshot_of_the_metadata(tmp_path: Path, java_programs: JavaPrograms) -> None:
    log = Log.open(OsDisk(), str(tmp_path), TopicSettings(), SystemClock(), clean=False)
    controller = Controller(Quorum(log, OsDisk(), SystemClock(), Random(1), node_id=1))
    topic_id = (7).to_bytes(16, "big")
    records = [
        TopicRecord("kept", topic_id),
        PartitionRecord(0, topic_id, (1, 2), (1,), 1, 0, 0, directories=(UNASSIGNED, b"d" * 16)),
        RegisterBrokerRecord(1, b"i" * 16, 5, (Endpoint("OUT", "host", 65000),), "rack-a", fenced=True),
        BrokerRegistrationChangeRecord(1, 5, fenced=False, in_controlled_shutdown=True),
        PartitionChangeRecord(0, topic_id, isr=(), leader=-1, elr=(1,), last_known_elr=(2,)),
        PartitionChangeRecord(0, topic_id, directories=(b"c" * 16, LOST)),
        BrokerRegistrationChangeRecord(1, 5, directories=(b"c" * 16,)),
    ]
    controller.submit(lambda image: (records, None))
    out = dump(java_programs, tmp_path / "00000000000000000000.log", "--cluster-metadata-decoder")
    assert '"fenced":-1,"inControlledShutdown":1' in out, out
    assert '"isr":[],"leader":-1,"eligibleLeaderReplicas":[1],"lastKnownElr":[2]' in out, out
    assert '"directories":["AAAAAAAAAAAAAAAAAAAAAQ","ZGRkZGRkZGRkZGRkZGRkZA"]' in out, out
    assert '"directories":["Y2NjY2NjY2NjY2NjY2NjYw","AAAAAAAAAAAAAAAAAAAAAg"]' in out, out
    assert '"logDirs":["Y2NjY2NjY2NjY2NjY2NjYw"]' in out, out
    controller.write_snapshot()
    out = dump(
        java_programs, tmp_path / "00000000000000000008-0000000001.checkpoint", "--cluster-metadata-decoder"
    )
    assert "SnapshotHeader" in out
    assert "SnapshotFooter" in out
    assert '"name":"kept"' in out
    assert '"host":"host","port":65000' in out, out
    assert '"rack":"rack-a","fenced":false,"inControlledShutdown":true' in out, out


def test_the_quorum_tool_describes_the_single_voter(broker: Broker, java_programs: JavaPrograms) -> None:
    command = ("--bootstrap-server", broker.bootstrap_servers, "describe")
    status = java_programs.run("org.apache.kafka.tools.MetadataQuorumCommand", *command, "--status")
    assert re.search(r"LeaderId:\s+1\b", status), status
    assert re.search(r"MaxFollowerLag:\s+0\b", status), status
    replicas = java_programs.run("org.apache.kafka.tools.MetadataQuorumCommand", *command, "--replication")
    assert re.search(r"^1\s.*\sLeader\s*$", replicas, re.MULTILINE), replicas


def test_the_dump_tool_reads_committed_offsets(
    broker: Broker, data: Path, java_programs: JavaPrograms
) -> None:
    consumer = Consumer({"bootstrap.servers": broker.bootstrap_servers, "group.id": "dumped-group"})
    Producer({"bootstrap.servers": broker.bootstrap_servers}).list_topics("committed", timeout=10)
    consumer.commit(offsets=[TopicPartition("committed", 1, 42)], asynchronous=False)
    consumer.close()
    logs = sorted(data.glob("__consumer_offsets-*/00000000000000000000.log"))
    out = "".join(dump(java_programs, log, "--offsets-decoder") for log in logs)
    assert "dumped-group" in out
    assert re.search(r'"offset":\s*42', out), out


def dump(programs: JavaPrograms, log: Path, *arguments: str) -> str:
    return programs.run("kafka.tools.DumpLogSegments", "--files", str(log), *arguments)
