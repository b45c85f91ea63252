"""How far a flow is: source offsets on the target, written in the transaction that writes the copies. The
topic and its records are those of MirrorMaker 2's worker, so each can go on where the other stopped."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Sequence
from typing import Final

from penstock.mirror.counting import FlowCounts
from penstock.mirror.layouts import OffsetSync, SourceOffset
from penstock.mirror.settings import FlowSettings
from penstock.mirror.sides import KeyValue, Side, Tail
from penstock.mirror.sync_points import PendingSyncs
from penstock.protocol.topic_partition import TopicPartition
from penstock.records.record import Record
from penstock.wire.deadline import Deadline
from penstock.wire.pack import Packed, pack_records
from penstock.wire.partitioner import partition_for_key
from penstock.wire.relaying import Relayed

log = logging.getLogger(__name__)

PARTITIONS: Final = 25
REPLICAS: Final = 3
LAG_MAX: Final = 100


class Progress:
    """The ledger of a flow (`penstock.spark.mirroring.writing.Ledger`)."""

    def __init__(self, flow: FlowSettings, source: Side, target: Side, counts: FlowCounts) -> None:
        self._flow = flow
        self._source = source
        self._target = target
        self._counts = counts
        self._partitions = PARTITIONS
        self._lock = threading.Lock()
        self._pending = PendingSyncs(flow.whole("offset.lag.max", LAG_MAX, least=0))
        self._last_sync: dict[TopicPartition, tuple[int, int]] = {}

    def prepare(self) -> None:
        """Create the internal topics that are missing."""
        flow = self._flow
        replicas = flow.whole("offset.storage.replication.factor", REPLICAS)
        self._target.ensure_compacted(flow.offsets_topic, PARTITIONS, replicas)
        found = self._target.cluster.topics([flow.offsets_topic], Deadline(30))[flow.offsets_topic]
        self._partitions = len(found.partitions)
        if flow.emits_offset_syncs:
            side = self._target if flow.offset_syncs_on_target else self._source
            replicas = flow.whole("offset-syncs.topic.replication.factor", REPLICAS)
            side.ensure_compacted(flow.offset_syncs_topic, 1, replicas)

    def load(self) -> dict[TopicPartition, int]:
        """The next offset of each partition of the source. Read it after fencing: what an earlier run has
        begun is then committed or gone."""
        found: dict[TopicPartition, SourceOffset] = {}
        for key, value in Tail(self._target, self._flow.offsets_topic).poll():
            offset = SourceOffset.read(key, value)
            if offset is not None and offset.cluster == self._flow.source:
                found[offset.place] = offset
        begin = {place: each.last + 1 for place, each in found.items() if each.last >= 0}
        # A run that died after its commit may not have told the last syncs.
        again = [OffsetSync(place, *each.sync) for place, each in found.items() if each.sync is not None]
        self._counts.positions(begin)
        with self._lock:
            self._last_sync |= {sync.place: (sync.upstream, sync.downstream) for sync in again}
            self._pending.give_back(again)
        return begin

    def entries(self, done: Sequence[Relayed]) -> list[tuple[TopicPartition, Packed]]:
        by_partition: dict[int, list[Record]] = {}
        now_ms = time.time_ns() // 1_000_000
        for each in done:
            if each.pieces:
                last = each.pieces[-1]
                self._last_sync[each.source] = (last.last_upstream, last.downstream + last.records - 1)
            sync = self._last_sync.get(each.source)
            offset = SourceOffset(self._flow.source, each.source, each.next_offset - 1, sync)
            number = partition_for_key(offset.key(), self._partitions)
            by_partition.setdefault(number, []).append(Record(offset.key(), offset.value(), (), now_ms))
        topic = self._flow.offsets_topic
        return [(TopicPartition(topic, n), pack_records(records)) for n, records in by_partition.items()]

    def committed(self, done: Sequence[Relayed]) -> None:
        self._counts.copied(done)
        with self._lock:
            for each in done:
                self._pending.add(each.source, each.pieces)
            due = self._pending.is_due
        if due:
            try:
                self.tell_syncs()
            except Exception as error:  # no reason to stop copying: they are told later
                log.warning("%s: offset syncs are not written yet: %s", self._flow, error)

    def tell_syncs(self) -> None:
        """Write the syncs that wait; those that cannot be written wait on."""
        if not self._flow.emits_offset_syncs:
            return
        with self._lock:
            taken = self._pending.take()
        records: list[KeyValue] = [(sync.key(), sync.value()) for sync in taken]
        try:
            side = self._target if self._flow.offset_syncs_on_target else self._source
            side.send(self._flow.offset_syncs_topic, records)
        except Exception:
            self._counts.failed("offset syncs")
            with self._lock:
                self._pending.give_back(reversed(taken))
            raise
