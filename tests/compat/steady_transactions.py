"""Transactions of librdkafka, one after the other: `steady_transactions.py SERVERS TOPIC PARTITIONS PRODUCERS
SECONDS`. Each writes one record to every partition and commits an offset; every tenth is aborted. Prints each
failure, and at last how many were committed, aborted and failed. A program of its own: threads of a test that
polls would slow it down.
"""

from __future__ import annotations

import sys
import threading
import time
from collections import Counter

from confluent_kafka import Consumer, KafkaException, Message, Producer, TopicPartition

ABORTED_OF = 10


class Worker(threading.Thread):
    def __init__(self, servers: str, topic: str, partitions: int, number: int, end: float) -> None:
        super().__init__()
        self._topic, self._partitions, self._end = topic, partitions, end
        self._identity = f"steady-{number}"
        self._producer = Producer(
            {
                "bootstrap.servers": servers,
                "transactional.id": self._identity,
                "linger.ms": 0,
                "log_level": 0,
            }
        )
        self._group = Consumer(
            {"bootstrap.servers": servers, "group.id": self._identity}
        ).consumer_group_metadata()
        self.counts: Counter[str] = Counter()

    def run(self) -> None:
        self._producer.init_transactions(30)
        number = 0
        while time.monotonic() < self._end:
            number += 1
            self.counts[self._play(number)] += 1

    def _play(self, number: int) -> str:
        """One transaction: committed, aborted or failed."""
        failures: list[str] = []

        def delivered(error: object, message: Message) -> None:
            if error is not None and number % ABORTED_OF:
                failures.append(f"partition {message.partition()}: {error}")

        self._producer.begin_transaction()
        try:
            for partition in range(self._partitions):
                self._producer.produce(
                    self._topic, f"{self._identity} {number}", partition=partition, on_delivery=delivered
                )
            if number % ABORTED_OF == 0:
                self._producer.abort_transaction(30)
                return "aborted"
            self._producer.send_offsets_to_transaction(
                [TopicPartition(self._topic, 0, number)], self._group, 30
            )
            self._producer.commit_transaction(30)
            return "committed"
        except KafkaException as error:
            print(f"{self._identity} {number}: {error} {failures}", flush=True)
            self._producer.abort_transaction(30)
            return "failed"


def main(servers: str, topic: str, partitions: str, producers: str, seconds: str) -> None:
    end = time.monotonic() + float(seconds)
    workers = [Worker(servers, topic, int(partitions), number, end) for number in range(int(producers))]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    total: Counter[str] = sum((worker.counts for worker in workers), Counter())
    print(f"{total['committed']} committed, {total['aborted']} aborted, {total['failed']} failed")


if __name__ == "__main__":
    main(*sys.argv[1:])
