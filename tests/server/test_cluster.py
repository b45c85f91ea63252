"""Real processes that form a cluster: whatever any broker is asked is decided by the active controller."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException, Producer
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewTopic,
    ResourceType,
)

from penstock.protocol.apis import Api
from penstock.testing.cluster import Cluster
from penstock.testing.cluster.node import Node
from penstock.wire.connection import Address, Connection
from penstock.wire.deadline import Deadline

SETTINGS = {"broker.session.timeout.ms": "4000", "broker.heartbeat.interval.ms": "500"}


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Three nodes that are brokers and controllers."""
    with Cluster(tmp_path_factory.mktemp("cluster"), settings=SETTINGS) as cluster:
        yield cluster


def admin_of(node: Node) -> AdminClient:
    return AdminClient({"bootstrap.servers": node.address, "log_level": 0})


def ask(node: Node, api: Api, version: int, **fields: Any) -> Any:
    connection = Connection(Address.parse(node.address), Deadline(10))
    try:
        return connection.call(api, fields, Deadline(20), oldest=version, newest=version)
    finally:
        connection.close()


def test_every_broker_takes_what_the_controller_decides(cluster: Cluster) -> None:
    for number, node in cluster.brokers.items():
        fields = {
            "name": f"made-by-{number}",
            "num_partitions": 3,
            "replication_factor": 3,
            "assignments": (),
            "configs": (),
        }
        answer = ask(node, Api.CREATE_TOPICS, 7, topics=[fields], timeout=10_000, validate_only=False)
        assert [topic.error_code for topic in answer.topics] == [0]
    for number in cluster.brokers:
        cluster.wait_in_sync(f"made-by-{number}")
        leaders = {view.leader for view in cluster.partitions(f"made-by-{number}").values()}
        assert leaders == set(cluster.brokers), "leaders are spread"


def test_all_brokers_tell_of_one_quorum(cluster: Cluster) -> None:
    topics = [{"topic_name": "__cluster_metadata", "partitions": [{"partition_index": 0}]}]
    leaders = set()
    for node in cluster.brokers.values():
        answer = ask(node, Api.DESCRIBE_QUORUM, 2, topics=topics)
        (partition,) = answer.topics[0].partitions
        leaders.add(partition.leader_id)
        assert {voter.replica_id for voter in partition.current_voters} == {1, 2, 3}
        assert {told.node_id for told in answer.nodes} == {1, 2, 3}
    assert len(leaders) == 1
    assert leaders <= {1, 2, 3}


def test_a_setting_of_one_broker_reaches_it_from_any(cluster: Cluster) -> None:
    change = ConfigEntry("log.cleaner.threads", "2", incremental_operation=AlterConfigOpType.SET)
    resource = ConfigResource(ResourceType.BROKER, "2", incremental_configs=[change])
    admin = admin_of(cluster.brokers[1])
    admin.incremental_alter_configs([resource])[resource].result(20)

    def has_followed() -> bool:
        told = admin.describe_configs([ConfigResource(ResourceType.BROKER, "2")])
        (values,) = [future.result(20) for future in told.values()]
        return bool(values["log.cleaner.threads"].value == "2")

    cluster.wait_until(has_followed, "broker 2 to follow", seconds=10)


def test_producers_of_all_brokers_have_ids_of_their_own(cluster: Cluster) -> None:
    def producer_id(node: Node) -> int:
        fields = {
            "transactional_id": None,
            "transaction_timeout": 1000,
            "producer_id": -1,
            "producer_epoch": -1,
        }
        for _ in range(100):
            answer = ask(node, Api.INIT_PRODUCER_ID, 4, **fields)
            if answer.error_code == 0:
                return int(answer.producer_id)
            time.sleep(0.05)  # the next block is on its way
        raise AssertionError(answer)

    found = [producer_id(node) for node in cluster.brokers.values() for _ in range(3)]
    assert len(set(found)) == len(found)


def test_a_topic_that_a_client_writes_to_is_made_and_read_by_a_group(cluster: Cluster) -> None:
    producer = Producer({"bootstrap.servers": cluster.bootstrap_servers, "log_level": 0})
    for number in range(20):
        producer.produce("made-by-writing", str(number).encode())
    assert producer.flush(30) == 0
    consumer = Consumer(
        {
            "bootstrap.servers": cluster.bootstrap_servers,
            "group.id": "readers",
            "auto.offset.reset": "earliest",
            "log_level": 0,
        }
    )
    consumer.subscribe(["made-by-writing"])
    deadline, values = time.monotonic() + 30, set()
    while len(values) < 20 and time.monotonic() < deadline:
        message = consumer.poll(0.5)
        if message is not None and message.error() is None:
            values.add(message.value())
    consumer.close()
    assert len(values) == 20


