"""E-mail: the customer of a valid order gets a mail, once. Here a mail is a record of the topic `emails`."""

from __future__ import annotations

from collections.abc import Iterator

from shop import CUSTOMERS, EMAILS, ORDERS, Result, Table, order_of, serve, servers_given

from penstock.client import ConsumerRecord


def main(servers: str) -> None:
    customers = Table(servers, CUSTOMERS)

    def handle(record: ConsumerRecord) -> Iterator[Result]:
        order = order_of(record.value)
        if order.state == "VALIDATED":
            address = customers.get(order.customer, {}).get("email", f"{order.customer}@example.com")
            text = f"Your order {order.id} of {order.quantity} {order.product} is on its way."
            yield EMAILS, order.id, {"to": address, "text": text}

    serve("mailer", servers, ORDERS, handle)


if __name__ == "__main__":
    main(servers_given())
