"""A history in order: operations with their ends, transactions with their outcomes, final reads by place.

Made once per check, in one pass over the events; every rule reads from it. A history that contradicts itself,
or that lacks what the rules need, is refused with `MalformedHistory`: that is a mistake of the test, not of
the broker.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from enum import Enum
from typing import Any, Final, NamedTuple

from penstock.testing.history.events import (
    NO_TRANSACTION,
    Abort,
    Acked,
    Assign,
    Begin,
    Commit,
    CommitOffsets,
    Event,
    Fact,
    FetchOffsets,
    FinalRead,
    History,
    Isolation,
    Kind,
    Partition,
    Poll,
    Reset,
    Revoke,
    Seen,
    Send,
    Value,
)

NEVER: Final = sys.maxsize
"""Where an operation without an end would end."""


class MalformedHistory(ValueError):
    """The history cannot be judged."""


class Operation:
    """One request with its end. `ended` is NEVER and `kind` INFO while the end is unknown."""

    __slots__ = ("client", "ended", "invoked", "is_ok", "kind", "offset", "request", "result")

    def __init__(self, client: str, request: Any, invoked: int) -> None:
        self.client = client
        self.request = request
        self.invoked = invoked
        self.ended = NEVER
        self.kind = Kind.INFO
        self.is_ok = False
        self.result: Any = None
        # Where an acknowledgement says that the record is; a field, because every rule asks for it.
        self.offset: int | None = None


class Outcome(Enum):
    COMMITTED = "committed"
    ABORTED = "aborted"
    UNKNOWN = "unknown"


class Transaction:
    """What one client did between begin and end, under one number."""

    __slots__ = ("aborts", "client", "commits", "number", "offsets", "sends")

    def __init__(self, client: str, number: int) -> None:
        self.client = client
        self.number = number
        self.sends: list[Operation] = []
        self.offsets: list[Operation] = []
        self.commits: list[Operation] = []
        self.aborts: list[Operation] = []

    def __str__(self) -> str:
        return f"transaction {self.number} of {self.client}"

    @property
    def outcome(self) -> Outcome:
        """A transaction that was never asked to commit cannot be committed, whatever became of its client."""
        if any(commit.is_ok for commit in self.commits):
            return Outcome.COMMITTED
        if any(abort.is_ok for abort in self.aborts):
            return Outcome.ABORTED
        maybe = any(commit.kind is not Kind.FAIL for commit in self.commits)
        return Outcome.UNKNOWN if maybe else Outcome.ABORTED

    @property
    def commit_invoked(self) -> int:
        """The first moment at which its records may be visible."""
        return min((commit.invoked for commit in self.commits), default=NEVER)

    @property
    def events(self) -> tuple[int, ...]:
        """Where its end stands in the history."""
        ends = [*self.commits, *self.aborts]
        return tuple(index for end in ends for index in (end.invoked, end.ended) if index != NEVER)


class Told(NamedTuple):
    """A fact and its place."""

    event: int
    client: str
    fact: Fact


class Ledger:
    def __init__(self, history: History) -> None:
        self.history = history
        self.sends: list[Operation] = []  # in the order of invocation, as all of these
        self.polls: list[Operation] = []
        self.commits: list[Operation] = []
        self.fetches: list[Operation] = []
        self.facts: list[Told] = []
        self.send_of: dict[Seen, Operation] = {}
        self.transactions: dict[tuple[str, int], Transaction] = {}
        self._file_events(history.events)
        self.finals: dict[tuple[Partition, Isolation], FinalRead] = {}
        self._finals_of: defaultdict[Partition, list[FinalRead]] = defaultdict(list)
        self.final_at: dict[tuple[Partition, Isolation], dict[int, Seen]] = {}
        for final in history.finals:
            place = (final.partition, final.isolation)
            if place in self.finals:
                raise MalformedHistory(f"two final reads of {final.partition} under {final.isolation}")
            self.finals[place] = final
            self._finals_of[final.partition].append(final)
            self.final_at[place] = {record.offset: record.value for record in final.records}
        self._check_finals()

    def transaction_of(self, value: Seen) -> Transaction | None:
        if isinstance(value, bytes) or value.txn == NO_TRANSACTION:
            return None
        return self.transactions.get((value.client, value.txn))

    def finals_of(self, partition: Partition) -> list[FinalRead]:
        return self._finals_of.get(partition, [])

    def best_final(self, partition: Partition, isolation: Isolation) -> FinalRead | None:
        """The final read as somebody with this isolation saw it, or the other one if it was not made."""
        found = self.finals.get((partition, isolation))
        return found or next(iter(self.finals_of(partition)), None)

    def is_compacted(self, partition: Partition) -> bool:
        return partition.topic in self.history.compacted

    def _file_events(self, events: Any) -> None:
        """File every event under its operation."""
        pending: dict[int, Operation] = {}
        for index, event in enumerate(events):
            kind = event.kind
            if kind is Kind.INVOKE:
                operation = Operation(event.client, event.body, index)
                if event.operation in pending:
                    raise MalformedHistory(f"event {index} begins an operation that is under way: {event}")
                pending[event.operation] = operation
                self._file(operation)
            elif isinstance(event.body, Assign | Revoke | Reset):
                self.facts.append(Told(index, event.client, event.body))
            else:
                self._end(pending, index, event)

    def _file(self, operation: Operation) -> None:
        request = operation.request
        match request:
            case Send(value=value):
                if value in self.send_of:
                    raise MalformedHistory(f"{value} is sent twice; values must be unique")
                self.send_of[value] = operation
                self.sends.append(operation)
                if value.txn != NO_TRANSACTION:
                    self._transaction(value.client, value.txn).sends.append(operation)
            case Poll():
                self.polls.append(operation)
            case CommitOffsets():
                self.commits.append(operation)
                if request.transaction != NO_TRANSACTION:
                    self._transaction(operation.client, request.transaction).offsets.append(operation)
            case FetchOffsets():
                self.fetches.append(operation)
            case Begin(transaction=number):
                self._transaction(operation.client, number)
            case Commit(transaction=number):
                self._transaction(operation.client, number).commits.append(operation)
            case Abort(transaction=number):
                self._transaction(operation.client, number).aborts.append(operation)
            case _:
                raise MalformedHistory(f"event {operation.invoked} invokes nothing that is known: {request}")

    def _end(self, pending: dict[int, Operation], index: int, event: Event) -> None:
        operation = pending.pop(event.operation, None)
        if operation is None:
            raise MalformedHistory(f"event {index} ends an operation that is not under way: {event}")
        if event.kind is Kind.OK and event.body is None:
            raise MalformedHistory(f"event {index} is a success without a result: {event}")
        operation.kind, operation.result = event.kind, event.body
        operation.is_ok = event.kind is Kind.OK
        if event.kind is not Kind.INFO:
            operation.ended = index
        if isinstance(event.body, Acked):
            operation.offset = event.body.offset

    def _transaction(self, client: str, number: int) -> Transaction:
        found = self.transactions.get((client, number))
        if found is None:
            found = self.transactions[client, number] = Transaction(client, number)
        return found

    def _check_finals(self) -> None:
        """Without a full read at the end there is nothing to hold acknowledgements against."""
        wanted: defaultdict[Partition, set[Isolation]] = defaultdict(set)
        for send in self.sends:
            if send.is_ok:
                transactional = send.request.value.txn != NO_TRANSACTION
                wanted[send.request.partition].add(
                    Isolation.READ_COMMITTED if transactional else Isolation.READ_UNCOMMITTED
                )
        for partition, isolations in wanted.items():
            if Isolation.READ_COMMITTED in isolations and (
                (partition, Isolation.READ_COMMITTED) not in self.finals
            ):
                raise MalformedHistory(
                    f"transactions wrote to {partition}, and there is no final read under read_committed"
                )
            if not self.finals_of(partition):
                raise MalformedHistory(f"{partition} was sent to, and there is no final read of it")


def value_of(send: Operation) -> Value:
    value: Value = send.request.value
    return value
