"""Whether a batch is written, skipped, or left to a person."""

from __future__ import annotations

import pytest

from penstock.spark.progress import Batch, CheckpointOutdated, Decision, ProgressLost, decide, last_committed

HOUR = 3_600_000
WEEK = 7 * 24 * HOUR
PLANNED = 1_700_000_000_000


def batch(number: int, planned_ms: int = PLANNED, query: str = "q") -> Batch:
    return Batch(query, number, planned_ms)


def decided(at_hand: Batch, last: Batch | None, hours: float = 0) -> Decision:
    return decide(at_hand, last, now_ms=PLANNED + int(hours * HOUR), retention_ms=WEEK)


def test_the_next_batch_is_written_and_the_one_committed_last_is_skipped() -> None:
    assert decided(batch(8), batch(7)) is Decision.WRITE
    assert decided(batch(7), batch(7), hours=10_000) is Decision.SKIP


@pytest.mark.parametrize("number", [0, 7])
def test_without_progress_a_batch_is_written_as_long_as_its_commit_would_still_be_known(number: int) -> None:
    assert decided(batch(number), None, hours=6 * 24) is Decision.WRITE
    with pytest.raises(ProgressLost, match=r"168\.0 hours ago.*offsets\.retention\.minutes"):
        decided(batch(number), None, hours=7 * 24)


def test_clocks_may_differ_a_little() -> None:
    with pytest.raises(ProgressLost):
        decided(batch(1), None, hours=7 * 24 - 0.5)


def test_a_checkpoint_that_knows_less_than_was_committed_is_refused() -> None:
    with pytest.raises(CheckpointOutdated, match="batch 7 of query q is committed already"):
        decided(batch(6), batch(7))
    with pytest.raises(CheckpointOutdated, match="other contents"):
        decided(batch(7, PLANNED + 1), batch(7))


def test_the_latest_batch_of_this_query_counts_and_nothing_that_others_wrote() -> None:
    metadata = ["", "{}", "[1]", "not json", batch(3).to_metadata(), batch(5).to_metadata()]
    metadata.append(batch(9, query="another").to_metadata())
    assert last_committed(metadata, "q") == batch(5)
    assert last_committed(metadata, "fresh") is None
