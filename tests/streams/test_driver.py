"""The test driver: records in and out, time by hand, stores, poison pills, batches, and what it refuses."""

from __future__ import annotations

import time

import pytest

from penstock.kernels.expressions import NeedsSpark
from penstock.kernels.serdes import SerdeError
from penstock.plan.raw_records import BadRecord
from penstock.streams import (
    Application,
    ColumnExpression,
    DeadLetters,
    LongSerde,
    StreamsBuilder,
    StringSerde,
    TimeWindows,
    Topology,
    TopologyTestDriver,
    skip,
)

S = StringSerde()


def word_count() -> Topology:
    builder = StreamsBuilder(key_serde=S, value_serde=S)
    lines = builder.stream("lines")
    counts = lines.flat_map_values(str.split).group_by(lambda _, word: word).count(materialized="counts")
    counts.to_stream().to("words", value_serde=LongSerde())
    return builder.build()


def test_results_stores_and_internal_topics_can_be_read() -> None:
    with TopologyTestDriver(word_count(), application_id="app") as driver:
        driver.pipe("lines", None, "to be or not to be", 7)
        results = driver.read("words")
        assert [(record.key, record.value) for record in results] == [
            ("to", 1),
            ("be", 1),
            ("or", 1),
            ("not", 1),
            ("to", 2),
            ("be", 2),
        ]
        assert {record.timestamp for record in results} == {7}
        assert driver.store("counts").get("to") == 2
        assert set(driver.topics) == {"app-counts-repartition", "app-counts-changelog"}
        assert driver.read("words") == []


def test_a_batch_tells_one_update_a_key() -> None:
    with TopologyTestDriver(word_count(), emit_every_update=False) as driver:
        driver.pipe_all([("lines", None, "to be or", 1), ("lines", None, "not to be", 2)])
        assert [(record.key, record.value) for record in driver.read("words")] == [
            ("or", 1),
            ("not", 1),
            ("to", 2),
            ("be", 2),
        ]


def test_a_poison_pill_ends_the_driver_unless_it_is_skipped_or_laid_aside() -> None:
    builder = StreamsBuilder(key_serde=S, value_serde=LongSerde())
    builder.stream("numbers").to("out")
    topology = builder.build()
    with (
        TopologyTestDriver(topology) as driver,
        pytest.raises(BadRecord, match=r"numbers-0 at offset 0.*3 bytes"),
    ):
        driver.pipe_raw("numbers", b"k", b"bad", 1)
    with TopologyTestDriver(topology, on_bad_record=skip) as driver:
        driver.pipe_raw("numbers", b"k", b"bad", 1)
        assert driver.read("out") == []
    with TopologyTestDriver(topology, on_bad_record=DeadLetters("dead")) as driver:
        driver.pipe_raw("numbers", b"k", b"bad", 1)
        (letter,) = driver.read_raw("dead")
    assert (letter.key, letter.value) == (b"k", b"bad")
    headers = dict(letter.headers)
    assert headers["__streams.errors.topic"] == b"numbers"
    assert headers["__streams.errors.exception"] == SerdeError.__name__.encode()


def test_a_column_expression_needs_a_jvm() -> None:
    builder = StreamsBuilder(key_serde=S, value_serde=S)
    builder.stream("a").map_values(ColumnExpression("upper(value)")).to("out")
    with pytest.raises(NeedsSpark, match=r"test_driver.py:\d+.*upper\(value\).*needs a JVM"):
        TopologyTestDriver(builder.build())


def test_an_application_knows_its_internal_topics_before_it_starts() -> None:
    application = Application(word_count(), "app", "127.0.0.1:9092")
    assert application.internal_topics == ["app-counts-changelog", "app-counts-repartition"]
    assert application.state == "created"


def test_a_hundred_warm_cases_take_less_than_ten_seconds() -> None:
    builder = StreamsBuilder(key_serde=S, value_serde=S)
    windows = TimeWindows(1000, advance=200, grace=500)
    counted = builder.stream("a").group_by_key().windowed_by(windows).count()
    counted.to_stream(lambda key, _: key.key).to("out", key_serde=S, value_serde=LongSerde())
    topology = builder.build()
    begin = time.perf_counter()
    for _ in range(100):
        with TopologyTestDriver(topology) as driver:
            driver.pipe_all([("a", f"k{at % 7}", "v", at * 10) for at in range(30)])
            assert driver.read("out")
    assert time.perf_counter() - begin < 10
