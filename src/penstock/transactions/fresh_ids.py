"""New producer ids, where a decision needs one. They come from the controller, whose lock comes before a
shard's: so a decision does not fetch one, it says that it needs one."""

from __future__ import annotations


class ProducerIdNeeded(Exception):
    """Get an id without holding a lock, and decide again with it."""


def needed(fresh_id: int | None) -> int:
    if fresh_id is None:
        raise ProducerIdNeeded
    return fresh_id
