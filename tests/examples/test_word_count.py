"""Words are counted as in Kafka's tutorial."""

from __future__ import annotations

from penstock.streams import Record, TopologyTestDriver
from tests.examples.loading import load

word_count = load("word_count")


def test_counts_go_up_word_by_word() -> None:
    with TopologyTestDriver(word_count.topology()) as driver:
        driver.pipe(word_count.INPUT, None, "all streams lead to kafka", timestamp=1)
        driver.pipe(word_count.INPUT, None, "Hello, Kafka streams!", timestamp=2)
        assert driver.read(word_count.OUTPUT) == [
            Record("all", 1, 1),
            Record("streams", 1, 1),
            Record("lead", 1, 1),
            Record("to", 1, 1),
            Record("kafka", 1, 1),
            Record("hello", 1, 2),
            Record("kafka", 2, 2),
            Record("streams", 2, 2),
        ]
        assert driver.store("counts-store").get("kafka") == 2


def test_a_count_is_eight_bytes_big_endian() -> None:
    with TopologyTestDriver(word_count.topology()) as driver:
        driver.pipe(word_count.INPUT, None, "word", timestamp=1)
        (counted,) = driver.read_raw(word_count.OUTPUT)
    assert (counted.key, counted.value) == (b"word", b"\x00" * 7 + b"\x01")


def test_the_topology_is_that_of_kafkas_demo() -> None:
    described = word_count.topology().describe()
    assert "Source: KSTREAM-SOURCE-0000000000 (topics: [streams-plaintext-input])" in described
    assert "topic: counts-store-repartition" in described
