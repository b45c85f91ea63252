"""Timestamps as our broker and Apache Kafka report them: late records, and one from the future."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import pytest
from confluent_kafka import Producer

from penstock.protocol.topic_partition import TopicPartition
from penstock.security.client_settings import ClientSettings
from penstock.spark.clusters import cluster_for
from penstock.spark.host.record_times import LogTimes

NOW = 1_700_000_000_000
LATER = NOW + 10**9
KEPT = {"retention.ms": "-1"}  # these times are long ago, and retention looks half a minute after a start


def written(servers: str, place: TopicPartition, times: list[int]) -> None:
    settings = {
        "batch.num.messages": 7,
        "log_level": 0,
        "enable.idempotence": True,
    }  # order, also after a retry
    producer = Producer({"bootstrap.servers": servers, **settings})
    for time in times:
        producer.produce(place.topic, b"value", partition=place.partition, timestamp=time)
    assert producer.flush(20) == 0


@pytest.mark.parametrize("future", [False, True])
def test_the_first_record_after_a_time_is_found_wherever_the_batch_begins(
    servers: str, new_topic: Callable[..., str], future: bool
) -> None:
    chooser = Random(17)
    topic = new_topic(partitions=3, **KEPT)
    times = {
        TopicPartition(topic, 0): [NOW + n // 3 for n in range(60)],
        TopicPartition(topic, 1): [NOW + n + chooser.randrange(-8, 8) for n in range(60)],
        TopicPartition(topic, 2): [],
    }
    if future:
        times[TopicPartition(topic, 1)][5] = LATER
    for place, found in times.items():
        written(servers, place, found)
    cluster = cluster_for(ClientSettings(servers, "times"))
    for begin in (0, 1, 6, 30, 59):
        start = {place: min(begin, len(found)) for place, found in times.items()}
        end = {place: len(found) for place, found in times.items()}
        log_times = LogTimes(cluster, start, end, 1000, 20.0)
        for time in (-1, NOW - 10, *range(NOW, NOW + 70, 9), NOW * 3):
            wanted = {
                place: next((at for at in range(start[place], len(found)) if found[at] > time), len(found))
                for place, found in times.items()
            }
            assert log_times.ends_at(time) == wanted, (begin, time)


def test_no_more_records_are_fetched_than_a_batch_may_have(
    servers: str, new_topic: Callable[..., str]
) -> None:
    place = TopicPartition(new_topic(**KEPT), 0)
    written(servers, place, [LATER] + [NOW + n for n in range(500)])
    times = LogTimes(cluster_for(ClientSettings(servers, "times")), {place: 1}, {place: 501}, 100, 20.0)
    assert times.ends_at(NOW + 1_000) == {place: 101}
    assert times.ends_at(NOW + 20) == {place: 22}
