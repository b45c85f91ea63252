"""A broker's metrics as Prometheus reads them, while a client that we did not write produces and consumes."""

from __future__ import annotations

import time
from collections.abc import Iterator
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest
from confluent_kafka import Consumer, KafkaException, Producer
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewTopic,
    ResourceType,
)

from penstock.server.metrics.families import families
from penstock.server.metrics.sources import api_name
from penstock.testing import Broker
from tests.server.scraping import Scraped, scrape

TRAFFIC = "kafka_server_brokertopicmetrics_"
REQUESTS = "kafka_network_requestmetrics_"


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with Broker(
        settings={"metrics.listener": "127.0.0.1:0", "auto.create.topics.enable": "false"}
    ) as running:
        yield running


def make_topic(broker: Broker, name: str) -> None:
    admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
    admin.create_topics([NewTopic(name, 2)])[name].result(10)


def produce(broker: Broker, topic: str, count: int) -> None:
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers, "linger.ms": 5})
    for number in range(count):
        producer.produce(topic, b"x" * 100, partition=number % 2)
    assert producer.flush(30) == 0


def consume(broker: Broker, topic: str, count: int) -> None:
    consumer = Consumer(
        {
            "bootstrap.servers": broker.bootstrap_servers,
            "group.id": f"group-of-{topic}",
            "auto.offset.reset": "earliest",
        }
    )
    consumer.subscribe([topic])
    found, deadline = 0, time.monotonic() + 30
    while found < count:
        assert time.monotonic() < deadline
        found += len(consumer.consume(count, 0.5))
    consumer.close()


def test_records_are_counted_by_topic_and_in_total(broker: Broker) -> None:
    make_topic(broker, "counted")
    before = scrape(broker.metrics_address)
    produce(broker, "counted", 1000)
    consume(broker, "counted", 1000)
    after = scrape(broker.metrics_address)
    messages, bytes_in = f"{TRAFFIC}messagesinpersec_count", f"{TRAFFIC}bytesinpersec_count"
    assert after(messages, topic="counted") == 1000
    assert after(messages) - before(messages) == 1000
    assert 100_000 < after(bytes_in, topic="counted") < 130_000
    bytes_out = after(f"{TRAFFIC}bytesoutpersec_count", topic="counted")
    assert bytes_out >= after(bytes_in, topic="counted")


def test_requests_are_timed_by_api_with_percentiles(broker: Broker) -> None:
    make_topic(broker, "timed")
    produce(broker, "timed", 100)
    consume(broker, "timed", 100)
    scraped = scrape(broker.metrics_address)
    assert scraped(f"{REQUESTS}requestspersec_count", request="Produce") >= 1
    for time_ in ("totaltimems", "localtimems", "remotetimems", "requestqueuetimems", "responsesendtimems"):
        requests = scraped(f"{REQUESTS}totaltimems_count", request="Fetch")
        assert scraped(f"{REQUESTS}{time_}_count", request="Fetch") == requests
        median = scraped(f"{REQUESTS}{time_}", request="Fetch", quantile="0.5")
        assert median <= scraped(f"{REQUESTS}{time_}", request="Fetch", quantile="0.99")
    total = scraped(f"{REQUESTS}totaltimems_sum", request="Fetch")
    parts = [scraped(f"{REQUESTS}{part}timems_sum", request="Fetch") for part in ("local", "remote")]
    assert total == pytest.approx(sum(parts))
    assert total > 0


def test_a_fetch_that_waits_is_in_the_purgatory(broker: Broker) -> None:
    make_topic(broker, "waited-for")
    consumer = Consumer(
        {"bootstrap.servers": broker.bootstrap_servers, "group.id": "waits", "fetch.wait.max.ms": 5_000}
    )
    consumer.subscribe(["waited-for"])
    deadline = time.monotonic() + 30
    name = "kafka_server_delayedoperationpurgatory_purgatorysize"
    while not scrape(broker.metrics_address)(name, delayedoperation="Fetch"):
        assert time.monotonic() < deadline
        consumer.poll(0.05)
    consumer.close()


def test_groups_and_the_quorum_are_told(broker: Broker) -> None:
    make_topic(broker, "grouped")
    produce(broker, "grouped", 10)
    consume(broker, "grouped", 10)
    scraped = scrape(broker.metrics_address)
    groups = "kafka_server_group_coordinator_metrics_group_count"
    assert scraped(groups, protocol="classic", state="Empty") >= 1
    assert scraped("penstock_coordinator_partitions", topic="__consumer_offsets") == 4
    assert scraped("kafka_server_raft_metrics_current_state", state="leader") == 1
    assert scraped("kafka_server_raft_metrics_high_watermark") > 0
    assert scraped("kafka_controller_kafkacontroller_activecontrollercount") == 1
    assert scraped("kafka_controller_kafkacontroller_offlinepartitionscount") == 0
    assert scraped("kafka_server_replicamanager_underreplicatedpartitions") == 0
    assert scraped("kafka_server_replicamanager_leadercount") >= 6


