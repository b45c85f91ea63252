"""What a member of a group hears of its partitions, and what it does then."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from penstock.client.api.commits import Commits
from penstock.client.api.exceptions import (
    KafkaException,
    RebalanceInProgressException,
    UnsupportedVersionException,
)
from penstock.client.api.offsets import partitions_of
from penstock.protocol.topic_partition import TopicPartition


class RebalanceListener:
    """Override what you need. The methods are called inside `poll`, by its thread.

    In `on_partitions_revoked` the partitions are still yours: commit there. In `on_partitions_lost` they
    belong to another member already.
    """

    def on_partitions_assigned(self, partitions: Sequence[TopicPartition]) -> None:
        """These came; with a cooperative assignor, beside what was there."""

    def on_partitions_revoked(self, partitions: Sequence[TopicPartition]) -> None:
        """These go."""

    def on_partitions_lost(self, partitions: Sequence[TopicPartition]) -> None:
        """These went without notice: the member was too slow or cut off. As in Java, revoked by default."""
        self.on_partitions_revoked(partitions)


class Rebalances:
    """librdkafka calls these inside its `poll`. It prints an exception and forgets it, so what the user's
    listener raises is kept for our own `poll`."""

    def __init__(
        self, library: Mapping[str, Any], commits: Commits, drop: Callable[[Iterable[TopicPartition]], None]
    ) -> None:
        self.listener = RebalanceListener()
        self._cooperative = (
            str(library.get("group.protocol", "classic")).lower() == "consumer"
            or library.get("partition.assignment.strategy") == "cooperative-sticky"
        )
        self._commits = commits
        self._drop = drop
        self._failure: Exception | None = None
        self.count = 0
        """How often partitions came or went."""
        self.in_progress = False
        """Partitions went, and what the group gives instead has not come: a commit must wait."""
        self._held: set[TopicPartition] = set()
        self._inside = False

    def wait_without(self, library: Any, seconds: float) -> None:
        """Serve the library until it has taken back what the group had assigned. As in Java, the listener
        hears of that inside `unsubscribe`; later on it would take back what was assigned by hand since."""
        deadline = time.monotonic() + seconds
        while self._held and not self._inside and time.monotonic() < deadline:
            library.poll(0.02)
        self.in_progress = False

    def subscribe_with(self, library: Any) -> Callable[[list[str]], None]:
        """The library's `subscribe`, which calls these."""
        return partial(
            library.subscribe, on_assign=self.on_assigned, on_revoke=self.on_revoked, on_lost=self.on_lost
        )

    def on_assigned(self, library: Any, partitions: list[Any]) -> None:
        self.count += 1
        if self._cooperative:
            library.incremental_assign(partitions)
        else:
            library.assign(partitions)
        self._held.update(partitions_of(partitions))
        self.in_progress = False
        self._listen(self.listener.on_partitions_assigned, partitions)

    def on_revoked(self, library: Any, partitions: list[Any]) -> None:
        self.count += 1
        self._commits.maybe_auto(now=True)
        self._listen(self.listener.on_partitions_revoked, partitions)
        self._unassign(library, partitions)

    def on_lost(self, library: Any, partitions: list[Any]) -> None:
        self.count += 1
        self._listen(self.listener.on_partitions_lost, partitions)
        self._unassign(library, partitions)

    def check_settled(self) -> None:
        """Java's client refuses a commit between a member's old generation and its new one."""
        if self.in_progress:
            raise RebalanceInProgressException(
                "Offset commit cannot be completed since the consumer is undergoing a rebalance for auto "
                "partition assignment. You can try completing the rebalance by calling poll() and then retry "
                "the operation.",
                "REBALANCE_IN_PROGRESS",
            )

    def raise_failure(self) -> None:
        failure, self._failure = self._failure, None
        if isinstance(failure, KafkaException):
            raise failure
        if failure is not None:
            raise KafkaException(f"User rebalance callback throws an error: {failure}") from failure

    def _listen(self, method: Callable[[list[TopicPartition]], None], partitions: list[Any]) -> None:
        self._inside = True
        try:
            method(partitions_of(partitions))
        except Exception as error:
            self._failure = error
        finally:
            self._inside = False

    def _unassign(self, library: Any, partitions: list[Any]) -> None:
        self._drop(partitions_of(partitions))
        self._held.difference_update(partitions_of(partitions))
        self.in_progress = not self._cooperative
        if self._cooperative:
            library.incremental_unassign(partitions)
        else:
            library.unassign()


class WithoutEnforcement:
    """librdkafka cannot ask for a rebalance."""

    __slots__ = ()

    def enforce_rebalance(self, reason: str = "") -> None:
        """Always refused: leave and join again with `unsubscribe` and `subscribe`, or end another member."""
        raise UnsupportedVersionException(
            "A rebalance cannot be enforced: librdkafka has no such request. Call unsubscribe() and then "
            "subscribe(), which leaves the group and joins it again.",
            "UNSUPPORTED_VERSION",
        )
