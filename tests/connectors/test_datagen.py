"""The data generator: every quick-start, the same for a seed, as many as were asked for."""

from __future__ import annotations

import json

import pytest

from penstock.client.admin import Admin
from penstock.connect.api.test_kit import run_source
from penstock.connect.connectors.datagen.quickstarts import QUICKSTARTS
from penstock.connect.connectors.datagen.source import DatagenSource
from penstock.connect.converters.json_converter import JsonConverter
from penstock.testing.broker import Broker
from tests.connectors.worker import Worker, eventually
from tests.peers.topic_reader import read_topic

CLASS = "io.confluent.kafka.connect.datagen.DatagenConnector"


@pytest.mark.parametrize("name", QUICKSTARTS)
def test_records_of_a_quickstart_fit_their_schema_and_come_again(name: str) -> None:
    config = {"kafka.topic": "t", "quickstart": name, "iterations": "50", "max.interval": "0"}
    first, again = run_source(DatagenSource, config, polls=3), run_source(DatagenSource, config, polls=3)
    assert len(first) == 50
    assert [each.record for each in first] == [each.record for each in again]
    other = run_source(DatagenSource, {**config, "random.seed": "7"}, polls=3)
    assert name == "clickstream_codes" or [each.record for each in other] != [each.record for each in first]
    JsonConverter().from_connect(first[0].record.value_schema, first[0].record.value)
    half = first[24]
    rest = run_source(DatagenSource, config, [(half.partition, half.offset)], polls=3)
    assert [each.record for each in rest] == [each.record for each in first[25:]]


def test_a_key_field_that_is_not_there_and_settings_that_are_not_supported_are_refused() -> None:
    config = {"kafka.topic": "t", "quickstart": "users", "schema.keyfield": "nothing", "schema.string": "{}"}
    assert {name for name, _ in DatagenSource.check(config)} == {"schema.keyfield", "schema.string"}


def test_records_arrive_in_a_topic(worker: Worker, broker: Broker) -> None:
    config = {
        "connector.class": CLASS, "kafka.topic": "gen-users", "quickstart": "users", "iterations": "100",
        "max.interval": "1", "tasks.max": "2", "value.converter": "JsonConverter",
        "value.converter.schemas.enable": "false", "topic.creation.default.partitions": "2",
        "topic.creation.default.replication.factor": "1", "topic.creation.default.retention.ms": "98765000",
    }  # fmt: skip
    worker.create("gen", config)

    def values() -> list[bytes]:
        try:
            return [each.value() for each in read_topic(broker.bootstrap_servers, "gen-users")]
        except KeyError:
            return []

    eventually(lambda: len(values()) >= 200, "all records")
    assert len(values()) == 200
    assert json.loads(values()[0]).keys() == {"registertime", "userid", "regionid", "gender"}
    made = Admin(broker.bootstrap_servers).topic("gen-users")
    assert len(made.partitions) == 2
    worker.call("DELETE", "/connectors/gen")
