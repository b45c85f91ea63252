"""Producing by version 2: what reaches the log, byte for byte, and what is refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from confluent_kafka import Consumer, TopicPartition

from tests.rest.proxies import Proxy


def log_of(bootstrap_servers: str, topic: str, count: int, partition: int = 0) -> list[tuple[Any, Any]]:
    """Keys and values as an ordinary client reads them."""
    consumer = Consumer({"bootstrap.servers": bootstrap_servers, "group.id": "log"})
    consumer.assign([TopicPartition(topic, partition, 0)])
    found = consumer.consume(count, timeout=10)
    consumer.close()
    return [(message.key(), message.value()) for message in found]


def test_json_is_stored_without_whitespace_and_with_its_digits(
    proxy: Proxy, new_topic: Callable[..., str], bootstrap_servers: str
) -> None:
    topic = new_topic()
    body = b'{"records": [{"key": "k", "value": {"a" : 1.00, "b": [1,  2]}}, {"value": null}, {"key": 7}]}'
    answer = proxy.produce(topic, "json", body)
    assert answer.json() == {
        "offsets": [{"partition": 0, "offset": n, "error_code": None, "error": None} for n in range(3)],
        "key_schema_id": None,
        "value_schema_id": None,
    }
    assert log_of(bootstrap_servers, topic, 3) == [
        (b'"k"', b'{"a":1.00,"b":[1,2]}'),
        (None, None),
        (b"7", None),
    ]


def test_binary_is_base64_to_the_partition_that_is_asked_for(
    proxy: Proxy, new_topic: Callable[..., str], bootstrap_servers: str
) -> None:
    topic = new_topic(3)
    answer = proxy.produce(topic, "binary", {"records": [{"key": "aw==", "value": "AP8="}]}, partition=2)
    assert answer.json()["offsets"][0]["partition"] == 2
    body = {"records": [{"value": "aGk=", "partition": 1}]}
    assert proxy.produce(topic, "binary", body).json()["offsets"][0]["partition"] == 1
    assert log_of(bootstrap_servers, topic, 1, 2) == [(b"k", b"\x00\xff")]
    assert log_of(bootstrap_servers, topic, 1, 1) == [(None, b"hi")]


@pytest.mark.parametrize(
    "content_type",
    ["application/vnd.kafka.json.v1+json", "application/vnd.kafka.json.v2+json; charset=utf-8"],
)
def test_the_media_types_of_the_tutorials_are_taken(
    proxy: Proxy, new_topic: Callable[..., str], content_type: str
) -> None:
    body = {"records": [{"value": {"foo": "bar"}}]}
    answer = proxy.send("POST", f"/topics/{new_topic()}", body, content_type)
    assert (answer.status_code, answer.json()["offsets"][0]["offset"]) == (200, 0)


def test_equal_keys_go_where_every_kafka_client_sends_them(
    proxy: Proxy, new_topic: Callable[..., str]
) -> None:
    topic = new_topic(8)
    answer = proxy.produce(topic, "binary", {"records": [{"key": "a2V5", "value": "dg=="}] * 4})
    assert len({at["partition"] for at in answer.json()["offsets"]}) == 1


@pytest.mark.parametrize(
    ("form", "body", "status", "code"),
    [
        ("json", b"{", 400, 400),
        ("json", b'{"records": []}', 422, 422),
        ("json", b'{"records": 1}', 422, 422),
        ("json", b"", 422, 422),
        ("json", b"[" * 5000, 422, 422),
        ("binary", b'{"records": [{"value": "no base64!"}]}', 400, 400),
        ("binary", b'{"records": [{"value": 1}]}', 400, 400),
        ("json", b'{"records": [{"value": "\xff"}]}', 400, 400),
        ("xml", b"{}", 415, 415),
        ("avro", b'{"records": [{"value": 1}]}', 422, 42202),
        ("avro", b'{"records": [{"key": 1}]}', 422, 42201),
        ("avro", b'{"records": [{"value": 1}], "value_schema_id": 1}', 422, 42207),
    ],
)
def test_what_cannot_be_produced_is_refused_with_a_sentence(
    proxy: Proxy, new_topic: Callable[..., str], form: str, body: bytes, status: int, code: int
) -> None:
    answer = proxy.produce(new_topic(), form, body)
    assert (answer.status_code, answer.json()["error_code"]) == (status, code)
    assert answer.json()["message"]


def test_a_partition_that_is_not_there_fails_for_its_records_alone(
    proxy: Proxy, new_topic: Callable[..., str]
) -> None:
    body = {"records": [{"value": "aGk=", "partition": 9}, {"value": "aGk=", "partition": 0}]}
    failed, written = proxy.produce(new_topic(), "binary", body).json()["offsets"]
    assert failed["error_code"] == 40402
    assert failed["error"]
    assert (written["partition"], written["offset"]) == (0, 0)


def test_a_body_beyond_the_bound_is_refused_while_it_arrives(
    proxy: Proxy, new_topic: Callable[..., str]
) -> None:
    answer = proxy.produce(new_topic(), "binary", b"x" * (11 * 1024 * 1024))
    assert answer.status_code == 413


def test_a_record_that_the_broker_does_not_take_says_so(proxy: Proxy, new_topic: Callable[..., str]) -> None:
    big = {"records": [{"value": "A" * 2_000_000}, {"value": "aGk="}]}
    failed, written = proxy.produce(new_topic(), "binary", big).json()["offsets"]
    assert failed["error_code"] == 40002
    assert written["offset"] == 0
