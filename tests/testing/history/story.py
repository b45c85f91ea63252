"""Histories written by hand, a line to an event."""

from __future__ import annotations

from typing import Any

from penstock.testing.history import History, Recorder, Rule, check
from penstock.testing.history.events import (
    Abort,
    Acked,
    Begin,
    Commit,
    CommitOffsets,
    CommittedOffset,
    Done,
    FinalRead,
    Isolation,
    Partition,
    Poll,
    Polled,
    ReadRecord,
    ReplicaLog,
    Seen,
    Send,
    Value,
    Watermarks,
)

P0 = Partition("t", 0)
P1 = Partition("t", 1)
COMMITTED = Isolation.READ_COMMITTED
UNCOMMITTED = Isolation.READ_UNCOMMITTED


def value(text: str) -> Seen:
    """`"a1"` is the first record of client a outside of transactions, `"a1.2"` the second of its transaction
    1; anything else is bytes that no client of ours writes."""
    client, rest = text[:1], text[1:]
    txn, _, seq = rest.rpartition(".")
    if not seq.isdigit():
        return text.encode()
    return Value(client, int(txn or 0), int(seq))


def sent(text: str) -> Value:
    found = value(text)
    assert isinstance(found, Value)
    return found


def records(partition: Partition, texts: dict[int, str], keys: dict[int, bytes] | None = None) -> Any:
    return tuple(
        ReadRecord(partition, offset, value(text), (keys or {}).get(offset)) for offset, text in texts.items()
    )


class Story:
    """Tells a history and is asked which rules it breaks."""

    def __init__(self) -> None:
        self.recorder = Recorder()
        self.finals: list[FinalRead] = []
        self.replicas: list[ReplicaLog] = []
        self.committed: list[CommittedOffset] = []
        self.compacted: list[str] = []
        self.total: int | None = None

    # Sending: whole, or in two halves

    def invoke(self, text: str, partition: Partition = P0, **fields: Any) -> int:
        written = sent(text)
        return self.recorder.invoke(written.client, Send(partition, written, **fields))

    def ack(self, operation: int, offset: int | None) -> None:
        self.recorder.ok(operation, Acked(offset))

    def send(self, text: str, offset: int | None, partition: Partition = P0, **fields: Any) -> None:
        self.ack(self.invoke(text, partition, **fields), offset)

    def lose(self, text: str, partition: Partition = P0, **fields: Any) -> None:
        """Sent, and never heard of again."""
        self.recorder.info(self.invoke(text, partition, **fields), "timed out")

    def refuse(self, text: str, partition: Partition = P0) -> None:
        self.recorder.fail(self.invoke(text, partition), "too large")

    # Reading

    def poll(
        self,
        client: str,
        texts: dict[int, str],
        partition: Partition = P0,
        isolation: Isolation = UNCOMMITTED,
        transaction: int = 0,
    ) -> None:
        operation = self.recorder.invoke(client, Poll(isolation, transaction))
        self.recorder.ok(operation, Polled(records(partition, texts)))

    def look(self, high: int, stable: int | None = None, partition: Partition = P0) -> None:
        operation = self.recorder.invoke("w", Poll())
        self.recorder.ok(operation, Polled((), (Watermarks(partition, high, stable),)))

    def final(
        self,
        texts: dict[int, str],
        partition: Partition = P0,
        isolation: Isolation = UNCOMMITTED,
        keys: dict[int, bytes] | None = None,
        start: int = 0,
    ) -> None:
        end = max(texts, default=-1) + 1
        self.finals.append(FinalRead(partition, records(partition, texts, keys), end, isolation, start))

    def both_finals(self, texts: dict[int, str], partition: Partition = P0) -> None:
        for isolation in Isolation:
            self.final(texts, partition, isolation)

    def replica(self, broker: int, texts: dict[int, str], high: int) -> None:
        self.replicas.append(ReplicaLog(P0, broker, records(P0, texts), high))

    # Transactions and groups

    def begin(self, client: str, number: int) -> None:
        self.recorder.ok(self.recorder.invoke(client, Begin(number)), Done())

    def commit(self, client: str, number: int) -> None:
        self.recorder.ok(self.recorder.invoke(client, Commit(number)), Done())

    def wonder(self, client: str, number: int) -> None:
        """A commit whose end nobody knows."""
        self.recorder.info(self.recorder.invoke(client, Commit(number)), "timed out")

    def abort(self, client: str, number: int) -> None:
        self.recorder.ok(self.recorder.invoke(client, Abort(number)), Done())

    def commit_offset(
        self, client: str, offset: int, transaction: int = 0, partition: Partition = P0, group: str = "g"
    ) -> None:
        request = CommitOffsets(group, ((partition, offset),), transaction)
        self.recorder.ok(self.recorder.invoke(client, request), Done())

    def ends_with_offset(self, offset: int, partition: Partition = P0, group: str = "g") -> None:
        self.committed.append(CommittedOffset(group, partition, offset))

    # The judge

    def history(self) -> History:
        return self.recorder.history(
            self.finals, self.replicas, self.committed, self.compacted, total=self.total
        )

    def broken(self) -> set[Rule]:
        found = check(self.history())
        for violation in found:
            assert str(violation), "every violation can be shown"
        return {violation.rule for violation in found}
