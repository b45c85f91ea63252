"""A backlog, a small limit and several partitions: joins give what they give when records come one by one.

The expected results are those of the test driver over the same records in the order of their times.
"""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import Any

import pytest

from penstock.client.targets import Target
from penstock.streams import StreamsBuilder, StringSerde, Topology, TopologyTestDriver
from penstock.streams.resetting import Applications
from tests.spark.host.conftest import Run, Topics

pytestmark = pytest.mark.timeout(300)

PARTITIONS = 3
NOW = 1_700_000_000_000
INPUTS = ("people", "prices", "towns", "orders")
STREAMS, TABLES = ("joined", "by-town"), ("both", "at-home")
Records = list[tuple[str, str, str, int]]


def topology(prefix: str, *, whole: bool) -> Topology:
    """Orders joined with a table of people and one of prices. The whole of it has more: orders by a new key,
    people with prices, and people with towns by a foreign key."""
    builder = StreamsBuilder(key_serde=StringSerde(), value_serde=StringSerde())
    people, prices = builder.table(f"{prefix}people"), builder.table(f"{prefix}prices")
    orders = builder.stream(f"{prefix}orders")
    joined = orders.join(people, lambda order, person: f"{order}/{person}")
    joined.join(prices, lambda order, price: f"{order}/{price}").to(f"{prefix}joined")
    if not whole:
        return builder.build()
    towns = builder.table(f"{prefix}towns")
    by_town = orders.select_key(lambda _, order: f"town-{int(order[1:]) % 7}")
    by_town.join(towns, lambda order, town: f"{order}/{town}").to(f"{prefix}by-town")
    people.join(prices, lambda person, price: f"{person}/{price}").to_stream().to(f"{prefix}both")
    at_home = people.join(
        towns, lambda one, town: one + town, foreign_key=lambda one: f"town-{int(one[1:]) % 7}"
    )
    at_home.to_stream().to(f"{prefix}at-home")
    return builder.build()


def inputs(prefix: str, orders: int) -> Records:
    """Tables are written ten seconds before the stream, and change while it is written."""
    found: Records = []
    for number in range(100):
        found.append((f"{prefix}people", f"k{number}", f"p{number}", NOW + number))
        found.append((f"{prefix}prices", f"k{number}", f"{number} EUR", NOW + 500 + number))
    found += [(f"{prefix}towns", f"town-{number}", f"@{number}", NOW + number) for number in range(7)]
    for number in range(orders):
        at = NOW + 10_000 + 10 * number
        found.append((f"{prefix}orders", f"k{number % 100}", f"o{number}", at))
        if not number % 10:
            found.append((f"{prefix}people", f"k{number % 90}", f"p{number + 100}", at + 5))
        if not number % 50:
            found.append((f"{prefix}towns", f"town-{number // 50 % 7}", f"@{number}", at + 7))
    return found


def driven(topology: Topology, prefix: str, records: Records) -> dict[str, list[tuple[str, str | None]]]:
    with TopologyTestDriver(topology) as driver:
        for topic, key, value, at in records:
            if driver.reads(topic):
                driver.pipe(topic, key, value, at)
        return {
            name: [(one.key, one.value) for one in driver.read(f"{prefix}{name}")]
            for name in STREAMS + TABLES
        }


@pytest.mark.parametrize("whole", [False, pytest.param(True, marks=pytest.mark.long)])
def test_joins_with_tables_lose_nothing_when_there_is_a_backlog(
    run: Run, topics: Topics, whole: bool
) -> None:
    prefix = f"backlog-{whole}-".lower()
    records = inputs(prefix, 2_000)
    topics.create(*(prefix + name for name in INPUTS + STREAMS + TABLES), partitions=PARTITIONS)
    by_topic: dict[str, list[Any]] = {}
    for topic, *record in records:
        by_topic.setdefault(topic, []).append(tuple(record))
    for topic in Random(1).sample(sorted(by_topic), len(by_topic)):
        topics.write(topic, by_topic[topic])
    wanted = driven(topology(prefix, whole=whole), prefix, records)
    assert len(wanted["joined"]) == 2_000
    application = run(topology(prefix, whole=whole), f"{prefix}app", {"max.offsets.per.trigger": "500"})
    assert (application.state, application.error) == ("closed", None)
    for name in STREAMS:
        assert Counter(read(topics, prefix + name)) == Counter(wanted[name]), name
    for name in TABLES:
        assert dict(read(topics, prefix + name)) == dict(wanted[name]), name


@pytest.mark.long
def test_a_reset_application_processes_everything_again_with_the_same_results(
    run: Run, topics: Topics
) -> None:
    prefix, settings = "again-", {"max.offsets.per.trigger": "400"}
    records = inputs(prefix, 600)
    topics.create(*(prefix + name for name in (*INPUTS, "joined")), partitions=PARTITIONS)
    for name in ("orders", "people", "prices"):
        topics.write(prefix + name, [tuple(rest) for topic, *rest in records if topic == prefix + name])
    wanted = Counter(driven(topology(prefix, whole=False), prefix, records)["joined"])
    for times in (1, 2):
        assert run(topology(prefix, whole=False), "again", settings).error is None
        found = Counter(read(topics, prefix + "joined"))
        assert found == Counter({row: times * count for row, count in wanted.items()})
        Applications(topics.servers).reset("again", Target())


def read(topics: Topics, topic: str) -> list[tuple[str, str | None]]:
    return [((key or b"").decode(), value and value.decode()) for key, value, _ in topics.read(topic)]
