"""Applications run on Spark: words counted, starts after starts, with and without what was kept on disk."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka.admin import AdminClient

from penstock.client.targets import Target
from penstock.plan.failures import ProcessingError
from penstock.spark.host.host import Host
from penstock.streams import (
    KeyValueSpec,
    LongSerde,
    Processor,
    ProcessorContext,
    PunctuationType,
    Record,
    StreamsBuilder,
    StringSerde,
    Topology,
    TopologyError,
)
from penstock.streams.resetting import Applications, StillRunning
from tests.peers.topic_reader import read_topic
from tests.spark.host.conftest import Run, Topics

pytestmark = pytest.mark.timeout(300)


def word_count(source: str, target: str) -> Topology:
    builder = StreamsBuilder(key_serde=StringSerde(), value_serde=StringSerde())
    words = builder.stream(source).flat_map_values(lambda line: line.lower().split())
    counts = words.group_by(lambda _, word: word).count(materialized="counts")
    counts.to_stream().to(target, value_serde=LongSerde())
    return builder.build()


def counts(topics: Topics, topic: str) -> dict[str, int]:
    return {
        (key or b"").decode(): int.from_bytes(value or b"", "big") for key, value, _ in topics.read(topic)
    }


def failing_once(start: Callable[..., Any]) -> Callable[..., Any]:
    """As on a machine that is too busy to start Spark's Python workers in time."""
    failed = []

    def started(*arguments: Any) -> Any:
        if not failed:
            failed.append(True)
            raise RuntimeError("Python worker failed to connect back.")
        return start(*arguments)

    return started