def test_a_process_with_a_number_that_is_taken_does_not_start(cluster: Cluster, tmp_path: Path) -> None:
    twin = dict(cluster.brokers[3].properties)
    twin |= {
        "process.roles": "broker",
        "node.id": "9",
        "listeners": "PLAINTEXT://127.0.0.1:0",
        "log.dirs": str(tmp_path / "data"),
        "initial.broker.registration.timeout.ms": "1500",
    }
    del twin["advertised.listeners"]
    nine, other = _broker(tmp_path / "nine", twin), {**twin, "log.dirs": str(tmp_path / "other")}
    try:
        cluster.wait_until(lambda: any(9 in view.brokers for view in cluster.views()), "broker 9")
        code, told = _refused(tmp_path / "other.properties", other)
        assert code == 1
        assert "DUPLICATE_BROKER_REGISTRATION" in told
    finally:
        nine.terminate()
        nine.wait(30)


def test_a_broker_that_stops_has_given_its_partitions_away_and_comes_back_at_once(cluster: Cluster) -> None:
    cluster.create_topic("moving", 3)
    leader = cluster.leader_of("moving", 0)
    began = time.monotonic()
    assert cluster.brokers[leader].stop() == 0
    others = {view.leader for view in cluster.partitions("moving").values()}
    assert leader not in others
    assert time.monotonic() - began < 20
    cluster.brokers[leader].start()
    cluster.wait_for_brokers(cluster.brokers)
    cluster.wait_in_sync("moving")


@pytest.mark.parametrize(
    ("texts", "told"),
    [
        ({"cluster.id": ""}, "cluster.id"),
        ({"process.roles": "broker"}, "controller.quorum.voters"),
        ({"listeners": "PLAINTEXT://127.0.0.1:0"}, "listeners"),
    ],
)
def test_a_node_that_cannot_belong_to_its_cluster_says_why(
    texts: dict[str, str], told: str, tmp_path: Path
) -> None:
    node = Cluster(tmp_path).brokers[1]
    properties = {name: text for name, text in (dict(node.properties) | texts).items() if text}
    code, said = _refused(tmp_path / "server.properties", properties)
    assert code != 0
    assert told in said


def test_another_clusters_directory_is_refused(cluster: Cluster, tmp_path: Path) -> None:
    stopped = Cluster(tmp_path).brokers[1]
    data = tmp_path / "data"
    data.mkdir()
    (data / "meta.properties").write_text("version=1\ncluster.id=another\nnode.id=1\ndirectory.id=a\n")
    properties = dict(stopped.properties) | {"log.dirs": str(data)}
    code, said = _refused(tmp_path / "server.properties", properties)
    assert code != 0
    assert "belongs to node 1 of cluster another" in said


def test_brokers_of_their_own_follow_a_controller_of_its_own_and_an_empty_one_refills(tmp_path: Path) -> None:
    settings = {**SETTINGS, "min.insync.replicas": "1"}
    with Cluster(tmp_path, brokers=2, controllers=1, settings=settings) as cluster:
        cluster.create_topic("t", 2, copies=2)
        producer = Producer({"bootstrap.servers": cluster.bootstrap_servers, "log_level": 0})
        for number in range(100):
            producer.produce("t", str(number).encode(), partition=number % 2)
        assert producer.flush(30) == 0
        lost = cluster.brokers[2]
        lost.kill()
        cluster.wait_until(
            lambda: all(view.leader == 1 for view in cluster.partitions("t").values()), "broker 1 leads"
        )
        lost.wipe()
        lost.start()
        cluster.wait_for_brokers([1, 2])
        cluster.wait_in_sync("t")
        cluster.controllers[101].stop()
        cluster.controllers[101].start()
        admin = admin_of(lost)
        try:
            admin.create_topics([NewTopic("after", 1, 2)])["after"].result(30)
        except KafkaException as again:
            # The controller was asked while it started, and its first answer came too late to be heard.
            if again.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS:
                raise
        cluster.wait_in_sync("after")


def _broker(home: Path, properties: dict[str, str]) -> subprocess.Popen[bytes]:
    home.mkdir(parents=True, exist_ok=True)
    file = home / "server.properties"
    file.write_text("".join(f"{name}={text}\n" for name, text in properties.items()))
    command = [sys.executable, "-m", "penstock", "broker", "--config", str(file)]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def _refused(file: Path, properties: dict[str, str]) -> tuple[int, str]:
    file.write_text("".join(f"{name}={text}\n" for name, text in properties.items()))
    command = [sys.executable, "-m", "penstock", "broker", "--config", str(file)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    return done.returncode, done.stderr
