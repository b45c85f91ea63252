"""Slow work in a pool of threads: partitions are paused while their records are worked on.

    python examples/client/worker_pool.py [SERVERS]

The reader polls all the time, so it stays a member of its group however long a record takes. Records of one
partition are worked on in order; different partitions at the same time. An offset is committed when its work
is done.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor

from penstock.client import (
    Consumer,
    ConsumerRecord,
    OffsetAndMetadata,
    RebalanceListener,
    StringDeserializer,
    TopicPartition,
)

Work = Callable[[ConsumerRecord], None]


class Pool(RebalanceListener):
    """What is under way, by partition. Only the thread that polls uses the consumer."""

    def __init__(self, consumer: Consumer, work: Work, threads: int) -> None:
        self._consumer, self._work = consumer, work
        self._threads = ThreadPoolExecutor(threads)
        self._under_way: dict[TopicPartition, Future[int]] = {}

    def give(self, partition: TopicPartition, records: list[ConsumerRecord]) -> None:
        self._consumer.pause([partition])
        self._under_way[partition] = self._threads.submit(self._run, records)

    def collect(self) -> None:
        """Commits what is done, and lets its partitions go on."""
        for partition, future in list(self._under_way.items()):
            if future.done():
                self._finish(partition, future)
                self._consumer.resume([partition])

    def on_partitions_revoked(self, partitions: object) -> None:
        """Work that was begun is ended and committed before another reader gets the partition."""
        for partition, future in list(self._under_way.items()):
            self._finish(partition, future)

    def close(self) -> None:
        self.on_partitions_revoked(())
        self._threads.shutdown()

    def _run(self, records: list[ConsumerRecord]) -> int:
        for record in records:
            self._work(record)
        return records[-1].offset + 1

    def _finish(self, partition: TopicPartition, future: Future[int]) -> None:
        self._consumer.commit_sync({partition: OffsetAndMetadata(future.result())})
        del self._under_way[partition]


def run(servers: str, topic: str, work: Work, goes_on: Callable[[], bool], threads: int = 8) -> None:
    settings = {
        "bootstrap.servers": servers,
        "group.id": f"{topic}-workers",
        "auto.offset.reset": "earliest",
        "enable.auto.commit": False,
        "value.deserializer": StringDeserializer,
    }
    with Consumer(settings) as consumer:
        pool = Pool(consumer, work, threads)
        consumer.subscribe([topic], pool)
        while goes_on():
            records = consumer.poll(0.1)
            for partition in records.partitions():
                pool.give(partition, records.records(partition))
            pool.collect()
        pool.close()


if __name__ == "__main__":
    run(
        sys.argv[1] if len(sys.argv) > 1 else "127.0.0.1:9092",
        "slow-work",
        lambda record: print(record.partition, record.offset, record.value),
        lambda: True,
    )
