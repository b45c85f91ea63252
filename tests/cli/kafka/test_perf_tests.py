"""`kafka-producer-perf-test` and `kafka-consumer-perf-test` beside Kafka's own."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from penstock.cli.kafka.consumer_perf_test import consumer_perf_test
from penstock.cli.kafka.producer_perf_test import producer_perf_test
from penstock.cli.kafka.simple_date import formatted
from tests.cli.kafka.side_by_side import SideBySide, without

TOOLS = "org.apache.kafka.tools."
NUMBER = r"\d+(\.\d+)?"
TIMES = r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d:\d{3}"


@pytest.mark.parametrize(
    "options",
    [
        "--record-size 100 --throughput -1 --producer-props bootstrap.servers=SERVERS acks=1",
        "--record-size 10 --throughput 100000 --bootstrap-server SERVERS",
        "--payload-monotonic --throughput -1 --bootstrap-server SERVERS --warmup-records 100",
        "--record-size 10 --throughput -1 --bootstrap-server SERVERS --transaction-duration-ms 50",
    ],
)
def test_a_producer_is_measured_in_kafkas_words(side: SideBySide, options: str) -> None:
    line = f"--topic perf --num-records 1000 {options}"
    ours, kafkas = side.both(producer_perf_test, f"{TOOLS}ProducerPerformance", line)
    assert ours.code == kafkas.code == 0, ours.err
    assert without(ours.out, NUMBER) == without(kafkas.out, NUMBER)
    assert "1000 records sent" in ours.out


def test_payloads_come_from_a_file(side: SideBySide, tmp_path: Path) -> None:
    path = tmp_path / "payloads"
    path.write_text("one\ntwo\nthree\n")
    line = f"--topic perf --num-records 10 --payload-file {path} --throughput -1 --bootstrap-server SERVERS"
    ours, kafkas = side.both(producer_perf_test, f"{TOOLS}ProducerPerformance", line)
    assert ours.code == kafkas.code == 0
    assert ours.out.splitlines()[:2] == kafkas.out.splitlines()[:2]


@pytest.mark.parametrize(
    "line",
    [
        "--topic perf --num-records 0 --record-size 1 --throughput -1 --bootstrap-server SERVERS",
        "--topic perf --num-records 1 --record-size 0 --throughput -1 --bootstrap-server SERVERS",
        "--topic perf --num-records 1 --record-size 1 --throughput -1",
        "--topic perf --num-records 1 --throughput -1 --bootstrap-server SERVERS",
        "--num-records 1 --record-size 1 --throughput -1 --bootstrap-server SERVERS",
    ],
)
def test_a_mistake_ends_with_one(side: SideBySide, line: str) -> None:
    ours, kafkas = side.both(producer_perf_test, f"{TOOLS}ProducerPerformance", line)
    assert ours.code == kafkas.code == 1
    assert "kafka-producer-perf-test: error:" in ours.err


@pytest.mark.parametrize("options", ["", "--hide-header", "--show-detailed-stats --reporting-interval 1"])
def test_a_consumer_is_measured_in_kafkas_words(side: SideBySide, options: str) -> None:
    produce = "--topic read --num-records 500 --record-size 10 --throughput -1 --bootstrap-server SERVERS"
    assert side.ours(producer_perf_test, *produce.split()).code == 0
    line = f"--bootstrap-server SERVERS --topic read --num-records 500 {options}"
    ours, kafkas = side.both(consumer_perf_test, f"{TOOLS}ConsumerPerformance", line)
    assert ours.code == kafkas.code == 0, ours.err
    shapes = [{without(line, TIMES, NUMBER) for line in said.out.splitlines()} for said in (ours, kafkas)]
    assert shapes[0] == shapes[1]
    if not options:
        assert re.search(r", 500, ", ours.out)


def test_a_consumer_that_waits_in_vain_says_so(side: SideBySide) -> None:
    line = "--bootstrap-server SERVERS --topic read --num-records 1000000 --timeout 100 --hide-header"
    ours, kafkas = side.both(consumer_perf_test, f"{TOOLS}ConsumerPerformance", line)
    assert ours.out.splitlines()[0] == kafkas.out.splitlines()[0]


@pytest.mark.parametrize("line", ["", "--bootstrap-server SERVERS", "--bootstrap-server SERVERS --topic a"])
def test_what_is_missing_is_named(side: SideBySide, line: str) -> None:
    ours, kafkas = side.both(consumer_perf_test, f"{TOOLS}ConsumerPerformance", line)
    assert (ours.code, ours.complaint) == (kafkas.code, kafkas.complaint)


def test_dates_are_written_by_javas_letters() -> None:
    assert re.fullmatch(
        r"2001-09-0\d T \d\d:46:40:005 .*", formatted(1_000_000_000_005, "yyyy-MM-dd 'T' HH:mm:ss:SSS a")
    )
