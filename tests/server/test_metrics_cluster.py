"""Metrics of three brokers: who is the controller, what is not in sync, what replication moves."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from confluent_kafka import Producer

from penstock.testing.cluster import Cluster
from tests.peers.apache_kafka import free_port
from tests.server.scraping import Scraped, scrape

SETTINGS = {
    "broker.session.timeout.ms": "2500",
    "broker.heartbeat.interval.ms": "500",
    "replica.lag.time.max.ms": "2000",
}
REPLICAS = "kafka_server_replicamanager_"
TRAFFIC = "kafka_server_brokertopicmetrics_"


def total(scrapes: list[Scraped], name: str) -> float:
    return sum(scraped(name) for scraped in scrapes)


@pytest.mark.timeout(240)
def test_a_broker_that_dies_and_returns_is_seen_in_the_metrics_of_the_others(tmp_path: Path) -> None:
    with Cluster(tmp_path, settings=SETTINGS) as cluster:
        pass  # the nodes have their addresses; they are started again with another
    addresses = {}
    for number, node in cluster.brokers.items():
        addresses[number] = f"127.0.0.1:{free_port()}"
        node.properties["metrics.listener"] = addresses[number]
    with cluster:
        cluster.create_topic("t", 3)
        producer = Producer({"bootstrap.servers": cluster.bootstrap_servers, "acks": "all"})
        for number in range(300):
            producer.produce("t", b"x" * 100, partition=number % 3)
        assert producer.flush(60) == 0
        scrapes = [scrape(address) for address in addresses.values()]
        assert total(scrapes, f"{TRAFFIC}messagesinpersec_count") == 300
        written = total(scrapes, f"{TRAFFIC}bytesinpersec_count")
        assert total(scrapes, f"{TRAFFIC}replicationbytesinpersec_count") >= 2 * written
        assert total(scrapes, f"{TRAFFIC}replicationbytesoutpersec_count") >= 2 * written
        assert total(scrapes, f"{REPLICAS}leadercount") >= 3
        assert total(scrapes, f"{REPLICAS}underreplicatedpartitions") == 0
        assert total(scrapes, "kafka_controller_kafkacontroller_activecontrollercount") == 1

        cluster.brokers[3].kill()
        others = [addresses[1], addresses[2]]
        wait_until(
            lambda: total([scrape(each) for each in others], f"{REPLICAS}underreplicatedpartitions") >= 3
        )
        wait_until(
            lambda: all(
                scrape(each)("kafka_controller_kafkacontroller_fencedbrokercount") == 1 for each in others
            )
        )
        cluster.brokers[3].start()
        cluster.wait_in_sync("t")
        scrapes = [scrape(address) for address in addresses.values()]
        assert total(scrapes, f"{REPLICAS}underreplicatedpartitions") == 0
        assert total(scrapes, f"{REPLICAS}isrexpandspersec_count") >= 1


def wait_until(condition: object, seconds: float = 60) -> None:
    assert callable(condition)
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not happen in time"
