"""Inputs for the examples, and what the test driver makes of them: what they must give on Spark as well."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from confluent_kafka import Producer

from penstock.client.messages import Messages
from penstock.client.paging import Oldest
from penstock.kernels.serdes import to_bytes
from penstock.streams import JsonSerde, Topology, TopologyTestDriver
from penstock.streams.running import create_missing_topics
from tests.examples.loading import load

MINUTE_MS = 60_000
Row = tuple[str, str | None, Any, int]
"""Topic, key, value and time of a record."""


@dataclass(frozen=True)
class Case:
    topology: Topology
    application_id: str
    partitions: int
    rows: list[Row]
    outputs: list[str]
    is_table: bool  # then the last value of each key counts, as in a compacted topic


def word_count_case() -> Case:
    example = load("word_count")
    rows: list[Row] = [(example.INPUT, None, f"to be or not to be {n % 3}", n) for n in range(50)]
    return Case(example.topology(), "word-count", 2, rows, [example.OUTPUT], True)


def stock_windows_case() -> Case:
    example = load("stock_windows")
    rows: list[Row] = [
        (example.TRADES, "AAPL", {"ask": 100.0 + n % 7, "time": f"2026-01-05T14:30:{n:02}.500Z"}, n)
        for n in [*range(10), 4, 20, 3, 40]
    ]
    return Case(example.topology(), "stock-windows", 1, rows, [example.STATISTICS], False)


def click_stream_case() -> Case:
    example = load("click_stream")
    rows: list[Row] = []
    for user in range(6):
        at = user * 10_000
        if user % 2:
            rows.append((example.PROFILES, f"u{user}", {"name": f"user {user}"}, at))
        rows.append((example.SEARCHES, f"u{user}", {"terms": "bike"}, at + 1_000))
        rows.append((example.VIEWS, f"u{user}", {"page": f"/{user}"}, at + 1_000 + 400 * user))
    rows.append((example.VIEWS, "last", {"page": "/"}, 900_000))
    return Case(example.topology(), "click-stream", 1, rows, [example.ACTIVITY], False)


def top_movers_case() -> Case:
    example = load("top_movers")
    rows: list[Row] = [
        (example.TRADES, f"S{n % 14:02}", {"ask": 100.0 + (n % 14) * (n // 14)}, 1767571200000 + n)
        for n in range(42)
    ]
    return Case(example.topology(), "top-movers", 2, rows, [example.MOVERS], True)


def errors_apart_case() -> Case:
    example = load("errors_apart")
    levels = ("INFO", "ERROR", "WARN", "FATAL")
    rows: list[Row] = [(example.EVENTS, "billing", {"level": levels[n % 4], "n": n}, n) for n in range(20)]
    return Case(example.topology(), "errors-apart", 2, rows, [example.ERRORS, example.ROUTINE], False)


def sensor_case() -> Case:
    example = load("sensor_maintenance")
    rows: list[Row] = [
        (example.READINGS, "press-7", {"celsius": 80.0 + n, "time": minute * MINUTE_MS}, n)
        for n, minute in enumerate((0, 45, 5, 31, 14, 15, 16, 70, 20, 41))
    ]
    return Case(example.topology(), "sensor-maintenance", 1, rows, [example.LATE], False)


def first_version_case() -> Case:
    return _version_case(1)


def second_version_case() -> Case:
    return _version_case(2)


def _version_case(version: int) -> Case:
    example = load("reprocessing")
    rows: list[Row] = [(example.EVENTS, f"/{n % 4}", {"robot": n % 3 == 0}, n) for n in range(40)]
    return Case(example.topology(version), f"visits-v{version}", 2, rows, [example.output(version)], True)


CASES = [
    word_count_case,
    stock_windows_case,
    click_stream_case,
    top_movers_case,
    errors_apart_case,
    sensor_case,
    first_version_case,
    second_version_case,
]
IN_BRIEF = [click_stream_case, top_movers_case]
"""Enough for CI: a join of two streams with a table, and two phases of tables."""


def prepare(servers: str, case: Case) -> None:
    """Topics with the records of a case in them."""
    plan = case.topology.plan
    inputs = [topic for _, source in plan.sources for topic in source.topics]
    names = [*inputs, *case.outputs]
    forever = {"retention.ms": "-1"}  # the records are of 1970: by default they would soon be deleted
    create_missing_topics(
        servers, {name: forever for name in names if name not in plan.internal_names}, case.partitions
    )
    producer = Producer({"bootstrap.servers": servers, "partitioner": "murmur2_random"})
    for topic, key, value, timestamp in case.rows:
        raw = value.encode() if isinstance(value, str) else to_bytes(JsonSerde(), topic, value)
        producer.produce(topic, key=key, value=raw, timestamp=timestamp)
    assert producer.flush(30) == 0


def expected(case: Case, topic: str) -> Any:
    with TopologyTestDriver(case.topology, application_id=case.application_id) as driver:
        for row in case.rows:
            driver.pipe(*row)
        found = [(record.key, record.value) for record in driver.read_raw(topic)]
    return gathered(case, found)


def gathered(case: Case, pairs: list[tuple[Any, Any]]) -> Any:
    return dict(pairs) if case.is_table else sorted(pairs)


def records(servers: str, topic: str) -> list[tuple[bytes | None, bytes | None]]:
    messages = Messages(servers)
    found: list[tuple[bytes | None, bytes | None]] = []
    page = messages.page(topic, Oldest(), limit=1000)
    while page.messages:
        found += [(message.key, message.value) for message in page.messages]
        if page.next is None:
            break
        page = messages.page(topic, page.next, limit=1000)
    return found
