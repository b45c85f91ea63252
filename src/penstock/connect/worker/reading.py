"""Records of a partition as rows, and dead letters to their topic: what the tasks of a sink do with brokers.

Runs inside Spark's Python workers.
"""

from __future__ import annotations

from collections.abc import Iterator

from penstock.connect.pipeline.rows import Row
from penstock.connect.pipeline.sink_work import Read, Send
from penstock.protocol.topic_partition import TopicPartition
from penstock.security.client_settings import ClientSettings


def reader(client: ClientSettings, *, read_committed: bool) -> Read:
    def read(place: TopicPartition, start: int, end: int) -> Iterator[Row]:
        from penstock.spark.connecting import read_rows

        for batch in read_rows(client, place, start, end, read_committed=read_committed):
            columns = [batch.column(name).to_pylist() for name in ("key", "value", "offset", "headers")]
            micros = batch.column("timestamp").cast("int64").to_pylist()
            for key, value, offset, headers, timestamp in zip(*columns, micros, strict=True):
                found = tuple((each["key"], each["value"]) for each in headers or ())
                yield Row(place.topic, place.partition, key, value, found, timestamp // 1000, offset)

    return read


def dead_letter_sender(client: ClientSettings) -> Send:
    def send(rows: list[Row]) -> None:
        from penstock.connect.worker.spark_jobs import to_arrow
        from penstock.spark.connecting import send_rows

        send_rows(client, to_arrow(rows))

    return send
