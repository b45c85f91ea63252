"""What the services of the shop share: orders, topics, tables, and a loop that works exactly once.

Each service is a program of its own that only knows topics:

    orders ──▶ fraud, inventory, details ──▶ order-validations ──▶ aggregator ──▶ orders
    orders ──▶ mailer ──▶ emails
    orders ──▶ search (an index in a file)
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from penstock.client import (
    Admin,
    Consumer,
    ConsumerRecord,
    NewTopic,
    OffsetAndMetadata,
    Producer,
    TopicExistsException,
    TopicPartition,
)

ORDERS = "orders"
VALIDATIONS = "order-validations"
EMAILS = "emails"
CUSTOMERS = "customers"
TABLES = ("stock-reserved", "customer-totals", "validations-seen", CUSTOMERS)
"""Compacted topics: the state of services, which a service that starts again reads."""
PARTITIONS = 1


class Order(NamedTuple):
    id: str
    customer: str
    product: str
    quantity: int
    price: int
    state: str = "CREATED"
    """CREATED, then VALIDATED or FAILED."""


def order_of(value: bytes) -> Order:
    return Order(**json.loads(value))


def to_bytes(value: Any) -> bytes:
    return json.dumps(value._asdict() if isinstance(value, Order) else value).encode()


Result = tuple[str, str, Any]
"""Topic, key and value of a record to write; a value of None deletes the key of a table."""


def verdict(order: Order, check: str, passed: bool) -> Result:
    return VALIDATIONS, order.id, {"order": order._asdict(), "check": check, "passed": passed}


class Table:
    """A compacted topic in memory."""

    def __init__(self, servers: str, topic: str) -> None:
        self.topic = topic
        self._rows: dict[str, Any] = {}
        settings = {
            "bootstrap.servers": servers,
            "auto.offset.reset": "earliest",
            "isolation.level": "read_committed",
        }
        with Consumer(settings) as consumer:
            partitions = [TopicPartition(topic, each.partition) for each in consumer.partitions_for(topic)]
            consumer.assign(partitions)
            ends = consumer.end_offsets(partitions)
            while any(consumer.position(each) < end for each, end in ends.items()):
                for record in consumer.poll(1):
                    self.apply(record.key.decode(), json.loads(record.value) if record.value else None)

    def get(self, key: str, default: Any = None) -> Any:
        return self._rows.get(key, default)

    def apply(self, key: str, value: Any) -> None:
        if value is None:
            self._rows.pop(key, None)
        else:
            self._rows[key] = value


def create_topics(servers: str) -> None:
    compacted = {"cleanup.policy": "compact"}
    wanted = [NewTopic(name, PARTITIONS, 1) for name in (ORDERS, VALIDATIONS, EMAILS)]
    wanted += [NewTopic(name, 1, 1, configs=compacted) for name in TABLES]
    with Admin({"bootstrap.servers": servers}) as admin:
        for topic, future in admin.create_topics(wanted).values().items():
            try:
                future.result(30)
            except TopicExistsException:
                print(f"topic {topic} is there already", file=sys.stderr)


def serve(
    name: str,
    servers: str,
    topic: str,
    handle: Callable[[ConsumerRecord], Iterator[Result]],
    table: Table | None = None,
    goes_on: Callable[[], bool] = lambda: True,
) -> None:
    """Results, changes of the table and offsets are one transaction. `handle` sees what records before it
    changed. When a transaction fails the program ends, and starts again from the topics."""
    reading = {
        "bootstrap.servers": servers,
        "group.id": name,
        "auto.offset.reset": "earliest",
        "enable.auto.commit": False,
        "isolation.level": "read_committed",
    }
    writing = {"bootstrap.servers": servers, "transactional.id": f"shop-{name}"}
    with Consumer(reading) as consumer, Producer(writing) as producer:
        producer.init_transactions()
        consumer.subscribe([topic])
        print(f"{name} is ready", flush=True)
        while goes_on():
            records = consumer.poll(0.5)
            if not records:
                continue
            with producer.transaction():
                for record in records:
                    for target, key, value in handle(record):
                        data = None if value is None else to_bytes(value)
                        producer.send(target, data, key.encode())
                        if table is not None and target == table.topic:
                            table.apply(key, value)
                positions = {
                    each: OffsetAndMetadata(consumer.position(each)) for each in records.partitions()
                }
                producer.send_offsets_to_transaction(positions, consumer.group_metadata())


def servers_given() -> str:
    return sys.argv[1] if len(sys.argv) > 1 else "127.0.0.1:9092"
