"""Which batch was committed last, and whether the current one must be written: decisions, no I/O.

Progress is kept in the committed offsets of a group. Their metadata names the batch, so that it is committed
with the rows in one transaction. Progress belongs to a query (the id in Spark's checkpoint) and never to a
name that a user gave: a fresh checkpoint begins at batch 0 again and must not be taken for the old one.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from enum import Enum
from typing import Final, NamedTuple

# What is assumed of a broker that does not say how long it keeps offsets; a day is the least that is usual.
ASSUMED_RETENTION_MS: Final = 24 * 3_600_000
_CLOCKS_DIFFER_MS: Final = 3_600_000


class ProgressLost(RuntimeError):
    """It cannot be known whether the batch was written. A person must decide."""


class CheckpointOutdated(RuntimeError):
    """More was committed than the checkpoint knows of: it is a copy from earlier, or not the same one."""


class Batch(NamedTuple):
    """One micro-batch of one query."""

    query_id: str
    batch_id: int
    planned_ms: int
    """When Spark fixed what the batch reads. A batch that runs again keeps it, one planned anew does not."""

    def to_metadata(self) -> str:
        return json.dumps({"query": self.query_id, "batch": self.batch_id, "planned": self.planned_ms})

    @classmethod
    def from_metadata(cls, text: str) -> Batch | None:
        """None for metadata that another program has committed."""
        try:
            found = json.loads(text)
            return cls(str(found["query"]), int(found["batch"]), int(found["planned"]))
        except (ValueError, KeyError, TypeError):
            return None


class Decision(Enum):
    WRITE = "write"
    SKIP = "skip"


def last_committed(metadata: Iterable[str], query_id: str) -> Batch | None:
    """The latest batch of this query among what a group has committed."""
    batches = [batch for batch in map(Batch.from_metadata, metadata) if batch and batch.query_id == query_id]
    return max(batches, key=lambda batch: batch.batch_id, default=None)


def decide(batch: Batch, last: Batch | None, *, now_ms: int, retention_ms: int) -> Decision:
    """Whether `batch` is to be written, given what was committed last. Raises rather than guesses."""
    if last is None:
        margin_ms = min(_CLOCKS_DIFFER_MS, retention_ms // 10)
        if now_ms - batch.planned_ms < retention_ms - margin_ms:
            return Decision.WRITE  # had it been committed, that would still be known
        raise ProgressLost(
            f"batch {batch.batch_id} of query {batch.query_id} was planned "
            f"{(now_ms - batch.planned_ms) / 3_600_000:.1f} hours ago, and brokers keep the progress of a "
            f"stopped query for {retention_ms / 3_600_000:.1f} hours (offsets.retention.minutes): nobody "
            "knows whether this batch was written. Look at the end of the output. If it was not, start with "
            "a new checkpoint from the offsets in this one; if it was, from the offsets after"
        )
    if batch.batch_id > last.batch_id:
        return Decision.WRITE
    if batch == last:
        return Decision.SKIP
    raise CheckpointOutdated(
        f"batch {last.batch_id} of query {last.query_id} is committed already, and the checkpoint is at "
        f"batch {batch.batch_id} with other contents: it was restored from a copy. Writing would double "
        "rows, skipping would lose some. Start with a new checkpoint, from the offsets where the output ends"
    )
