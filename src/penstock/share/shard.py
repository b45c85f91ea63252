"""Everything that one partition of `__share_group_state` holds: the states of share partitions.

Decides records and replays them; `share.coordinator` asks it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from penstock.coordinator.decision import NOTHING, Context, Decision
from penstock.coordinator.shard_log import Entry, Marker
from penstock.protocol.errors import ErrorCode, KafkaError
from penstock.share import records
from penstock.share.combining import combined
from penstock.share.state import NEXT_STATE_EPOCH, PartitionState, SharePartitionKey


class _Kept(NamedTuple):
    state: PartitionState
    snapshot_epoch: int


class ShareShard:
    """State of one shard."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._kept: dict[SharePartitionKey, _Kept] = {}

    # Replay

    def replay(self, entry: Entry) -> None:
        if entry.record.key is None:
            return
        kind, key = records.decode_key(entry.record.key)
        value = entry.record.value
        if kind == records.SNAPSHOT:
            if value is None:
                self._kept.pop(key, None)
            else:
                snapshot = records.decode_snapshot(value)
                self._kept[key] = _Kept(snapshot.state, snapshot.snapshot_epoch)
        elif kind == records.UPDATE and value is not None and key in self._kept:
            kept, update = self._kept[key], records.decode_update(value)
            state = combined(kept.state, update.start_offset, update.batches)
            leader_epoch = max(kept.state.leader_epoch, update.leader_epoch)
            self._kept[key] = kept._replace(state=state._replace(leader_epoch=leader_epoch))

    def replay_marker(self, marker: Marker) -> None:
        """No transaction writes here."""

    def on_loaded(self) -> None:
        """Nothing here has a deadline."""

    def on_unloaded(self, error: KafkaError) -> None:
        """Nothing here waits."""

    # Decisions

    def initialise(
        self, key: SharePartitionKey, state_epoch: int, start_offset: int
    ) -> tuple[Decision, None]:
        """Set the group's place anew. What was known of single records is forgotten."""
        kept = self._kept.get(key)
        if state_epoch == NEXT_STATE_EPOCH:
            state_epoch = 0 if kept is None else kept.state.state_epoch + 1
        if kept is not None and state_epoch < kept.state.state_epoch:
            raise KafkaError(
                ErrorCode.FENCED_STATE_EPOCH,
                f"The state epoch is {kept.state.state_epoch}, not {state_epoch}.",
            )
        leader_epoch = PartitionState().leader_epoch if kept is None else kept.state.leader_epoch
        return self._put(key, PartitionState(state_epoch, leader_epoch, start_offset)), None

    def read(self, key: SharePartitionKey, leader_epoch: int) -> tuple[Decision, PartitionState]:
        """The state, for a leader that begins to serve the partition. Earlier leaders can write no more."""
        kept = self._kept.get(key)
        present = PartitionState() if kept is None else kept.state
        self._check_leader(present, leader_epoch)
        if kept is not None and present.leader_epoch == leader_epoch:
            return NOTHING, present
        state = present._replace(leader_epoch=leader_epoch)
        return self._put(key, state), state

    def write(self, key: SharePartitionKey, state: PartitionState) -> tuple[Decision, None]:
        kept = self._kept.get(key)
        if kept is None:
            raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "The state of the partition was deleted.")
        if state.state_epoch < kept.state.state_epoch:
            raise KafkaError(
                ErrorCode.FENCED_STATE_EPOCH,
                f"The state epoch is {kept.state.state_epoch}, not {state.state_epoch}.",
            )
        self._check_leader(kept.state, state.leader_epoch)
        return self._put(key, state), None

    def delete(self, key: SharePartitionKey) -> tuple[Decision, None]:
        if key not in self._kept:
            return NOTHING, None
        return Decision((records.tombstone(key, self._context.now_ms()),)), None

    def summary(self, key: SharePartitionKey) -> PartitionState:
        """The state, for tools."""
        kept = self._kept.get(key)
        return PartitionState() if kept is None else kept.state

    def delete_topics(self, topic_ids: Iterable[bytes]) -> Decision:
        gone = frozenset(topic_ids)
        now_ms = self._context.now_ms()
        return Decision(tuple(records.tombstone(key, now_ms) for key in self._kept if key.topic_id in gone))

    def _check_leader(self, present: PartitionState, leader_epoch: int) -> None:
        if leader_epoch < present.leader_epoch:
            raise KafkaError(
                ErrorCode.FENCED_LEADER_EPOCH,
                f"The leader of epoch {present.leader_epoch} serves the partition, not {leader_epoch}.",
            )

    def _put(self, key: SharePartitionKey, state: PartitionState) -> Decision:
        kept = self._kept.get(key)
        epoch = 0 if kept is None else kept.snapshot_epoch + 1
        return Decision((records.encode_snapshot(key, state, epoch, self._context.now_ms()),))