def test_words_are_counted_on_from_start_to_start_also_without_the_state_directory(
    run: Run, topics: Topics, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    topics.create("said", "said-words", partitions=2)
    for start in (1, 2, 3):
        topics.write("said", [(None, "to be or"), (None, "not to be")] * 5, partition=start % 2)
        application = run(word_count("said", "said-words"), "counting")
        assert (application.state, application.error) == ("closed", None)
        assert counts(topics, "said-words") == {
            "to": 10 * start,
            "be": 10 * start,
            "or": 5 * start,
            "not": 5 * start,
        }
        if start == 1:
            monkeypatch.setattr(Host, "_started", failing_once(Host._started))
        if start == 2:
            shutil.rmtree(tmp_path / "state")
    assert len(topics.read("said-words")) == 12  # one update a word and start
    found = AdminClient({"bootstrap.servers": topics.servers, "log_level": 0}).list_topics(timeout=20).topics
    assert set(application.internal_topics) <= set(found)
    assert len(found["counting-counts-changelog"].partitions) == 2


def test_results_name_the_record_that_they_were_made_from(run: Run, topics: Topics) -> None:
    topics.create("told", "told-words", partitions=2)
    topics.write("told", [(None, "one two")], partition=0)
    topics.write("told", [(None, "three"), (None, "four")], partition=1)
    run(word_count("told", "told-words"), "telling", {"penstock.origin": "true"})
    assert origins(topics, "told-words") == {
        "one": [b"told/0/0"],
        "two": [b"told/0/0"],
        "three": [b"told/1/0"],
        "four": [b"told/1/1"],
    }
    builder = StreamsBuilder(key_serde=StringSerde(), value_serde=LongSerde())
    builder.stream("told-words").filter(lambda word, _: word == "one").to("told-ones")
    topics.create("told-ones")
    run(builder.build(), "telling-on", {"penstock.origin": "true"})
    (place,) = [message for message in read_topic(topics.servers, "told-words") if message.key() == b"one"]
    assert origins(topics, "told-ones") == {
        "one": [f"told-words/{place.partition()}/{place.offset()}".encode()]
    }


def origins(topics: Topics, topic: str) -> dict[str, list[bytes]]:
    return {
        message.key().decode(): [
            value for name, value in message.headers() or () if name == "penstock.origin"
        ]
        for message in read_topic(topics.servers, topic)
    }


class Ticking(Processor):
    """Counts, and tells how many there were every half second of wall-clock time."""

    def init(self, context: ProcessorContext) -> None:
        super().init(context)
        context.schedule(500, PunctuationType.WALL_CLOCK_TIME, self.tell)

    def process(self, record: Record) -> None:
        store = self.context.store("seen")
        store.put("all", (store.get("all") or 0) + 1)

    def tell(self, now_ms: int) -> None:
        self.context.forward(Record("all", self.context.store("seen").get("all") or 0, now_ms))


def test_punctuators_of_wall_clock_time_run_when_nothing_arrives(run: Run, topics: Topics) -> None:
    topics.create("events", "ticks")
    builder = StreamsBuilder(key_serde=StringSerde(), value_serde=StringSerde())
    builder.add_state_store(KeyValueSpec("seen", StringSerde(), LongSerde()))
    told = builder.stream("events").process(Ticking, stores=["seen"])
    told.to("ticks", key_serde=StringSerde(), value_serde=LongSerde())
    topics.write("events", [("k", "v")] * 3)
    application = run(builder.build(), "ticking", trigger={"processingTime": "0 seconds"})
    ticks = topics.wait("ticks", 3)
    application.close()
    assert application.error is None
    assert {int.from_bytes(value or b"", "big") for _, value, _ in ticks} <= {0, 3}
    times = [at for _, _, at in ticks]
    assert times == sorted(times)
    assert len(set(times)) == len(times)


def test_another_instance_stands_by_and_takes_over_with_the_state(
    run: Run, topics: Topics, tmp_path: Path
) -> None:
    topics.create("more-lines", "more-words", partitions=2)
    settings = {"session.timeout.ms": "6000", "heartbeat.interval.ms": "300"}
    always = {"processingTime": "0 seconds"}
    topics.write("more-lines", [(None, "to be")] * 4)
    first = run(word_count("more-lines", "more-words"), "twice", settings, trigger=always)
    topics.wait("more-words", 2)
    second = run(
        word_count("more-lines", "more-words"), "twice", settings, trigger=always, state_dir=tmp_path / "2"
    )
    assert not second.wait(3)
    assert (first.state, second.state) == ("running", "standing by")
    with pytest.raises(StillRunning, match="its group has"):
        Applications(topics.servers).reset("twice", Target())
    first.close()
    topics.write("more-lines", [(None, "or not to be")] * 4)
    topics.wait("more-words", 6)
    assert second.state == "running"
    assert counts(topics, "more-words") == {"to": 8, "be": 8, "or": 4, "not": 4}


@pytest.mark.parametrize("guarantee", ["exactly_once_v2", "at_least_once"])
def test_poison_pills_go_to_their_topic_with_the_reason(run: Run, topics: Topics, guarantee: str) -> None:
    names = [f"{name}-{guarantee}" for name in ("numbers", "sums", "letters")]
    topics.create(*names)
    builder = StreamsBuilder(key_serde=StringSerde(), value_serde=LongSerde())
    summed = builder.stream(names[0]).group_by_key().reduce(lambda one, other: one + other)
    summed.to_stream().to(names[1])
    topics.write(names[0], [("k", bytes(7) + b"\x05"), ("k", "poison"), ("k", bytes(7) + b"\x06")])
    settings = {"processing.guarantee": guarantee, "errors.dead.letter.queue.topic.name": names[2]}
    assert run(builder.build(), f"summing-{guarantee}", settings).error is None
    assert [value for _, value, _ in topics.read(names[1])] == [bytes(7) + b"\x0b"]
    assert [(key, value) for key, value, _ in topics.read(names[2])] == [(b"k", b"poison")]


def test_a_poison_pill_ends_the_application_when_nothing_else_is_said(run: Run, topics: Topics) -> None:
    topics.create("pills", "never")
    builder = StreamsBuilder(key_serde=StringSerde(), value_serde=LongSerde())
    builder.stream("pills").to("never")
    topics.write("pills", [("k", "poison")])
    application = run(builder.build(), "poisoned")
    assert application.state == "failed"
    assert "the record of pills-0 at offset 0 cannot be read" in str(application.error)
    assert topics.read("never") == []


def ten_divided(value: str) -> str:
    return str(10 // int(value))


def test_a_function_that_fails_is_one_sentence_with_its_record_and_its_node(
    run: Run, topics: Topics, caplog: pytest.LogCaptureFixture
) -> None:
    topics.create("divided", "quotients")
    builder = StreamsBuilder(key_serde=StringSerde(), value_serde=StringSerde())
    builder.stream("divided").map_values(ten_divided).to("quotients")
    topics.write("divided", [("k", "5"), ("k", "0")])
    application = run(builder.build(), "dividing")
    assert application.state == "failed"
    assert isinstance(application.error, ProcessingError)
    assert re.fullmatch(
        r"node KSTREAM-MAPVALUES-0000000001 \(test_host.py:\d+\) failed on the record at offset 1 of "
        r"divided-0: ZeroDivisionError: integer division or modulo by zero "
        r"\(test_host.py:\d+ in ten_divided\)",
        str(application.error),
    )
    told = [record.getMessage() for record in caplog.records if "ZeroDivisionError" in record.getMessage()]
    assert told == [f"application dividing has failed: {application.error}"]
    settings = {"processing.exception.handler": "skip", "errors.dead.letter.queue.topic.name": "undivided"}
    topics.create("undivided")
    assert run(builder.build(), "dividing", settings).error is None
    assert [value for _, value, _ in topics.read("quotients")] == [b"2"]
    assert [value for _, value, _ in topics.read("undivided")] == [b"0"]


def test_topics_that_are_joined_need_equally_many_partitions(run: Run, topics: Topics) -> None:
    topics.create("two", partitions=2)
    topics.create("three", partitions=3)
    builder = StreamsBuilder(key_serde=StringSerde(), value_serde=StringSerde())
    builder.stream("two").join(builder.table("three"), lambda one, other: one).to("never")
    with pytest.raises(TopologyError, match=r"two has 2, three has 3|three has 3, two has 2"):
        run(builder.build(), "unequal")


def test_a_topic_that_is_missing_is_told_before_anything_runs(run: Run) -> None:
    with pytest.raises(TopologyError, match="topic nowhere does not exist"):
        run(word_count("nowhere", "anywhere"), "lost")
