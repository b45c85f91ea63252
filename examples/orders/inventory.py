"""Inventory: an order reserves what it needs, as long as there is enough."""

from __future__ import annotations

from collections.abc import Iterator

from shop import ORDERS, Result, Table, order_of, serve, servers_given, verdict

from penstock.client import ConsumerRecord

STOCK = {"umbrella": 20, "bicycle": 3, "book": 100}


def main(servers: str) -> None:
    reserved = Table(servers, "stock-reserved")

    def handle(record: ConsumerRecord) -> Iterator[Result]:
        order = order_of(record.value)
        if order.state != "CREATED":
            return
        wanted = reserved.get(order.product, 0) + order.quantity
        passed = wanted <= STOCK.get(order.product, 0)
        if passed:
            yield reserved.topic, order.product, wanted
        yield verdict(order, "INVENTORY", passed)

    serve("inventory", servers, ORDERS, handle, reserved)


if __name__ == "__main__":
    main(servers_given())
