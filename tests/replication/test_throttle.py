"""Replicas that are being filled are held back to a rate; those in sync never are."""

from __future__ import annotations

import pytest

from penstock.replication.throttle import names_replica
from tests.replication.replicas import Replicas
from tests.replication.test_fetching import exchange, fetcher_of

BATCH = bytes(1000)


def filling(**throttled: tuple[str, ...]) -> Replicas:
    """Broker 2 is empty and not in sync; 1 leads with ten batches of a kilobyte."""
    replicas = Replicas(1, 2, **throttled)
    replicas.lead(1, (1,))
    for _ in range(10):
        replicas.append(BATCH)
    replicas.throttled_rate = 100.0
    return replicas


def test_a_leader_sends_a_throttled_replica_its_share_and_no_more() -> None:
    replicas = filling(leader_replication_throttled_replicas=("0:1",))
    assert replicas.ask(2).records is not None
    assert replicas.ask(2).records is None
    replicas.clock.pass_ms(120_000)
    assert replicas.ask(2).records is not None


def test_a_follower_asks_for_a_throttled_replica_when_its_share_allows() -> None:
    replicas = filling(follower_replication_throttled_replicas=("*",))
    fetcher = fetcher_of(replicas, 2)
    (wanted,) = fetcher.ask().values()
    assert wanted.offset == 0
    fetched = replicas.ask(2, wanted)
    assert fetched.records is not None
    first = fetched.records.read()[: len(BATCH) + 80]  # one batch and a part of the next
    replicas[2].take(wanted, memoryview(bytearray(first)), fetched.high_watermark, 0)
    assert fetcher.ask() == {}
    pause = fetcher.pause_seconds()
    assert pause is not None
    assert pause <= 0.1
    replicas.clock.pass_ms(120_000)
    assert fetcher.ask()


def test_a_replica_in_sync_is_not_throttled() -> None:
    replicas = filling(
        leader_replication_throttled_replicas=("*",), follower_replication_throttled_replicas=("*",)
    )
    replicas.throttled_rate = float("inf")
    exchange(replicas, fetcher_of(replicas, 2), rounds=3)
    replicas.alter_partition()
    replicas.throttled_rate = 0.0
    replicas.append(BATCH)
    fetcher = fetcher_of(replicas, 2)
    exchange(replicas, fetcher, rounds=2)
    assert replicas[2].log.log_end_offset == 11


@pytest.mark.parametrize(
    ("throttled", "named"), [((), False), (("*",), True), (("0:1", "1:2"), True), (("1:1", "0:2"), False)]
)
def test_throttled_replicas_are_named_by_partition_and_broker(
    throttled: tuple[str, ...], named: bool
) -> None:
    assert names_replica(throttled, 0, 1) is named
