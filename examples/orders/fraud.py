"""Fraud: a customer who orders for more than 2,000 in all is looked at by a person first."""

from __future__ import annotations

from collections.abc import Iterator

from shop import ORDERS, Result, Table, order_of, serve, servers_given, verdict

from penstock.client import ConsumerRecord

LIMIT = 2000


def main(servers: str) -> None:
    totals = Table(servers, "customer-totals")

    def handle(record: ConsumerRecord) -> Iterator[Result]:
        order = order_of(record.value)
        if order.state != "CREATED":
            return
        total = totals.get(order.customer, 0) + order.quantity * order.price
        yield totals.topic, order.customer, total
        yield verdict(order, "FRAUD", total <= LIMIT)

    serve("fraud", servers, ORDERS, handle, totals)


if __name__ == "__main__":
    main(servers_given())
