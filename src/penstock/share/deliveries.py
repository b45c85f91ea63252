"""What happened to each record of one partition in one share group. Pure: no lock, no clock, no log.

Records between `start_offset` and `end_offset` are in flight: available again, acquired by a member, or done
while an earlier one is not. There are at most `most` of them, so they are kept one by one, in order of their
offsets.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from enum import IntEnum
from typing import NamedTuple

from penstock.protocol.errors import ErrorCode, KafkaError
from penstock.share.combining import joined
from penstock.share.state import PartitionState, RecordState, StateBatch


class AcknowledgeType(IntEnum):
    """What a member says of a record; Kafka's numbers."""

    GAP = 0
    ACCEPT = 1
    RELEASE = 2
    REJECT = 3
    RENEW = 4


class Acknowledgement(NamedTuple):
    """Of the records from `first_offset` to `last_offset`: one type for all, or one for each."""

    first_offset: int
    last_offset: int
    types: Sequence[int]


class Acquired(NamedTuple):
    """Records that a member has from now on; each was delivered `delivery_count` times, this one included."""

    first_offset: int
    last_offset: int
    delivery_count: int


class Range(NamedTuple):
    """Offsets of one batch of the log, both included. Nobody gets those of a `hidden` one."""

    first_offset: int
    last_offset: int
    hidden: bool = False


class Delivery:
    """One record in flight. `becoming` is what it will be once that is durable."""

    __slots__ = ("becoming", "count", "lock_until", "member_id", "state")

    def __init__(self, state: RecordState = RecordState.AVAILABLE, count: int = 0) -> None:
        self.state = state
        self.count = count
        self.member_id = ""
        self.lock_until = 0.0
        self.becoming: RecordState | None = None

    @property
    def is_free(self) -> bool:
        return self.state is RecordState.AVAILABLE

    def is_held_by(self, member_id: str) -> bool:
        return self.state is RecordState.ACQUIRED and self.becoming is None and self.member_id == member_id


