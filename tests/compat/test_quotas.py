"""Quotas as clients feel them: librdkafka is told, and waits; nothing fails."""

from __future__ import annotations

import socket
from collections.abc import Callable

from confluent_kafka import Producer

from penstock.protocol.apis import Api
from tests.server.wire_bytes import ask

LIMIT = 10_000
FREE_BYTES = LIMIT * 10


def set_quota(servers: str, client_id: str, key: str, value: float | None) -> None:
    host, port = servers.rsplit(":", 1)
    entity = [{"entity_type": "client-id", "entity_name": client_id}]
    ops = [{"key": key, "value": value or 0.0, "remove": value is None}]
    with socket.create_connection((host, int(port)), timeout=10) as sock:
        answer = ask(
            sock, Api.ALTER_CLIENT_QUOTAS, 1, entries=[{"entity": entity, "ops": ops}], validate_only=False
        )
        assert answer.entries[0].error_code == 0


def test_a_throttled_producer_delivers_everything_and_knows_why_it_took_longer(
    servers: str, topic: Callable[[int], str]
) -> None:
    name = topic(1)
    set_quota(servers, "greedy", "producer_byte_rate", float(LIMIT))
    throttles: list[float] = []
    failures: list[object] = []
    producer = Producer(
        {
            "bootstrap.servers": servers,
            "client.id": "greedy",
            "throttle_cb": lambda event: throttles.append(event.throttle_time),
            "linger.ms": 5,
        }
    )
    for _ in range(11):
        producer.produce(name, b"x" * (FREE_BYTES // 10), on_delivery=lambda error, _: failures.append(error))
    assert producer.flush(20) == 0
    assert failures == [None] * 11
    assert max(throttles) > 0.3
    set_quota(servers, "greedy", "producer_byte_rate", None)
