"""What a person asks about a flow, from what both clusters hold: how far it is, where groups go on, and what
a failover would mean. No running mirror is needed, and a source that is gone is no obstacle."""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Final, NamedTuple

from penstock.client.api.exceptions import KafkaException
from penstock.mirror.checkpoints import GroupOffsets
from penstock.mirror.layouts import Checkpoint, Heartbeat, OffsetSync, SourceOffset
from penstock.mirror.settings import FlowSettings
from penstock.mirror.sides import Side, Tail
from penstock.mirror.translation import OffsetSyncs
from penstock.protocol.topic_partition import TopicPartition
from penstock.wire.errors import WireError

THREADS: Final = 4


class PartitionStatus(NamedTuple):
    topic: str
    partition: int
    copied: int | None
    """The next offset of the source to be copied; None when nothing was yet."""
    end: int | None
    """Where the source ends; None when it cannot be asked."""
    lag_seconds: float | None
    """How old the oldest record is that is not copied yet; 0 when all are, None when it cannot be asked."""

    @property
    def lag(self) -> int | None:
        return None if self.end is None else max(0, self.end - (self.copied or 0))

    def shown(self) -> dict[str, object]:
        """As the command line and the console show it."""
        return {**self._asdict(), "lag": self.lag}


class FlowStatus(NamedTuple):
    flow: str
    source_answers: bool
    heartbeat_age_seconds: float | None
    """How old the newest heartbeat of the source is that has arrived on the target; None when none has."""
    partitions: tuple[PartitionStatus, ...]

    @property
    def lag(self) -> int | None:
        """Records of all partitions that are not copied yet; None while the source does not answer."""
        return sum(each.lag or 0 for each in self.partitions) if self.source_answers else None

    @property
    def lag_seconds(self) -> float | None:
        if not self.source_answers:
            return None
        return max((each.lag_seconds or 0.0 for each in self.partitions), default=0.0)

    def shown(self) -> dict[str, object]:
        """As the command line and the console show it."""
        rows = [each.shown() for each in self.partitions]
        return {**self._asdict(), "lag": self.lag, "lag_seconds": self.lag_seconds, "partitions": rows}


class Resumption(NamedTuple):
    """A partition of a group on the target after a failover."""

    topic: str
    partition: int
    offset: int
    """Where the group would go on."""
    to_read: int
    """What it finds from there to the end."""
    reprocessed_at_most: int
    """Records that the group has processed on the source and would see again."""
    not_copied: int | None
    """Records of the source that are not on the target: lost if the source does not come back. None when the
    source cannot be asked."""


class FailoverPlan(NamedTuple):
    group: str
    state: str
    """Of the group on the target."""
    source_answers: bool
    resumptions: tuple[Resumption, ...]
    untranslated: tuple[TopicPartition, ...]
    """Partitions that the group has read on the source and that have no offset on the target yet."""

    @property
    def may_commit(self) -> bool:
        return self.state in ("Empty", "Dead")


@contextmanager
def sides(flow: FlowSettings) -> Iterator[tuple[Side, Side]]:
    source = Side(flow.source, flow.source_client, flow.admin_texts("source"))
    target = Side(flow.target, flow.target_client, flow.admin_texts("target"))
    try:
        yield source, target
    finally:
        source.close()
        target.close()


def progress(flow: FlowSettings, target: Side) -> dict[TopicPartition, SourceOffset]:
    found = {}
    for key, value in Tail(target, flow.offsets_topic).poll():
        offset = SourceOffset.read(key, value)
        if offset is not None and offset.cluster == flow.source and offset.last >= 0:
            found[offset.place] = offset
    return found


def checkpoints(flow: FlowSettings, target: Side) -> dict[str, dict[TopicPartition, Checkpoint]]:
    """The last checkpoint of each group and partition: what `RemoteClusterUtils` answers."""
    found: dict[str, dict[TopicPartition, Checkpoint]] = {}
    for key, value in Tail(target, flow.checkpoints_topic).poll():
        checkpoint = Checkpoint.read(key, value)
        if checkpoint is not None:
            found.setdefault(checkpoint.group, {})[checkpoint.place] = checkpoint
    return found


def status(flow: FlowSettings, source: Side, target: Side) -> FlowStatus:
    copied = progress(flow, target)
    ends = _ends(flow, source, copied)
    places = sorted(copied.keys() | (ends or {}).keys())
    with ThreadPoolExecutor(THREADS) as threads:
        found = tuple(threads.map(lambda place: _status(flow, source, place, copied, ends), places))
    return FlowStatus(str(flow), ends is not None, _heartbeat_age(flow, target), found)


def _status(
    flow: FlowSettings,
    source: Side,
    place: TopicPartition,
    copied: dict[TopicPartition, SourceOffset],
    ends: dict[TopicPartition, int] | None,
) -> PartitionStatus:
    at = copied[place].last + 1 if place in copied else None
    end = None if ends is None else ends.get(place)
    return PartitionStatus(*place, at, end, None if end is None else _age(flow, source, place, at or 0, end))


