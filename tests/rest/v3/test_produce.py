"""Version 3: records, one or many in a request, answered while they come; and batches."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from confluent_kafka import Consumer, TopicPartition

from tests.rest.proxies import Proxy

JSON = "application/json"


def post(proxy: Proxy, topic: str, content: bytes | Iterator[bytes]) -> Any:
    url = f"{proxy.cluster()}/topics/{topic}/records"
    return proxy.client.post(url, content=content, headers={"content-type": JSON})


def lines(answer: Any) -> list[dict[str, Any]]:
    assert answer.status_code == 200, answer.text
    return [json.loads(line) for line in answer.text.split("\r\n") if line]


def log_of(bootstrap_servers: str, topic: str, count: int) -> list[Any]:
    consumer = Consumer({"bootstrap.servers": bootstrap_servers, "group.id": "log"})
    consumer.assign([TopicPartition(topic, 0, 0)])
    found = consumer.consume(count, timeout=10)
    consumer.close()
    return found


def test_a_record_with_all_that_it_may_have(
    proxy: Proxy, new_topic: Callable[..., str], bootstrap_servers: str
) -> None:
    topic = new_topic()
    record = {
        "partition_id": 0,
        "headers": [{"name": "h", "value": "aGk="}, {"name": "empty"}],
        "key": {"type": "STRING", "data": "kü"},
        "value": {"type": "JSON", "data": {"a": 1}},
        "timestamp": "2026-01-31T12:00:00.500Z",
    }
    (answer,) = lines(post(proxy, topic, json.dumps(record).encode()))
    assert answer.pop("cluster_id") in proxy.cluster()
    assert answer == {
        "error_code": 200,
        "topic_name": topic,
        "partition_id": 0,
        "offset": 0,
        "timestamp": "2026-01-31T12:00:00.500Z",
        "key": {"type": "STRING", "size": 3},
        "value": {"type": "JSON", "size": 7},
    }
    (found,) = log_of(bootstrap_servers, topic, 1)
    assert (found.key(), found.value()) == ("kü".encode(), b'{"a":1}')
    assert found.headers() == [("h", b"hi"), ("empty", None)]
    assert found.timestamp()[1] == 1769860800500


def test_a_stream_is_answered_in_order_and_goes_on_after_a_bad_record(
    proxy: Proxy, new_topic: Callable[..., str], bootstrap_servers: str
) -> None:
    topic = new_topic()

    def body() -> Iterator[bytes]:
        for n in range(2000):
            bad = n == 7
            yield json.dumps({"value": {"type": "BINARY", "data": "!" if bad else "aGk="}}).encode() + b"\n"

    answers = lines(post(proxy, topic, body()))
    assert len(answers) == 2000
    assert answers[7]["error_code"] == 400
    assert [each["offset"] for each in answers if each["error_code"] == 200] == list(range(1999))
    assert len(log_of(bootstrap_servers, topic, 1999)) == 1999


def test_answers_come_while_the_request_is_still_open(proxy: Proxy, new_topic: Callable[..., str]) -> None:
    host, _, port = proxy.address.partition(":")
    path = f"{proxy.cluster()}/topics/{new_topic()}/records"
    record = b'{"value": {"type": "STRING", "data": "x"}}'
    head = f"POST {path} HTTP/1.1\r\nHost: {proxy.address}\r\nContent-Type: {JSON}\r\n"
    with socket.create_connection((host, int(port)), timeout=10) as connection:
        connection.sendall(head.encode() + b"Transfer-Encoding: chunked\r\n\r\n")
        for offset in range(3):
            connection.sendall(b"%x\r\n%s\r\n" % (len(record), record))
            assert receive_until(connection, f'"offset":{offset},'.encode())
        connection.sendall(b"0\r\n\r\n")
        assert receive_until(connection, b"0\r\n\r\n")


def receive_until(connection: socket.socket, wanted: bytes) -> bytes:
    seen = b""
    while wanted not in seen:
        more = connection.recv(65536)
        assert more, seen
        seen += more
    return seen


@pytest.mark.parametrize(
    ("content", "status", "code"),
    [
        (b"", 422, 42206),
        (b"   ", 422, 42206),
        (b"[1]", 400, 400),
        (b'{"value"', 400, 400),
        (b'{"value": {"data": "' + b"x" * 3_000_000, 413, 413),
    ],
)
def test_a_body_without_a_record_is_refused(
    proxy: Proxy, new_topic: Callable[..., str], content: bytes, status: int, code: int
) -> None:
    answer = post(proxy, new_topic(), content)
    assert (answer.status_code, answer.json()["error_code"]) == (status, code)


@pytest.mark.parametrize(
    ("record", "code"),
    [
        (b'{"value": 1}', 400),
        (b'{"value": {"type": "XML", "data": 1}}', 400),
        (b'{"value": {"type": "JSON", "schema_id": 1, "data": 1}}', 400),
        (b'{"value": {"schema_id": 1, "schema_version": 1, "data": 1}}', 400),
        (b'{"value": {"type": "STRING", "data": 1}}', 400),
        (b'{"value": {"schema_id": 1, "data": 1}}', 42207),
        (b'{"headers": [{"name": "h", "value": "!"}]}', 400),
        (b'{"timestamp": "yesterday"}', 42206),
        (b'{"partition_id": -1}', 40402),
        (b'{"partition_id": 70}', 40402),
    ],
)
def test_a_record_that_cannot_be_is_answered_with_its_code(
    proxy: Proxy, new_topic: Callable[..., str], record: bytes, code: int
) -> None:
    (answer,) = lines(post(proxy, new_topic(), record))
    assert answer["error_code"] == code
    assert answer["message"]


def test_what_follows_the_last_good_record_ends_the_stream_with_an_error(
    proxy: Proxy, new_topic: Callable[..., str]
) -> None:
    good, bad = lines(post(proxy, new_topic(), b'{"value": {"type": "JSON", "data": 1}} nonsense'))
    assert (good["error_code"], bad["error_code"]) == (200, 400)


def test_a_batch_says_of_each_entry_what_became_of_it(proxy: Proxy, new_topic: Callable[..., str]) -> None:
    url = f"{proxy.cluster()}/topics/{new_topic()}/records:batch"
    entries = [
        {"id": "1", "value": {"type": "STRING", "data": "x"}},
        {"id": "b", "value": {"type": "STRING", "data": 1}},
    ]
    answer = proxy.send("POST", url, {"entries": entries}, JSON)
    assert answer.status_code == 207
    (success,) = answer.json()["successes"]
    (failure,) = answer.json()["failures"]
    assert (success["id"], success["offset"]) == ("1", 0)
    assert (failure["id"], failure["error_code"]) == ("b", 400)
    for wrong in ([], [entries[0]] * 2, [{"id": str(n)} for n in range(11)]):
        refused = proxy.send("POST", url, {"entries": wrong}, JSON)
        assert (refused.status_code, refused.json()["error_code"]) == (422, 42208)


def test_a_client_that_sends_slowly_does_not_hold_up_others(
    proxy: Proxy, new_topic: Callable[..., str]
) -> None:
    topic = new_topic()
    host, _, port = proxy.address.partition(":")
    head = f"POST /topics/{topic} HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n"
    slow = [socket.create_connection((host, int(port)), timeout=10) for _ in range(50)]
    try:
        for connection in slow:
            connection.sendall(head.encode() + b'{"records"')
        done = threading.Event()

        def work() -> None:
            for _ in range(20):
                proxy.produce(topic, "binary", {"records": [{"value": "aGk="}]})
            done.set()

        threading.Thread(target=work, daemon=True).start()
        assert done.wait(10)
    finally:
        for connection in slow:
            connection.close()


def test_the_proxy_stays_small(proxy: Proxy, new_topic: Callable[..., str]) -> None:
    topic = new_topic()
    body = {"records": [{"value": "A" * 1000}] * 5000}
    for _ in range(8):
        assert proxy.produce(topic, "binary", body).status_code == 200
    assert proxy.resident_bytes() < 150 * 1024 * 1024
