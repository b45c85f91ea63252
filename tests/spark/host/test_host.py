"""Applications run on Spark: words counted, starts after starts, with and without what was kept on disk."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient

from penstock.streams import LongSerde, StreamsBuilder, StringSerde, Topology, TopologyError
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


def test_words_are_counted_on_from_start_to_start_also_without_the_state_directory(
    run: Run, topics: Topics, tmp_path: Path
) -> None:
    topics.create("lines", "words", partitions=2)
    for start in (1, 2, 3):
        topics.write("lines", [(None, "to be or"), (None, "not to be")] * 5, partition=start % 2)
        application = run(word_count("lines", "words"), "counting")
        assert (application.state, application.error) == ("closed", None)
        assert counts(topics, "words") == {
            "to": 10 * start,
            "be": 10 * start,
            "or": 5 * start,
            "not": 5 * start,
        }
        if start == 2:
            shutil.rmtree(tmp_path / "state")
    assert len(topics.read("words")) == 12  # one update a word and start
    found = AdminClient({"bootstrap.servers": topics.servers, "log_level": 0}).list_topics(timeout=20).topics
    assert set(application.internal_topics) <= set(found)
    assert len(found["counting-counts-changelog"].partitions) == 2


def test_a_topic_that_is_missing_is_told_before_anything_runs(run: Run) -> None:
    with pytest.raises(TopologyError, match="topic nowhere does not exist"):
        run(word_count("nowhere", "anywhere"), "lost")
