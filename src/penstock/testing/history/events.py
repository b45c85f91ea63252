"""What a history is made of: operations of clients as they began and ended, and what was read when all was
over.

An operation is an `INVOKE` and, once it is known, one of three ends: `OK`, it happened; `FAIL`, it certainly
did not; `INFO`, nobody knows (a timeout, a client that died). An operation without an end is unknown too. The
order of the events is the order of time: an invocation is logged before the request leaves, an end after the
answer came. Written by `recorder`, judged by `check`; nothing here does anything.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, NamedTuple

NO_TRANSACTION: Final = 0
"""Transactions of a client are counted from 1."""


class Kind(StrEnum):
    INVOKE = "invoke"
    OK = "ok"
    FAIL = "fail"
    INFO = "info"


class Isolation(StrEnum):
    READ_UNCOMMITTED = "read_uncommitted"
    READ_COMMITTED = "read_committed"


class Partition(NamedTuple):
    topic: str
    number: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.number}"


class Value(NamedTuple):
    """A record's content, unique in the whole history. `client` is one life of one client: a client that is
    started again needs another name, because what its first life left under way may still arrive."""

    client: str
    txn: int
    seq: int

    def __str__(self) -> str:
        return f"{self.client}/{self.txn}/{self.seq}"

    def encode(self) -> bytes:
        return str(self).encode()

    @classmethod
    def parse(cls, data: bytes | None) -> Seen:
        """The value that `encode` wrote; any other bytes stay bytes, for the checker to wonder about."""
        try:
            client, txn, seq = (data or b"").decode().split("/")
            value = cls(client, int(txn), int(seq))
        except ValueError:
            return data or b""
        return value if value.encode() == data else data or b""


Seen = Value | bytes


class ReadRecord(NamedTuple):
    """A record as somebody read it. A tombstone has no value of its own: who writes one puts it into a
    header."""

    partition: Partition
    offset: int
    value: Seen
    key: bytes | None = None


class Watermarks(NamedTuple):
    """What an answer said about a partition; both exclude."""

    partition: Partition
    high_watermark: int
    last_stable_offset: int | None = None


class Source(NamedTuple):
    """The input record that an output record reflects, and the group whose offsets say that it was taken."""

    group: str
    partition: Partition
    offset: int


# What is asked for


class Send(NamedTuple):
    partition: Partition
    value: Value
    key: bytes | None = None
    idempotent: bool = True
    tombstone: bool = False
    source: Source | None = None
    amount: int = 0
    """What the record adds to the total of all accounts."""


class Poll(NamedTuple):
    """A poll, or a look at the watermarks alone."""

    isolation: Isolation = Isolation.READ_UNCOMMITTED
    transaction: int = NO_TRANSACTION
    """The transaction of this client in which the records are used."""


class CommitOffsets(NamedTuple):
    group: str
    offsets: tuple[tuple[Partition, int], ...]
    transaction: int = NO_TRANSACTION


class FetchOffsets(NamedTuple):
    group: str


class Begin(NamedTuple):
    transaction: int


class Commit(NamedTuple):
    transaction: int


class Abort(NamedTuple):
    transaction: int


# What is answered


class Acked(NamedTuple):
    """None when the acknowledgement did not say where."""

    offset: int | None


class Polled(NamedTuple):
    records: tuple[ReadRecord, ...] = ()
    watermarks: tuple[Watermarks, ...] = ()


class Offsets(NamedTuple):
    offsets: tuple[tuple[Partition, int], ...]


class Done(NamedTuple):
    pass


# Facts: they are told, not asked for, and stand alone as `OK`


class Assign(NamedTuple):
    """From here on the client reads the partition, from `start` if that is known. A seek is one too."""

    partition: Partition
    start: int | None = None
    group: str | None = None
    generation: int | None = None
    subscribed: bool = False


class Revoke(NamedTuple):
    partition: Partition


class Reset(NamedTuple):
    """Somebody set the committed offset of a group on purpose, forwards or backwards."""

    group: str
    partition: Partition
    offset: int


Request = Send | Poll | CommitOffsets | FetchOffsets | Begin | Commit | Abort
Result = Acked | Polled | Offsets | Done
Fact = Assign | Revoke | Reset


class Event(NamedTuple):
    kind: Kind
    operation: int
    """Joins an invocation and its end; unique in the history."""
    client: str
    body: Request | Result | Fact | None
    """The request when invoked, the result when OK, a fact on its own, None otherwise."""
    time: float
    """Seconds since some beginning, for people; the checker goes by the order of events."""
    note: str = ""


# What was read when all was over


class FinalRead(NamedTuple):
    """Every record of a partition from its beginning, after faults have healed and clients have finished."""

    partition: Partition
    records: tuple[ReadRecord, ...]
    high_watermark: int
    isolation: Isolation = Isolation.READ_UNCOMMITTED
    log_start_offset: int = 0


class ReplicaLog(NamedTuple):
    """The records in one broker's file, below its high watermark."""

    partition: Partition
    broker: int
    records: tuple[ReadRecord, ...]
    high_watermark: int


class CommittedOffset(NamedTuple):
    group: str
    partition: Partition
    offset: int


@dataclass(frozen=True, slots=True)
class History:
    """Everything the checker needs to know. There is a final read of every partition that was sent to, and
    one under read_committed where transactions wrote."""

    events: Sequence[Event]
    finals: tuple[FinalRead, ...] = ()
    replicas: tuple[ReplicaLog, ...] = ()
    committed: tuple[CommittedOffset, ...] = ()
    compacted: frozenset[str] = frozenset()
    """Topics with cleanup.policy=compact."""
    total: int | None = None
    """What all amounts must add up to, where money is moved."""