class Deliveries:
    """The records in flight. Times are seconds of the monotonic clock."""

    def __init__(self, state: PartitionState, most: int, most_attempts: int) -> None:
        self._most = most
        self._most_attempts = most_attempts
        self.start_offset = self.end_offset = state.start_offset
        self._records: dict[int, Delivery] = {}  # by offset, rising
        self._free = 0  # how many are available
        self.is_dirty = False
        """Whether anything changed that the next write should hold."""
        for batch in state.batches:
            self._load(batch)
        self._advance()

    def _load(self, batch: StateBatch) -> None:
        self._extend(batch.first_offset)
        for offset in range(max(batch.first_offset, self.start_offset), batch.last_offset + 1):
            self._records[offset] = Delivery(batch.state, batch.delivery_count)
            self._free += batch.state is RecordState.AVAILABLE
        self.end_offset = max(self.end_offset, batch.last_offset + 1)

    def _extend(self, end_offset: int) -> None:
        """Records up to here are known to exist, and available."""
        for offset in range(self.end_offset, end_offset):
            self._records[offset] = Delivery()
            self._free += 1
        self.end_offset = max(self.end_offset, end_offset)

    def __len__(self) -> int:
        return len(self._records)

    # Handing out

    def next_offset(self) -> int | None:
        """From where to read the log for the next member; None while too much is in flight."""
        if self._free:
            return next(offset for offset, delivery in self._records.items() if delivery.is_free)
        return self.end_offset if len(self._records) < self._most else None

    def acquire(
        self, member_id: str, ranges: Iterable[Range], wanted: int, lock_until: float, *, strict: bool = False
    ) -> list[Acquired]:
        """Give the member what is available in these batches: whole batches until it has as many records as
        it wanted, or, if `strict`, no record more."""
        found: list[tuple[int, tuple[RecordState, int]]] = []
        for batch in ranges:
            if len(found) >= wanted:
                break
            for offset in range(max(batch.first_offset, self.start_offset), batch.last_offset + 1):
                if strict and len(found) >= wanted:
                    break
                delivery = self._known(offset)
                if delivery is None:
                    break
                if not delivery.is_free:
                    continue
                self._free -= 1
                if batch.hidden:
                    delivery.state, self.is_dirty = RecordState.ARCHIVED, True
                    continue
                delivery.state, delivery.member_id = RecordState.ACQUIRED, member_id
                delivery.count, delivery.lock_until = delivery.count + 1, lock_until
                found.append((offset, (RecordState.ACQUIRED, delivery.count)))
        self._advance()
        return [
            Acquired(batch.first_offset, batch.last_offset, batch.delivery_count) for batch in joined(found)
        ]

    def _known(self, offset: int) -> Delivery | None:
        """The record at this offset; None for a new one where there is no room for more."""
        if offset >= self.end_offset:
            if len(self._records) + offset - self.end_offset >= self._most:
                return None
            self._extend(offset + 1)
        return self._records[offset]

    # Taking back

    def acknowledge(
        self, member_id: str, acknowledgements: Sequence[Acknowledgement], lock_until: float
    ) -> list[int]:
        """Note what the member says of its records; all of it or, with a KafkaError, nothing. Returns the
        offsets that `settle` is to be called with, once it is durable. Renewed locks need no write."""
        named = [each for one in acknowledgements for each in self._named(member_id, one)]
        changed = []
        for offset, kind in named:
            delivery = self._records[offset]
            if kind is AcknowledgeType.RENEW:
                delivery.lock_until = lock_until
                continue
            delivery.becoming = self._becoming(delivery, kind)
            changed.append(offset)
        self.is_dirty = self.is_dirty or bool(changed)
        return changed

    def _named(self, member_id: str, wanted: Acknowledgement) -> Iterator[tuple[int, AcknowledgeType]]:
        count = wanted.last_offset - wanted.first_offset + 1
        if wanted.first_offset < 0 or count < 1 or len(wanted.types) not in (1, count):
            raise KafkaError(
                ErrorCode.INVALID_REQUEST, "The acknowledged offsets and their types do not fit."
            )
        if wanted.last_offset >= self.end_offset:
            raise KafkaError(
                ErrorCode.INVALID_REQUEST, "The last offset in request is past acquired records."
            )
        for offset in range(max(wanted.first_offset, self.start_offset), wanted.last_offset + 1):
            number = wanted.types[0 if len(wanted.types) == 1 else offset - wanted.first_offset]
            try:
                kind = AcknowledgeType(number)
            except ValueError:
                raise KafkaError(
                    ErrorCode.INVALID_REQUEST, f"Acknowledge type {number} is unknown."
                ) from None
            delivery = self._records[offset]
            if delivery.is_held_by(member_id):
                yield offset, kind
            elif kind is not AcknowledgeType.GAP or not delivery.state.is_final:
                raise KafkaError(
                    ErrorCode.INVALID_RECORD_STATE,
                    f"The record at offset {offset} is not acquired by member {member_id}.",
                )

    def _becoming(self, delivery: Delivery, kind: AcknowledgeType) -> RecordState:
        if kind is AcknowledgeType.ACCEPT:
            return RecordState.ACKNOWLEDGED
        return self._released(delivery) if kind is AcknowledgeType.RELEASE else RecordState.ARCHIVED

    def _released(self, delivery: Delivery) -> RecordState:
        """Available again, unless it was delivered often enough."""
        given_up = delivery.count >= self._most_attempts
        return RecordState.ARCHIVED if given_up else RecordState.AVAILABLE

    def release_member(self, member_id: str) -> list[int]:
        """The member is gone: what it has goes back. The offsets are for `settle`."""
        offsets = [offset for offset, delivery in self._records.items() if delivery.is_held_by(member_id)]
        for offset in offsets:
            self._records[offset].becoming = self._released(self._records[offset])
        self.is_dirty = self.is_dirty or bool(offsets)
        return offsets

    def settle(self, offsets: Iterable[int], *, durable: bool) -> bool:
        """What was decided about these records is durable, or could not be made so: then they are delivered
        again. Whether any record became available."""
        before = self._free
        for offset in offsets:
            delivery = self._records.get(offset)
            if delivery is None or delivery.becoming is None:
                continue
            decided = delivery.becoming if durable else self._released(delivery)
            delivery.becoming = None
            self._set(delivery, decided)
        self._advance()
        return self._free > before

    def expire(self, now: float) -> bool:
        """Locks that have run out; whether any record became available."""
        before = self._free
        for delivery in self._records.values():
            if (
                delivery.state is RecordState.ACQUIRED
                and delivery.becoming is None
                and delivery.lock_until <= now
            ):
                self._set(delivery, self._released(delivery))
                self.is_dirty = True
        self._advance()
        return self._free > before

    def move_start(self, log_start_offset: int) -> None:
        """Records before it are gone from the log."""
        if log_start_offset <= self.start_offset:
            return
        for offset in [offset for offset in self._records if offset < log_start_offset]:
            self._free -= self._records.pop(offset).is_free
        self.start_offset = log_start_offset
        self.end_offset = max(self.end_offset, log_start_offset)
        self.is_dirty = True

    def _set(self, delivery: Delivery, state: RecordState) -> None:
        delivery.state, delivery.member_id = state, ""
        self._free += state is RecordState.AVAILABLE

    def _advance(self) -> None:
        """The start passes records that are done."""
        done = []
        for offset, delivery in self._records.items():
            if not delivery.state.is_final or delivery.becoming is not None:
                break
            done.append(offset)
        for offset in done:
            del self._records[offset]
            self.start_offset = offset + 1

    # Keeping

    def state(self, state_epoch: int, leader_epoch: int) -> PartitionState:
        """What is to be durable: with everything that is decided. An acquired record is available to whoever
        reads this; that it was delivered counts."""
        known = [(offset, _kept(delivery)) for offset, delivery in self._records.items()]
        start, at = self.start_offset, 0
        while at < len(known) and known[at][1][0].is_final:
            start, at = known[at][0] + 1, at + 1
        return PartitionState(state_epoch, leader_epoch, start, joined(known[at:]))


def _kept(delivery: Delivery) -> tuple[RecordState, int]:
    state = delivery.state if delivery.becoming is None else delivery.becoming
    return RecordState.AVAILABLE if state is RecordState.ACQUIRED else state, delivery.count
