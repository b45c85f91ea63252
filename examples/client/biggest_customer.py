"""A partitioner of one's own: the biggest customer has the last partition alone, all others share the rest.

    python examples/client/biggest_customer.py [SERVERS]

With the default partitioner a customer who buys more than all others together shares a partition with some of
them, and they wait behind its orders.
"""

from __future__ import annotations

import sys
import zlib
from contextlib import suppress
from typing import Any

from penstock.client import Admin, ClusterView, NewTopic, Producer, StringSerializer, TopicExistsException

TOPIC = "orders-by-customer"
PARTITIONS = 4


class BiggestCustomerPartitioner:
    def __init__(self, biggest: str = "banana") -> None:
        self._biggest = biggest

    def partition(
        self, topic: str, key: Any, key_bytes: bytes | None, value: Any, value_bytes: bytes | None,
        cluster: ClusterView,
    ) -> int:  # fmt: skip
        if key_bytes is None:
            raise ValueError("every order has its customer's name as its key")
        count = len(cluster.partitions_for_topic(topic))
        if key == self._biggest:
            return count - 1
        return zlib.crc32(key_bytes) % (count - 1)


def create_topic(servers: str) -> None:
    with Admin({"bootstrap.servers": servers}) as admin, suppress(TopicExistsException):
        admin.create_topics([NewTopic(TOPIC, PARTITIONS, 1)]).all().result(30)


def send_orders(servers: str, customers: list[str]) -> dict[str, set[int]]:
    """The partitions that the orders of each customer went to."""
    settings = {
        "bootstrap.servers": servers,
        "key.serializer": StringSerializer,
        "value.serializer": StringSerializer,
        "partitioner.class": BiggestCustomerPartitioner("banana"),
    }
    with Producer(settings) as producer:
        sent = [(name, producer.send(TOPIC, "an order", key=name)) for name in customers]
    found: dict[str, set[int]] = {}
    for name, future in sent:
        found.setdefault(name, set()).add(future.result(30).partition)
    return found


def main(servers: str) -> None:
    create_topic(servers)
    customers = ["banana"] * 10 + [f"customer-{number}" for number in range(10)]
    for name, partitions in sorted(send_orders(servers, customers).items()):
        print(name, sorted(partitions))


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "127.0.0.1:9092")
