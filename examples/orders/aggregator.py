"""The aggregator: an order that passed all three checks is valid; one that failed any of them has failed."""

from __future__ import annotations

import json
from collections.abc import Iterator

from shop import ORDERS, VALIDATIONS, Order, Result, Table, serve, servers_given

from penstock.client import ConsumerRecord

CHECKS = {"FRAUD", "INVENTORY", "DETAILS"}


def main(servers: str) -> None:
    seen = Table(servers, "validations-seen")

    def handle(record: ConsumerRecord) -> Iterator[Result]:
        told = json.loads(record.value)
        order = Order(**told["order"])
        known = {**seen.get(order.id, {}), told["check"]: told["passed"]}
        yield seen.topic, order.id, known
        if known.keys() == CHECKS:
            yield ORDERS, order.id, order._replace(state="VALIDATED" if all(known.values()) else "FAILED")

    serve("aggregator", servers, VALIDATIONS, handle, seen)


if __name__ == "__main__":
    main(servers_given())