def test_transactions_are_told_by_state(broker: Broker) -> None:
    make_topic(broker, "transactional")
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers, "transactional.id": "told"})
    producer.init_transactions(30)
    producer.begin_transaction()
    producer.produce("transactional", b"x")
    producer.flush(30)
    assert scrape(broker.metrics_address)("penstock_transactional_ids", state="Ongoing") == 1
    producer.commit_transaction(30)
    assert ("penstock_transactional_ids", {"state": "Ongoing"}) not in scrape(broker.metrics_address)


def test_what_is_refused_is_counted_and_a_name_that_does_not_exist_is_no_label(broker: Broker) -> None:
    failed = f"{TRAFFIC}failedproducerequestspersec_count"
    before = scrape(broker.metrics_address)(failed)
    make_topic(broker, "picky")
    admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
    admin.delete_topics(["picky"])["picky"].result(10)
    with pytest.raises(KafkaException):
        _produce_one(broker, "picky")
    make_topic(broker, "compacted-picky")
    _set(broker, "compacted-picky", "max.message.bytes", "100")
    with pytest.raises(KafkaException):
        _produce_one(broker, "compacted-picky", b"x" * 1000)
    after = scrape(broker.metrics_address)
    assert after(failed) - before >= 1
    assert (failed, {"topic": "picky"}) not in after


def test_a_deleted_topic_goes_and_what_it_counted_stays_in_the_totals(broker: Broker) -> None:
    make_topic(broker, "deleted")
    produce(broker, "deleted", 10)
    messages = f"{TRAFFIC}messagesinpersec_count"
    before = scrape(broker.metrics_address)(messages)
    admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
    admin.delete_topics(["deleted"])["deleted"].result(10)
    deadline = time.monotonic() + 30
    while (messages, {"topic": "deleted"}) in scrape(broker.metrics_address):
        assert time.monotonic() < deadline
    assert scrape(broker.metrics_address)(messages) == before


def test_every_metric_has_been_declared_and_all_but_a_few_are_always_there(broker: Broker) -> None:
    make_topic(broker, "declared")
    produce(broker, "declared", 1)
    scraped: Scraped = scrape(broker.metrics_address)
    declared = {family.name: family for family in families()}
    # The parser leaves out the `_total` at the end of a counter's name.
    found = {_name(family, declared): family for family in scraped.families.values()}
    assert found.keys() <= declared.keys()
    assert {name: family.type for name, family in found.items()} == {
        name: declared[name].kind for name in found
    }
    assert {name: family.documentation for name, family in found.items()} == {
        name: declared[name].help for name in found
    }
    of_state = {"penstock_transactional_ids", "kafka_server_group_coordinator_metrics_group_count"}
    assert declared.keys() - found.keys() <= of_state
    for name, family in found.items():
        labels = {label for sample in family.samples for label in sample.labels} - {"quantile"}
        assert labels <= set(declared[name].labels), name


def test_there_is_no_other_page(broker: Broker) -> None:
    with pytest.raises(HTTPError, match="404"):
        urlopen(f"http://{broker.metrics_address}/", timeout=10)


def test_without_the_setting_nothing_listens() -> None:
    with Broker() as broker, pytest.raises(AssertionError, match=r"metrics\.listener"):
        _ = broker.metrics_address


def test_an_address_that_is_taken_is_said_at_once(broker: Broker) -> None:
    with (
        pytest.raises(OSError, match="in use"),
        Broker(settings={"metrics.listener": broker.metrics_address}),
    ):
        pass


@pytest.mark.parametrize(
    ("key", "name"), [(0, "Produce"), (22, "InitProducerId"), (68, "ConsumerGroupHeartbeat")]
)
def test_apis_are_named_as_kafka_does(key: int, name: str) -> None:
    assert api_name(key) == name


def _name(family: object, declared: dict[str, object]) -> str:
    name = str(getattr(family, "name", ""))
    return name if name in declared else f"{name}_total"


def _produce_one(broker: Broker, topic: str, value: bytes = b"x") -> None:
    errors: list[KafkaException] = []
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers, "message.timeout.ms": 2_000})
    producer.produce(
        topic, value, callback=lambda error, _: errors.append(KafkaException(error)) if error else None
    )
    producer.flush(30)
    if errors:
        raise errors[0]


def _set(broker: Broker, topic: str, name: str, value: str) -> None:
    entry = ConfigEntry(name, value, incremental_operation=AlterConfigOpType.SET)
    resource = ConfigResource(ResourceType.TOPIC, topic, incremental_configs=[entry])
    admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
    admin.incremental_alter_configs([resource])[resource].result(10)
