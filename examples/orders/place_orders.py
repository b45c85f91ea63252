"""Places orders as a web shop would, and waits until each of them is valid and mailed, or has failed."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator

from shop import CUSTOMERS, EMAILS, ORDERS, Order, order_of, to_bytes

from penstock.client import Consumer, ConsumerRecord, Producer, TopicPartition

EXAMPLES = (
    Order("o-1", "ann", "umbrella", 2, 30),
    Order("o-2", "bo", "bicycle", 2, 900),
    Order("o-3", "ann", "book", 0, 10),
    Order("o-4", "cy", "bicycle", 2, 900),
    Order("o-5", "bo", "book", 30, 10),
    Order("o-6", "dee", "unicorn", 1, 10),
    Order("o-7", "dee", "book", 3, 10),
)
"""o-3 has no quantity, o-6 no such product, o-4 finds too few bicycles, o-5 is over its customer's limit."""


def place(servers: str, orders: Iterable[Order]) -> None:
    with Producer({"bootstrap.servers": servers}) as producer:
        for order in orders:
            producer.send(
                CUSTOMERS, to_bytes({"email": f"{order.customer}@example.com"}), order.customer.encode()
            )
            producer.send(ORDERS, to_bytes(order), order.id.encode()).result(30)


def outcome(servers: str, ids: Iterable[str]) -> dict[str, str]:
    """The state of each, once it is final and the customers of valid orders have their mails."""
    waiting, found = set(ids), dict[str, str]()
    for record in committed(servers, ORDERS):
        order = order_of(record.value)
        if order.state != "CREATED" and order.id in waiting:
            found[order.id] = order.state
            waiting.discard(order.id)
        if not waiting:
            break
    unmailed = {order_id for order_id, state in found.items() if state == "VALIDATED"}
    if unmailed:
        for record in committed(servers, EMAILS):
            unmailed.discard(record.key.decode())
            if not unmailed:
                break
    return found


def committed(servers: str, topic: str) -> Iterator[ConsumerRecord]:
    """The committed records of a topic from its beginning, without end."""
    settings = {
        "bootstrap.servers": servers,
        "auto.offset.reset": "earliest",
        "isolation.level": "read_committed",
    }
    with Consumer(settings) as consumer:
        consumer.assign([TopicPartition(topic, each.partition) for each in consumer.partitions_for(topic)])
        while True:
            yield from consumer.poll(1)


if __name__ == "__main__":
    servers = sys.argv[1] if len(sys.argv) > 1 else "127.0.0.1:9092"
    place(servers, EXAMPLES)
    for order_id, state in sorted(outcome(servers, [order.id for order in EXAMPLES]).items()):
        print(order_id, state)
