"""A thread that sends without a pause serves reports itself; the user's code never runs in it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

from penstock.client import Producer
from penstock.client.api import producer as module


@pytest.fixture(autouse=True)
def always_a_burst(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also on a machine that is slow."""
    monkeypatch.setattr(module, "_BURST_SECONDS", 60.0)


def test_callbacks_come_in_order_from_the_producers_thread(bootstrap: str, topic: str) -> None:
    seen: list[int] = []
    threads: set[str] = set()

    def told(number: int) -> Callable[[Any, Any], None]:
        def call(metadata: Any, error: Any) -> None:
            assert error is None
            seen.append(number)
            threads.add(threading.current_thread().name)

        return call

    with Producer({"bootstrap.servers": bootstrap}) as producer:
        last = [producer.send(topic, b"x", callback=told(number)) for number in range(3000)][-1]
        assert last.result(30).offset == 2999
        assert threads == {"penstock-producer"}
        producer.flush()
    assert seen == list(range(3000))


def test_futures_of_a_burst_are_resolved_and_counted(bootstrap: str, topic: str) -> None:
    with Producer({"bootstrap.servers": bootstrap}) as producer:
        futures = [producer.send(topic, b"%d" % number) for number in range(5000)]
        found: list[int] = []
        futures[4000].add_done_callback(lambda future: found.append(future.result(0).offset))
        producer.flush(30)
        assert [future.result(0).offset for future in futures] == list(range(5000))
        assert found == [4000]
        assert producer.metrics()["record-send-total"] == 5000


def test_a_callback_may_send_and_a_sender_may_hold_a_lock_that_it_wants(bootstrap: str, topic: str) -> None:
    lock = threading.Lock()
    again: list[Any] = []
    with Producer({"bootstrap.servers": bootstrap}) as producer:

        def answer(metadata: Any, error: Any) -> None:
            with lock:
                again.append(producer.send(topic, b"again"))

        for _ in range(600):
            with lock:
                producer.send(topic, b"x", callback=answer)
        producer.flush(30)
        while len(again) < 600:
            producer.flush(30)
        producer.flush(30)
        assert all(future.done() for future in again)


def test_serializers_take_the_long_way_and_are_served_alike(bootstrap: str, topic: str) -> None:
    with Producer({"bootstrap.servers": bootstrap}, value_serializer=str.encode) as producer:
        futures = [producer.send(topic, str(number)) for number in range(2000)]
        assert futures[-1].result(30).offset == 1999
        assert all(future.exception(30) is None for future in futures)
