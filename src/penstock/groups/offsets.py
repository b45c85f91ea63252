"""Committed offsets of the groups of one shard, and those of transactions that are still open. Changed by
replay only."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from penstock.coordinator.shard_log import Marker
from penstock.groups.offset_records import CommittedOffset, OffsetKey
from penstock.records.batch import NO_PRODUCER_ID


class _Stored(NamedTuple):
    committed: CommittedOffset
    record_offset: int  # where the commit stands in the log: of two commits the later one counts


class Offsets:
    """Positions by group, topic and partition."""

    def __init__(self) -> None:
        self._groups: dict[str, dict[tuple[str, int], _Stored]] = {}
        self._open: dict[int, dict[OffsetKey, _Stored]] = {}  # by producer id

    def replay(
        self, key: OffsetKey, committed: CommittedOffset | None, producer_id: int, record_offset: int
    ) -> None:
        """None is a tombstone, which also takes back what open transactions have committed there."""
        if committed is None:
            self._remove(key)
            for pending in self._open.values():
                pending.pop(key, None)
        elif producer_id == NO_PRODUCER_ID:
            self._put(key, _Stored(committed, record_offset))
        else:
            self._open.setdefault(producer_id, {})[key] = _Stored(committed, record_offset)

    def replay_marker(self, marker: Marker) -> None:
        """A transaction has ended: its offsets count from now on, unless later ones were committed outside
        of it."""
        pending = self._open.pop(marker.producer_id, {})
        if not marker.committed:
            return
        for key, stored in pending.items():
            present = self._groups.get(key.group, {}).get((key.topic, key.partition))
            if present is None or present.record_offset < stored.record_offset:
                self._put(key, stored)

    def of(self, group: str) -> Mapping[tuple[str, int], CommittedOffset]:
        """Everything the group has committed."""
        return {place: stored.committed for place, stored in self._groups.get(group, {}).items()}

    def find(self, key: OffsetKey) -> CommittedOffset | None:
        stored = self._groups.get(key.group, {}).get((key.topic, key.partition))
        return None if stored is None else stored.committed

    def is_unstable(self, key: OffsetKey) -> bool:
        """Whether an open transaction has committed here (KIP-447)."""
        return any(key in pending for pending in self._open.values())

    def has_open_transaction(self, group: str) -> bool:
        return any(key.group == group for pending in self._open.values() for key in pending)

    def keys_of(self, group: str) -> list[OffsetKey]:
        """Every place where the group has committed, open transactions included."""
        keys = {OffsetKey(group, *place): None for place in self._groups.get(group, {})}
        for pending in self._open.values():
            keys.update({key: None for key in pending if key.group == group})
        return list(keys)

    def keys_in(self, topic: str) -> list[OffsetKey]:
        """Every place in a topic where any group has committed."""
        return [key for group in self.groups() for key in self.keys_of(group) if key.topic == topic]

    def groups(self) -> Iterator[str]:
        known = dict.fromkeys(self._groups)
        known.update({key.group: None for pending in self._open.values() for key in pending})
        return iter(known)

    def _put(self, key: OffsetKey, stored: _Stored) -> None:
        self._groups.setdefault(key.group, {})[key.topic, key.partition] = stored

    def _remove(self, key: OffsetKey) -> None:
        places = self._groups.get(key.group)
        if places is not None:
            places.pop((key.topic, key.partition), None)
            if not places:
                del self._groups[key.group]