def _age(flow: FlowSettings, source: Side, place: TopicPartition, at: int, end: int) -> float | None:
    """Seconds since the time of the first record from `at` on. Markers and aborted records have no age."""
    if at >= end:
        return 0.0
    try:
        first = max(at, source.starts([place])[place])
        oldest_ms = source.time_of(place, first, end, read_committed=flow.read_committed)
    except WireError:
        return None
    return 0.0 if oldest_ms is None else max(0.0, time.time() - oldest_ms / 1000)


def _ends(
    flow: FlowSettings, source: Side, copied: dict[TopicPartition, SourceOffset]
) -> dict[TopicPartition, int] | None:
    try:
        partitions = source.partitions()
        taken = {name: n for name, n in partitions.items() if flow.selection.takes_topic(name)}
        places = {TopicPartition(name, n) for name, count in taken.items() for n in range(count)}
        there = {place for place in copied if place.partition < partitions.get(place.topic, 0)}
        return source.ends(places | there, read_committed=flow.read_committed)
    except WireError:
        return None


def _heartbeat_age(flow: FlowSettings, target: Side) -> float | None:
    policy = flow.selection.policy
    newest = None
    for key, value in Tail(target, policy.remote_topic(flow.source, "heartbeats")).poll():
        heartbeat = Heartbeat.read(key, value)
        if heartbeat is not None:
            newest = max(newest or 0, heartbeat.timestamp_ms)
    return None if newest is None else max(0.0, time.time() - newest / 1000)


def plan_failover(flow: FlowSettings, source: Side, target: Side, group: str) -> FailoverPlan:
    """What moving a group from the source of the flow to its target would mean."""
    known = checkpoints(flow, target).get(group, {})
    copied = progress(flow, target)
    ends = _ends(flow, source, copied)
    committed: GroupOffsets = {}
    syncs = OffsetSyncs()
    if ends is not None:
        try:
            committed = source.group_offsets(group)
        except (KafkaException, WireError):
            committed = {}
    on = target if flow.offset_syncs_on_target else source
    if ends is not None or on is target:
        for key, value in Tail(on, flow.offset_syncs_topic).poll():
            sync = OffsetSync.read(key, value)
            if sync is not None:
                syncs.take(sync)
    syncs.started()
    for place, offset in copied.items():
        newest = syncs.newest(place)
        if offset.sync is not None and (newest is None or newest.upstream <= offset.sync[0]):
            syncs.take(OffsetSync(place, *offset.sync))
    return _plan(flow, target, group, known, copied, ends, committed, syncs)


def _plan(
    flow: FlowSettings,
    target: Side,
    group: str,
    known: dict[TopicPartition, Checkpoint],
    copied: dict[TopicPartition, SourceOffset],
    ends: dict[TopicPartition, int] | None,
    committed: GroupOffsets,
    syncs: OffsetSyncs,
) -> FailoverPlan:
    selection = flow.selection
    upstream = {
        place: offset for place, (offset, _) in committed.items() if selection.filters_topic(place.topic)
    }
    names = {selection.checkpoint_topic(place.topic): place.topic for place in [*copied, *upstream]}
    for there, checkpoint in known.items():
        if there.topic in names:
            upstream.setdefault(TopicPartition(names[there.topic], there.partition), checkpoint.upstream)
    there_ends = target.ends(
        {TopicPartition(selection.checkpoint_topic(place.topic), place.partition) for place in upstream}
        & _existing(target)
    )
    found, untranslated = [], []
    for place, offset in sorted(upstream.items()):
        there = TopicPartition(selection.checkpoint_topic(place.topic), place.partition)
        translated = syncs.translate(place, offset)
        last = known.get(there)
        candidates = [each for each in (translated, last.downstream if last else None) if each is not None]
        if not candidates or max(candidates) < 0 or there not in there_ends:
            untranslated.append(place)
            continue
        resume = max(candidates)
        to_read = max(0, there_ends[there] - resume)
        newest = syncs.newest(place)
        exact = newest is not None and newest.upstream + 1 >= offset and resume > newest.downstream
        again = 0 if exact else min(to_read, _behind(syncs, place, offset, to_read))
        left = None
        if ends is not None and place in ends:
            left = max(0, ends[place] - (copied[place].last + 1 if place in copied else 0))
        found.append(Resumption(*there, resume, to_read, again, left))
    state = target.group_state(group)
    return FailoverPlan(group, state, ends is not None, tuple(found), tuple(untranslated))


def _behind(syncs: OffsetSyncs, place: TopicPartition, upstream: int, unknown: int) -> int:
    """How many offsets of the source stand between the sync that was used and the group."""
    used = syncs.used(place, upstream)
    return unknown if used is None else max(0, upstream - used.upstream - 1)


def _existing(target: Side) -> set[TopicPartition]:
    return {TopicPartition(name, n) for name, count in target.partitions().items() for n in range(count)}


def fail_over(target: Side, plan: FailoverPlan) -> None:
    """Commit the offsets of the plan for the group, which must have no members on the target."""
    wanted = {
        TopicPartition(each.topic, each.partition): (each.offset, "failover") for each in plan.resumptions
    }
    if wanted:
        target.commit_group(plan.group, wanted)
