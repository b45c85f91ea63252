"""A client beyond its quota is answered at once and then not read from for as long as it was told."""

from __future__ import annotations

import time
from typing import Any

from penstock.protocol.apis import Api
from penstock.protocol.messages import milliseconds
from penstock.records.record import Record, encode_batch
from penstock.testing import Broker
from tests.server.wire_bytes import ask, connect, is_served

LIMIT = 10_000
WINDOW_S = 10


def produce(sock: Any, size: int) -> Any:
    batch = bytes(encode_batch([Record(None, b"x" * size, (), 0)]))
    topic = {"name": "t", "partition_data": [{"index": 0, "records": batch}]}
    return ask(sock, Api.PRODUCE, 9, transactional_id=None, acks=1, timeout=1000, topic_data=[topic])


def test_the_connection_is_muted_for_the_time_in_the_answer_and_others_are_not() -> None:
    with Broker() as broker, connect(broker) as sock, connect(broker) as neighbour:
        ask(sock, Api.METADATA, 4, topics=[{"name": "t"}], allow_auto_topic_creation=True)
        entity = [{"entity_type": "client-id", "entity_name": "test"}]
        ops = [{"key": "producer_byte_rate", "value": float(LIMIT), "remove": False}]
        ask(sock, Api.ALTER_CLIENT_QUOTAS, 1, entries=[{"entity": entity, "ops": ops}], validate_only=False)
        began = time.monotonic()
        answer = produce(sock, int(LIMIT * WINDOW_S * 1.03))
        answered = time.monotonic()
        assert answer.responses[0].partition_responses[0].error_code == 0
        throttle_ms = milliseconds(answer.throttle_time)
        assert 200 < throttle_ms < 500
        assert answered - began < throttle_ms / 1000 + 2
        assert is_served(neighbour)
        assert time.monotonic() - answered < throttle_ms / 1000
        assert is_served(sock)
        assert time.monotonic() - answered >= throttle_ms / 1000 * 0.95


def test_a_muted_connection_does_not_hold_up_the_end() -> None:
    with Broker() as broker, connect(broker) as sock:
        ask(sock, Api.METADATA, 4, topics=[{"name": "t"}], allow_auto_topic_creation=True)
        entity = [{"entity_type": "client-id", "entity_name": "test"}]
        ops = [{"key": "producer_byte_rate", "value": 1.0, "remove": False}]
        ask(sock, Api.ALTER_CLIENT_QUOTAS, 1, entries=[{"entity": entity, "ops": ops}], validate_only=False)
        assert milliseconds(produce(sock, 100_000).throttle_time) > 60_000
        began = time.monotonic()
        broker.stop()
        assert time.monotonic() - began < 4
