"""Where groups go on: which checkpoints are written, and which offsets are committed on the target. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from penstock.mirror.filters import Selection
from penstock.mirror.layouts import Checkpoint
from penstock.mirror.translation import OffsetSyncs
from penstock.protocol.topic_partition import TopicPartition

GroupOffsets = Mapping[TopicPartition, tuple[int, str]]
"""Offset and metadata that a group has committed."""


class Checkpoints:
    """The last checkpoint of each group and partition."""

    def __init__(self) -> None:
        self._last: dict[str, dict[TopicPartition, Checkpoint]] = {}

    def take(self, checkpoints: Iterable[Checkpoint]) -> None:
        """Those that were written before, and those that `decide` has given and that are written now."""
        for each in checkpoints:
            self._last.setdefault(each.group, {})[each.place] = each

    def of(self, group: str) -> Mapping[TopicPartition, Checkpoint]:
        return self._last.get(group, {})

    def groups(self) -> list[str]:
        return sorted(self._last)

    def decide(
        self, group: str, committed: GroupOffsets, syncs: OffsetSyncs, selection: Selection
    ) -> list[Checkpoint]:
        """The checkpoints that are new for a group, from what it has committed on the source."""
        found = []
        for place, (offset, metadata) in committed.items():
            if not selection.filters_topic(place.topic):
                continue
            downstream = syncs.translate(place, offset)
            if downstream is None or downstream < 0:
                continue
            there = TopicPartition(selection.checkpoint_topic(place.topic), place.partition)
            checkpoint = Checkpoint(group, there, offset, downstream, metadata)
            if self._is_news(checkpoint):
                found.append(checkpoint)
        return found

    def _is_news(self, checkpoint: Checkpoint) -> bool:
        """A group never moves back on the target, unless it was moved back on the source."""
        last = self.of(checkpoint.group).get(checkpoint.place)
        return last is None or checkpoint.upstream < last.upstream or checkpoint.downstream > last.downstream

    def to_commit(self, group: str, on_target: GroupOffsets | None) -> dict[TopicPartition, tuple[int, str]]:
        """What to commit on the target for a group that has no members there. `on_target` is what it has
        committed there; None when the target does not know it. Nothing moves back."""
        found = {}
        for place, checkpoint in self.of(group).items():
            known = None if on_target is None else on_target.get(place)
            if known is None or known[0] < checkpoint.downstream:
                found[place] = (checkpoint.downstream, checkpoint.metadata)
        return found
