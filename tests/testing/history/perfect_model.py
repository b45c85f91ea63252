"""A cluster that keeps every promise, as a program of a hundred lines, and the histories of its clients.

Clients run interleaved, one step at a time, by chance from a seed: they send inside and outside of
transactions, lose answers, die, poll in both isolations, copy with offsets in transactions, and move money.
Nothing of the checker is used here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from random import Random

from penstock.testing.history import History, Recorder
from penstock.testing.history.events import (
    Abort,
    Acked,
    Assign,
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
    Revoke,
    Send,
    Source,
    Value,
    Watermarks,
)

PLAIN = [Partition("plain", 0), Partition("plain", 1)]
OUTPUT = [Partition("output", 0), Partition("output", 1)]
GROUP = "copiers"
MARKER = None
STEP = None

Steps = Iterator[None]


class Log:
    """One partition: values and markers, and which transactions are open or aborted in it."""

    def __init__(self, partition: Partition) -> None:
        self.partition = partition
        self.entries: list[Value | None] = []

    def append(self, value: Value | None) -> int:
        self.entries.append(value)
        return len(self.entries) - 1


class Cluster:
    def __init__(self) -> None:
        self.logs = {partition: Log(partition) for partition in PLAIN + OUTPUT}
        self.open: dict[tuple[str, int], set[Partition]] = {}
        self.aborted: set[tuple[str, int]] = set()
        self.offsets: dict[Partition, int] = {}

    def append(self, partition: Partition, value: Value) -> int:
        if value.txn:
            self.open.setdefault((value.client, value.txn), set()).add(partition)
        return self.logs[partition].append(value)

    def end(self, client: str, number: int, *, commit: bool, offsets: dict[Partition, int]) -> None:
        for partition in sorted(self.open.pop((client, number), set())):
            self.logs[partition].append(MARKER)
        if commit:
            self.offsets.update(offsets)
        else:
            self.aborted.add((client, number))

    def stable(self, partition: Partition) -> int:
        entries = self.logs[partition].entries
        held = [
            offset for offset, value in enumerate(entries) if value is not None and value[:2] in self.open
        ]
        return min(held, default=len(entries))

    def read(self, partition: Partition, begin: int, isolation: Isolation) -> list[ReadRecord]:
        committed = isolation is Isolation.READ_COMMITTED
        entries = self.logs[partition].entries
        end = self.stable(partition) if committed else len(entries)
        return [
            ReadRecord(partition, offset, value)
            for offset, value in enumerate(entries[:end])
            if offset >= begin and value is not None and not (committed and value[:2] in self.aborted)
        ]


class Play:
    """A run from a seed."""

    def __init__(self, seed: int, *, clients: int = 4, operations: int = 8) -> None:
        self._random = Random(seed)
        self._cluster = Cluster()
        self._recorder = Recorder()
        self._operations = operations
        kinds = [self._producer, self._banker, self._consumer, self._copier]
        order = [kinds[number % len(kinds)] for number in range(clients)]
        self._clients = [kind(f"{kind.__name__[1:]}{number}") for number, kind in enumerate(order)]

    def history(self) -> History:
        running = list(self._clients)
        while running:
            client = self._random.choice(running)
            if next(client, "done") == "done":
                running.remove(client)
        for client, number in list(self._cluster.open):
            self._cluster.end(client, number, commit=False, offsets={})  # as the timeout of a dead client
        finals = [self._final(partition, level) for partition in self._cluster.logs for level in Isolation]
        replicas = [
            ReplicaLog(partition, broker, final.records, len(self._cluster.logs[partition].entries))
            for final in finals
            if final.isolation is Isolation.READ_UNCOMMITTED
            for partition, broker in ((final.partition, 1), (final.partition, 2))
        ]
        offsets = [CommittedOffset(GROUP, place, offset) for place, offset in self._cluster.offsets.items()]
        return self._recorder.history(finals, replicas, offsets, total=0)

    def _final(self, partition: Partition, isolation: Isolation) -> FinalRead:
        records = tuple(self._cluster.read(partition, 0, isolation))
        return FinalRead(partition, records, len(self._cluster.logs[partition].entries), isolation)

    # Clients: a step may take effect between invocation and end, or be lost on either side

    def _ask(self, client: str, request: object, effect: Callable[[], object]) -> Iterator[None]:
        operation = self._recorder.invoke(client, request)  # type: ignore[arg-type]
        yield STEP
        fate = self._random.random()
        if fate < 0.05:
            self._recorder.fail(operation, "refused")
            self._last = None
            return
        result = effect() if fate > 0.1 else None
        yield STEP
        if fate < 0.2:
            self._recorder.info(operation, "lost")
            self._last = None
        else:
            self._recorder.ok(operation, result)  # type: ignore[arg-type]
            self._last = result

    def _send(self, name: str, partition: Partition, value: Value, **fields: object) -> Steps:
        request = Send(partition, value, **fields)  # type: ignore[arg-type]
        yield from self._ask(name, request, lambda: Acked(self._cluster.append(partition, value)))

    def _producer(self, name: str) -> Steps:
        for seq in range(self._operations):
            yield from self._send(name, self._random.choice(PLAIN), Value(name, 0, seq))

    def _end(self, name: str, number: int, offsets: dict[Partition, int], *, want: bool) -> Steps:
        """Commit or abort for certain, or ask for a commit and never learn of it."""
        request = Commit(number) if want else Abort(number)
        operation = self._recorder.invoke(name, request)
        yield STEP
        unknown = want and self._random.random() < 0.3
        commit = want and not (unknown and self._random.random() < 0.5)
        self._cluster.end(name, number, commit=commit, offsets=offsets)
        yield STEP
        if unknown:
            self._recorder.info(operation, "lost")
        else:
            self._recorder.ok(operation, Done())

    def _begin(self, name: str, number: int) -> None:
        self._recorder.ok(self._recorder.invoke(name, Begin(number)), Done())

    def _banker(self, name: str) -> Steps:
        for number in range(1, self._operations // 2 + 1):
            self._begin(name, number)
            amount, whole = self._random.randrange(1, 50), True
            for seq, delta in enumerate((amount, -amount)):
                place = self._random.choice(OUTPUT)
                yield from self._send(name, place, Value(name, number, seq), amount=delta)
                whole = whole and self._last is not None
            yield from self._end(name, number, {}, want=whole and self._random.random() < 0.8)

    def _consumer(self, name: str) -> Steps:
        isolation = self._random.choice(list(Isolation))
        partition = self._random.choice(PLAIN + OUTPUT)
        position = 0
        self._recorder.fact(name, Assign(partition, start=0))
        for _ in range(self._operations):
            if self._random.random() < 0.1:
                position = 0
                self._recorder.fact(name, Revoke(partition))
                self._recorder.fact(name, Assign(partition, start=0))
            effect = partial(self._poll, partition, position, isolation)
            yield from self._ask(name, Poll(isolation), effect)
            if isinstance(self._last, Polled) and self._last.records:
                position = self._last.records[-1].offset + 1

    def _poll(self, partition: Partition, position: int, isolation: Isolation) -> Polled:
        records = self._cluster.read(partition, position, isolation)[: self._random.randrange(1, 4)]
        high = len(self._cluster.logs[partition].entries)
        return Polled(tuple(records), (Watermarks(partition, high, self._cluster.stable(partition)),))

    def _copier(self, name: str) -> Steps:
        """One copier owns one input; after a transaction it looks where the group stands."""
        source = PLAIN[int(name[-1]) // 4 % len(PLAIN)]
        for number in range(1, self._operations // 2 + 1):
            position = self._cluster.offsets.get(source, 0)
            self._recorder.fact(name, Assign(source, start=position, group=GROUP, generation=number))
            poll = Poll(Isolation.READ_COMMITTED, number)
            yield from self._ask(name, poll, partial(self._poll, source, position, poll.isolation))
            if not isinstance(self._last, Polled) or not self._last.records:
                continue
            self._begin(name, number)
            taken, whole = self._last.records, True
            for seq, record in enumerate(taken):
                origin = Source(GROUP, source, record.offset)
                value = Value(name, number, seq)
                yield from self._send(name, self._random.choice(OUTPUT), value, source=origin)
                whole = whole and self._last is not None
            offsets = {source: taken[-1].offset + 1}
            request = CommitOffsets(GROUP, tuple(offsets.items()), number)
            self._recorder.ok(self._recorder.invoke(name, request), Done())
            yield from self._end(name, number, offsets, want=whole and self._random.random() < 0.8)
