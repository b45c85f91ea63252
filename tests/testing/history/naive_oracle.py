"""The rules that need no cleverness, written as their sentences read: everything is compared with everything.

Too slow for real histories, and short enough to be believed. The checker must agree with it.
"""

from __future__ import annotations

from itertools import combinations
from typing import Any, NamedTuple

from penstock.testing.history import History, Rule
from penstock.testing.history.events import (
    Abort,
    Assign,
    Commit,
    FinalRead,
    Isolation,
    Kind,
    Partition,
    Poll,
    Revoke,
    Send,
)

FOREVER = 10**9
UNCOMMITTED = Isolation.READ_UNCOMMITTED
COMMITTED = Isolation.READ_COMMITTED


class Op(NamedTuple):
    client: str
    request: Any
    begin: int
    end: int
    kind: Kind
    result: Any


class Read(NamedTuple):
    place: Partition
    offset: int
    value: Any
    when: int
    isolation: Isolation


class Oracle:
    """The operations of a history, and every single read of every record."""

    def __init__(self, history: History) -> None:
        self.history = history
        ops = []
        for begin, event in enumerate(history.events):
            if event.kind is Kind.INVOKE:
                ends = [
                    (index, other)
                    for index, other in enumerate(history.events)
                    if other.operation == event.operation and index > begin
                ]
                end, last = ends[0] if ends else (FOREVER, None)
                kind = Kind.INFO if last is None else last.kind
                end = FOREVER if kind is Kind.INFO else end
                ops.append(Op(event.client, event.body, begin, end, kind, last and last.body))
        self.sends = [op for op in ops if isinstance(op.request, Send)]
        polls = [op for op in ops if isinstance(op.request, Poll)]
        self.polls = [poll for poll in polls if poll.kind is Kind.OK]
        self.lost_polls = [poll for poll in polls if poll.kind is Kind.INFO]
        self.ends = [op for op in ops if isinstance(op.request, Commit | Abort)]
        self.acks = [send for send in self.sends if send.kind is Kind.OK]
        self.reads = [
            Read(*record[:3], poll.end, poll.request.isolation)
            for poll in self.polls
            for record in poll.result.records
        ]
        for final in history.finals:
            self.reads += [Read(*record[:3], FOREVER, final.isolation) for record in final.records]
        for log in history.replicas:
            self.reads += [
                Read(*item[:3], FOREVER, UNCOMMITTED)
                for item in log.records
                if item.offset < log.high_watermark
            ]

    def broken(self) -> set[Rule]:
        verdicts = {
            Rule.ONE_VALUE_PER_OFFSET: self.rule_1(),
            Rule.ACKED_IS_THERE: self.rule_2(),
            Rule.READ_WAS_SENT: self.rule_3(),
            Rule.NO_ABORTED_READ: self.rule_4(),
            Rule.NO_DUPLICATE: self.rule_5(),
            Rule.REAL_TIME_ORDER: self.rule_6(),
            Rule.PRODUCER_ORDER: self.rule_7(),
            Rule.CONTIGUOUS_POLLS: self.rule_8(),
            Rule.WATERMARKS_GROW: self.rule_9(),
            Rule.ALL_OR_NOTHING: self.rule_10(),
        }
        return {rule for rule, is_broken in verdicts.items() if is_broken}

    def final(self, partition: Partition, isolation: Isolation) -> FinalRead:
        return next(
            final
            for final in self.history.finals
            if final.partition == partition and final.isolation is isolation
        )

    def rule_1(self) -> bool:
        seen = {(read.place, read.offset, read.value) for read in self.reads}
        seen |= {(ack.request.partition, ack.result.offset, ack.request.value) for ack in self.acks}
        holes = any(
            record.offset not in {other.offset for other in log.records}
            and min((other.offset for other in log.records), default=0) <= record.offset < log.high_watermark
            for log in self.history.replicas
            for record in self.final(log.partition, UNCOMMITTED).records
        )
        return holes or len({place[:2] for place in seen}) < len(seen)

    def rule_2(self) -> bool:
        return any(
            (ack.result.offset, ack.request.value) not in {record[1:3] for record in final.records}
            for ack in self.acks
            for final in self.history.finals
            if final.partition == ack.request.partition
            and (final.isolation is UNCOMMITTED or not ack.request.value.txn)
        )

    def rule_3(self) -> bool:
        good = {
            (send.request.partition, send.request.value): send.begin
            for send in self.sends
            if send.kind is not Kind.FAIL
        }
        return any(read.when < good.get((read.place, read.value), FOREVER + 1) for read in self.reads)

    def outcome(self, value: Any) -> tuple[str, int]:
        """How the transaction of a value ended, and when it was first asked to commit."""
        ends = [end for end in self.ends if (end.client, end.request.transaction) == value[:2]]
        commits = [end for end in ends if isinstance(end.request, Commit)]
        asked = min((end.begin for end in commits), default=FOREVER)
        if any(end.kind is Kind.OK for end in commits):
            return "committed", asked
        if any(end.kind is Kind.OK for end in ends) or all(end.kind is Kind.FAIL for end in commits):
            return "aborted", asked
        return "unknown", asked

    def rule_4(self) -> bool:
        known = {send.request.value for send in self.sends}
        for read in self.reads:
            if read.isolation is COMMITTED and read.value in known and read.value.txn:
                outcome, asked = self.outcome(read.value)
                if outcome == "aborted" or read.when < asked:
                    return True
        return False

    def rule_5(self) -> bool:
        known = {send.request.value for send in self.sends}
        places = {(read.place, read.offset, read.value) for read in self.reads if read.value in known}
        return any(a[0] == b[0] and a[2] == b[2] for a, b in combinations(places, 2))

    def offset_of(self, send: Op) -> int | None:
        if send.kind is Kind.OK:
            return int(send.result.offset)
        found = [read for read in self.reads if read.value == send.request.value]
        first = min(found, key=lambda read: read.when, default=None)
        return first.offset if first is not None and first.place == send.request.partition else None

    def rule_6(self) -> bool:
        return any(
            offset is not None
            and ack.end < send.begin
            and ack.request.partition == send.request.partition
            and ack.result.offset >= offset
            for send in self.sends
            for offset in [self.offset_of(send)]
            for ack in self.acks
        )

    def rule_7(self) -> bool:
        placed = [(send, self.offset_of(send)) for send in self.sends]
        return any(
            a.client == b.client
            and a.request.partition == b.request.partition
            and x is not None
            and y is not None
            and x > y
            for (a, x), (b, y) in combinations(placed, 2)
        )

    def rule_8(self) -> bool:
        """Replay each consumer."""
        at: dict[tuple[str, Partition], int] = {}
        moments: list[tuple[int, Any]] = [(poll.end, poll) for poll in self.polls]
        moments += [(poll.begin, poll) for poll in self.lost_polls]
        moments += [
            (index, event)
            for index, event in enumerate(self.history.events)
            if isinstance(event.body, Assign | Revoke)
        ]
        for _, moment in sorted(moments, key=lambda pair: pair[0]):
            if not isinstance(moment, Op):
                at.pop((moment.client, moment.body.partition), None)
                if isinstance(moment.body, Assign) and moment.body.start is not None:
                    at[moment.client, moment.body.partition] = moment.body.start - 1
                continue
            if moment.kind is Kind.INFO:
                at = {reading: offset for reading, offset in at.items() if reading[0] != moment.client}
                continue
            for record in moment.result.records:
                before = at.get((moment.client, record.partition))
                final = self.final(record.partition, moment.request.isolation)
                between = [
                    r for r in final.records if before is not None and before < r.offset < record.offset
                ]
                if before is not None and (record.offset <= before or between):
                    return True
                at[moment.client, record.partition] = record.offset
        return any(
            [record.offset for record in final.records] != sorted({record.offset for record in final.records})
            for final in self.history.finals
        )

    def rule_9(self) -> bool:
        looks = [
            (poll.begin, poll.end, seen.partition, number, which)
            for poll in self.polls
            for seen in poll.result.watermarks
            for which, number in enumerate((seen.high_watermark, seen.last_stable_offset))
        ]
        looks += [
            (FOREVER, FOREVER + 1, final.partition, final.high_watermark, 0)
            for final in self.history.finals
            if final.isolation is UNCOMMITTED
        ]
        above = any(
            seen.last_stable_offset > seen.high_watermark
            for poll in self.polls
            for seen in poll.result.watermarks
        )
        return above or any(
            a[1] < b[0] and a[2] == b[2] and a[4] == b[4] and a[3] > b[3] for a in looks for b in looks
        )

    def rule_10(self) -> bool:
        visible = {
            record.value
            for final in self.history.finals
            if final.isolation is COMMITTED
            for record in final.records
        }
        names = {(end.client, end.request.transaction) for end in self.ends}
        for name in names:
            told = {
                type(end.request)
                for end in self.ends
                if end.kind is Kind.OK and (end.client, end.request.transaction) == name
            }
            outcome, _ = self.outcome((*name, 0))
            acked = [ack.request.value for ack in self.acks if ack.request.value[:2] == name]
            there = [value in visible for value in acked]
            if len(told) == 2 or (outcome == "committed" and not all(there)):
                return True
            if outcome == "unknown" and any(there) and not all(there):
                return True
        return False
