"""Where a group or a transactional id lives."""

from __future__ import annotations

import pytest

from penstock.coordinator.sharding import shard_of


@pytest.mark.parametrize(
    ("group", "shard"),
    # Java: Math.abs(group.hashCode()) % 50, with the smallest int as 0
    [("", 0), ("g", 3), ("my-group", 12), ("polygenelubricants", 0), ("ü", 2), ("😀", 49)],
)
def test_a_group_lives_where_kafka_would_put_it(group: str, shard: int) -> None:
    assert shard_of(group, 50) == shard
