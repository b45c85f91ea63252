"""A rolling restart of fifty members, on Penstock and on Apache Kafka in one run: how long until every member
has its partition, and how often a member that is left alone is disturbed."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import pytest
from confluent_kafka import Consumer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from penstock.testing.process import BrokerProcess
from tests.peers.apache_kafka import ApacheKafka, Unavailable

MEMBERS = 50
WAVE = 10  # so many are restarted at a time
DEADLINE_SECONDS = 180.0
TOPIC = "rolling"
SETTINGS = {
    "group.initial.rebalance.delay.ms": "1000",
    "group.consumer.min.heartbeat.interval.ms": "1000",
    "group.consumer.heartbeat.interval.ms": "1000",
}
PROTOCOLS: dict[str, dict[str, object]] = {
    "classic": {"session.timeout.ms": 10_000, "heartbeat.interval.ms": 1000},
    "cooperative": {
        "session.timeout.ms": 10_000,
        "heartbeat.interval.ms": 1000,
        "partition.assignment.strategy": "cooperative-sticky",
    },
    "consumer": {"group.protocol": "consumer"},
}


class Figures(NamedTuple):
    first_seconds: float  # from the start of the first member until each has its partition
    rolling_seconds: float  # from the first restart until each has its partition again, wave after wave
    callbacks: int  # assignments and revocations that a member heard of that was never restarted

    def __str__(self) -> str:
        return (
            f"first {self.first_seconds:5.1f} s, rolling restart {self.rolling_seconds:5.1f} s, "
            f"{self.callbacks} callbacks of one that stayed"
        )


class Member(threading.Thread):
    """Polls until it is stopped."""

    def __init__(self, servers: str, protocol: str) -> None:
        super().__init__(daemon=True)
        self.events = 0
        self._owned: set[int] = set()
        self._stopping = threading.Event()
        self._consumer = Consumer(
            {"bootstrap.servers": servers, "group.id": protocol, "log_level": 0, **PROTOCOLS[protocol]}
        )
        self._consumer.subscribe([TOPIC], on_assign=self._assigned, on_revoke=self._revoked)
        self.start()

    def _assigned(self, _: Consumer, parts: list[TopicPartition]) -> None:
        self.events += 1
        self._owned |= {part.partition for part in parts}

    def _revoked(self, _: Consumer, parts: list[TopicPartition]) -> None:
        self.events += 1
        self._owned -= {part.partition for part in parts}

    def run(self) -> None:
        while not self._stopping.is_set():
            self._consumer.poll(0.1)
        self._consumer.close()

    def stop(self) -> None:
        self._stopping.set()
        self.join(DEADLINE_SECONDS)

    @property
    def share(self) -> int:
        return 0 if self._stopping.is_set() else len(self._owned)


def measure(servers: str, protocol: str) -> Figures:
    start = time.monotonic()
    members = [Member(servers, protocol) for _ in range(MEMBERS)]
    first = _until_shared(members) - start
    events = members[0].events
    start = time.monotonic()
    for wave in range(1, MEMBERS, WAVE):
        stop_all(members[wave : wave + WAVE])
        members[wave : wave + WAVE] = [Member(servers, protocol) for _ in members[wave : wave + WAVE]]
        rolling = _until_shared(members) - start
    callbacks = members[0].events - events
    stop_all(members)
    return Figures(first, rolling, callbacks)


def stop_all(members: list[Member]) -> None:
    stoppers = [threading.Thread(target=member.stop) for member in members]
    for stopper in stoppers:
        stopper.start()
    for stopper in stoppers:
        stopper.join(DEADLINE_SECONDS)


def _until_shared(members: list[Member]) -> float:
    end = time.monotonic() + DEADLINE_SECONDS
    while any(member.share != 1 for member in members):
        assert time.monotonic() < end, sorted(member.share for member in members)
        time.sleep(0.1)
    return time.monotonic()


@contextmanager
def penstock(tmp_path: Path) -> Iterator[str]:
    with BrokerProcess(str(tmp_path / "data"), settings=SETTINGS) as broker:
        yield broker.bootstrap_servers


@contextmanager
def apache() -> Iterator[str]:
    with ApacheKafka(settings=SETTINGS) as broker:
        yield broker.bootstrap_servers


@pytest.mark.long
@pytest.mark.timeout(1500)
def test_a_rolling_restart_of_fifty_members_takes_no_longer_than_on_apache_kafka(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    figures: dict[tuple[str, str], Figures] = {}
    for name, broker in (("penstock", penstock(tmp_path)), ("apache", apache())):
        try:
            with broker as servers:
                admin = AdminClient({"bootstrap.servers": servers})
                admin.create_topics([NewTopic(TOPIC, MEMBERS)])[TOPIC].result(30)
                for protocol in PROTOCOLS:
                    figures[name, protocol] = measure(servers, protocol)
                    with capsys.disabled():
                        print(f"\n{name:10}{protocol:12}{figures[name, protocol]}")
        except Unavailable as reason:
            pytest.skip(str(reason))
    for protocol in PROTOCOLS:
        ours, theirs = figures["penstock", protocol], figures["apache", protocol]
        assert ours.rolling_seconds < 1.5 * theirs.rolling_seconds + 5
