"""Rule 11: a committed offset says exactly which input is reflected in the output."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import NamedTuple

from penstock.testing.history.events import NO_TRANSACTION, CommittedOffset, Isolation, Kind, Partition, Reset
from penstock.testing.history.ledger import NEVER, Ledger, Operation, Outcome, Transaction, value_of
from penstock.testing.history.sightings import Sightings
from penstock.testing.history.transactions import visible_values
from penstock.testing.history.violation import Rule, Violation

Place = tuple[str, Partition]
"""A group and one of its partitions."""


class _Stored(NamedTuple):
    """A commit of an offset as it may have taken effect: between two moments, for certain or perhaps."""

    offset: int
    begin: int
    end: int
    certain: bool
    transactional: bool


def offsets_match_output(ledger: Ledger, sightings: Sightings) -> Iterator[Violation]:
    """The offset at the end is one that was committed and not replaced; and where records say which input
    they reflect, the output holds every input below the offset once, and none from it on."""
    if not ledger.commits and not ledger.history.committed:
        return
    visible = visible_values(ledger)
    stored = _stored(ledger, visible)
    for committed in ledger.history.committed:
        yield from _judge_final(committed, stored[committed.group, committed.partition])
    yield from _judge_copies(ledger, visible)


def _stored(ledger: Ledger, visible: set[object]) -> defaultdict[Place, list[_Stored]]:
    found: defaultdict[Place, list[_Stored]] = defaultdict(list)
    for commit in ledger.commits:
        number = commit.request.transaction
        if commit.kind is Kind.FAIL:
            continue
        if number == NO_TRANSACTION:
            effect: tuple[int, int, bool] | None = (commit.invoked, commit.ended, commit.is_ok)
        else:
            effect = _effect(commit, ledger.transactions[commit.client, number], visible)
        if effect is None:
            continue
        begin, end, certain = effect
        for partition, offset in commit.request.offsets:
            stored = _Stored(offset, begin, end, certain, transactional=number != NO_TRANSACTION)
            found[commit.request.group, partition].append(stored)
    for told in ledger.facts:
        if isinstance(told.fact, Reset):
            place = (told.fact.group, told.fact.partition)
            found[place].append(_Stored(told.fact.offset, told.event, told.event, True, False))
    return found


def _effect(
    commit: Operation, transaction: Transaction, visible: set[object]
) -> tuple[int, int, bool] | None:
    """When offsets in a transaction took effect; its records tell, where nobody else does."""
    outcome = transaction.outcome
    if outcome is Outcome.ABORTED:
        return None
    ends = [end.ended for end in transaction.commits if end.is_ok]
    begin, end = transaction.commit_invoked, min(ends, default=NEVER)
    if outcome is Outcome.COMMITTED:
        return begin, end, commit.is_ok
    acked = [send for send in transaction.sends if send.is_ok]
    if any(value_of(send) in visible for send in acked):
        return begin, NEVER, commit.is_ok
    return None if acked else (begin, NEVER, False)


def _judge_final(committed: CommittedOffset, stored: list[_Stored]) -> Iterator[Violation]:
    """Possible is what was perhaps committed, or certainly and not wholly before another certain one."""
    latest = max((item.begin for item in stored if item.certain), default=-1)
    possible = {item.offset for item in stored if not item.certain or item.end >= latest}
    if committed.offset in possible:
        return
    transactional = not stored or any(item.transactional for item in stored)
    allowed = " or ".join(map(str, sorted(possible))) or "none"
    yield Violation(
        Rule.OFFSETS_MATCH_OUTPUT if transactional else Rule.COMMITS_GROW,
        f"group {committed.group} ends with committed offset {committed.offset}; by its commits it must be "
        f"{allowed}",
        committed.partition,
        (committed.offset, *sorted(possible)),
        (),
        tuple(item.begin for item in stored[-3:]),
    )


def _judge_copies(ledger: Ledger, visible: set[object]) -> Iterator[Violation]:
    reflected: defaultdict[Place, dict[int, Operation]] = defaultdict(dict)
    for send in ledger.sends:
        source = send.request.source
        if source is None:
            continue
        outputs = reflected[source.group, source.partition]
        if value_of(send) not in visible:
            continue
        first = outputs.setdefault(source.offset, send)
        if first is not send and not _same_transaction(first, send):
            yield Violation(
                Rule.OFFSETS_MATCH_OUTPUT,
                f"offset {source.offset} of group {source.group}'s input is reflected twice, by "
                f"{value_of(first)} and by {value_of(send)}",
                source.partition,
                (source.offset,),
                (value_of(first), value_of(send)),
                (first.invoked, send.invoked),
            )
    for committed in ledger.history.committed:
        place = (committed.group, committed.partition)
        if place in reflected:
            yield from _judge_coverage(ledger, committed, reflected[place])


def _same_transaction(first: Operation, second: Operation) -> bool:
    """One input may become several records, in one transaction."""
    return value_of(first)[:2] == value_of(second)[:2] and value_of(first).txn != NO_TRANSACTION


def _judge_coverage(
    ledger: Ledger, committed: CommittedOffset, outputs: dict[int, Operation]
) -> Iterator[Violation]:
    for offset, send in outputs.items():
        if offset >= committed.offset:
            yield Violation(
                Rule.OFFSETS_MATCH_OUTPUT,
                f"{value_of(send)} reflects input offset {offset}, but group {committed.group} has committed "
                f"{committed.offset} and will take it again",
                committed.partition,
                (offset, committed.offset),
                (value_of(send),),
                (send.invoked,),
            )
    final = ledger.best_final(committed.partition, Isolation.READ_COMMITTED)
    for record in final.records if final is not None else ():
        if record.offset < committed.offset and record.offset not in outputs:
            yield Violation(
                Rule.OFFSETS_MATCH_OUTPUT,
                f"group {committed.group} has committed {committed.offset}, but input offset {record.offset} "
                f"is reflected nowhere",
                committed.partition,
                (record.offset, committed.offset),
                (record.value,),
            )
