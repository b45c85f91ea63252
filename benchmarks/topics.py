"""Topics for the cases: made, used, deleted. Through librdkafka, the same for both brokers."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Final

from confluent_kafka import KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic, OffsetSpec

from benchmarks.systems import System

TIMEOUT_SECONDS: Final = 120
_numbers = itertools.count(1)


@contextmanager
def topic(system: System, partitions: int, settings: Mapping[str, str] | None = None) -> Iterator[str]:
    """A topic whose partitions are all served, deleted at the end."""
    name = f"bench-{next(_numbers):05d}"
    create(system, name, partitions, settings)
    try:
        yield name
    finally:
        admin = _admin(system)  # it must outlive its futures
        for future in admin.delete_topics([name], operation_timeout=TIMEOUT_SECONDS).values():
            future.result(TIMEOUT_SECONDS)


def create(system: System, name: str, partitions: int, settings: Mapping[str, str] | None = None) -> None:
    admin = _admin(system)
    new = NewTopic(name, partitions, 1, config=dict(settings or {}))
    for future in admin.create_topics([new], operation_timeout=TIMEOUT_SECONDS).values():
        future.result(TIMEOUT_SECONDS)
    deadline = time.monotonic() + TIMEOUT_SECONDS
    while not _served(admin, name, partitions):
        if time.monotonic() > deadline:
            raise TimeoutError(f"{name} has partitions that are not served after {TIMEOUT_SECONDS} s")
        time.sleep(0.005)


def _served(admin: AdminClient, name: str, partitions: int) -> bool:
    """Whether each partition says where it ends: in Kafka a leader is known a little before it is ready."""
    wanted = {TopicPartition(name, index): OffsetSpec.latest() for index in range(partitions)}
    try:
        for future in admin.list_offsets(wanted, request_timeout=TIMEOUT_SECONDS).values():
            future.result(TIMEOUT_SECONDS)
    except KafkaException:
        return False
    return True


def _admin(system: System) -> AdminClient:
    return AdminClient({"bootstrap.servers": system.address, "log_level": 0})
