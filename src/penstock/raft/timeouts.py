"""How long a quorum waits, under Kafka's names and with its defaults."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Timeouts:
    """All in milliseconds."""

    election_timeout_ms: int = 1000
    """`controller.quorum.election.timeout.ms`: a round of votes may take as long, and up to twice as long by
    chance."""
    fetch_timeout_ms: int = 2000
    """`controller.quorum.fetch.timeout.ms`: a follower waits for its leader, a leader for its majority (half
    as long again)."""
    election_backoff_max_ms: int = 1000
    """`controller.quorum.election.backoff.max.ms`"""
    request_timeout_ms: int = 2000
    """`controller.quorum.request.timeout.ms`"""
    retry_backoff_ms: int = 20
    """`controller.quorum.retry.backoff.ms`"""
    fetch_max_wait_ms: int = 500
    """How long a fetch is held when there is nothing new."""
    fetch_max_bytes: int = 8 * 1024 * 1024
    """What one answer to a fetch may carry; one batch always."""
    snapshot_max_bytes: int = 8 * 1024 * 1024
    """What one answer to a fetch of a snapshot may carry."""

    @property
    def hold_ms(self) -> int:
        """How long the leader may hold a fetch of ours: it has to answer well before we give up on it."""
        return min(self.fetch_max_wait_ms, self.request_timeout_ms // 2, self.fetch_timeout_ms // 2)

    @property
    def check_quorum_ms(self) -> float:
        return self.fetch_timeout_ms * 1.5
