"""Details: an order has a customer, a product, and a quantity and a price above zero."""

from __future__ import annotations

from collections.abc import Iterator

from shop import ORDERS, Result, order_of, serve, servers_given, verdict

from penstock.client import ConsumerRecord


def handle(record: ConsumerRecord) -> Iterator[Result]:
    order = order_of(record.value)
    if order.state == "CREATED":
        passed = bool(order.customer and order.product) and order.quantity > 0 and order.price > 0
        yield verdict(order, "DETAILS", passed)


if __name__ == "__main__":
    serve("details", servers_given(), ORDERS, handle)
