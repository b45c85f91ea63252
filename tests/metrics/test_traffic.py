"""Traffic by topic: sums outlive a topic, and a name that fails stays in nobody's memory."""

from __future__ import annotations

from penstock.metrics.traffic import Traffic


def test_totals_are_the_sums_of_all_topics_also_of_those_that_are_gone() -> None:
    traffic = Traffic()
    produced(traffic, "a", 10, 1)
    produced(traffic, "b", 20, 2)
    traffic.of("b").fetched(5, by_follower=False)
    traffic.of("b").fetched(7, by_follower=True)
    traffic.forget_others({"a"})
    assert [name for name, _ in traffic.items()] == ["a"]
    assert (traffic.total("bytes_in"), traffic.total("messages_in")) == (30, 3)
    assert (traffic.total("bytes_out"), traffic.total("replication_bytes_out")) == (5, 7)


def test_a_topic_that_does_not_exist_counts_in_the_total_alone() -> None:
    traffic = Traffic()
    traffic.of("there")
    traffic.known("there").produce_failed(3)
    traffic.known("x" * 200).produce_failed(4)
    traffic.known("y").fetch_failed()
    assert [name for name, _ in traffic.items()] == ["there"]
    assert traffic.of("there").failed_produce_requests == 1
    assert traffic.total("failed_produce_requests") == 2
    assert traffic.total("bytes_rejected") == 7
    assert traffic.total("failed_fetch_requests") == 1


def produced(traffic: Traffic, topic: str, size_bytes: int, records: int) -> None:
    """As the handler of Produce counts."""
    counts = traffic.of(topic)
    counts.produce_requests += 1
    counts.bytes_in += size_bytes
    counts.messages_in += records
