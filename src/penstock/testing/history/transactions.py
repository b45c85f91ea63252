"""Rules 4, 10 and 13: what was aborted is not seen, what was committed is whole, and money stays the same."""

from __future__ import annotations

from collections.abc import Iterator

from penstock.testing.history.events import Isolation, ReadRecord
from penstock.testing.history.ledger import Ledger, Operation, Outcome, Transaction, value_of
from penstock.testing.history.sightings import Origin, Sightings, events_of, final_name
from penstock.testing.history.violation import Rule, Violation, shown


def no_aborted_read(ledger: Ledger, sightings: Sightings) -> Iterator[Violation]:
    """Rule 4. A transaction that was not even asked to commit yet is as invisible as an aborted one."""
    if not ledger.transactions:
        return
    for poll in ledger.polls:
        if poll.is_ok and poll.request.isolation is Isolation.READ_COMMITTED:
            for record in poll.result.records:
                yield from _judge_read(ledger, sightings, record, poll.ended)
    for final in ledger.history.finals:
        if final.isolation is Isolation.READ_COMMITTED:
            for record in final.records:
                yield from _judge_read(ledger, sightings, record, final_name(final))


def _judge_read(
    ledger: Ledger, sightings: Sightings, record: ReadRecord, origin: Origin
) -> Iterator[Violation]:
    transaction = ledger.transaction_of(record.value)
    if transaction is None:
        return
    if transaction.outcome is Outcome.ABORTED:
        why = "was aborted" if transaction.aborts else "was never committed"
    elif isinstance(origin, int) and origin < transaction.commit_invoked:
        why = "had not been asked to commit"
    else:
        return
    yield Violation(
        Rule.NO_ABORTED_READ,
        f"{shown(record.value)} at offset {record.offset}, {sightings.told(origin)} under read_committed, is "
        f"of {transaction}, which {why}",
        record.partition,
        (record.offset,),
        (record.value,),
        (*events_of(origin), *transaction.events),
    )


def all_or_nothing(ledger: Ledger, sightings: Sightings) -> Iterator[Violation]:
    """Rule 10, by the final reads under read_committed; that nothing aborted is there is rule 4."""
    visible = visible_values(ledger) if ledger.transactions else set()
    for transaction in ledger.transactions.values():
        if any(end.is_ok for end in transaction.commits) and any(end.is_ok for end in transaction.aborts):
            yield _violation(transaction, "was told to be committed and to be aborted", [])
        outcome = transaction.outcome
        if outcome is Outcome.ABORTED:
            continue
        judged = [send for send in transaction.sends if _must_be_whole(ledger, send)]
        missing = [send for send in judged if value_of(send) not in visible]
        if not missing or (outcome is Outcome.UNKNOWN and len(missing) == len(judged)):
            continue
        said = "was committed" if outcome is Outcome.COMMITTED else "is visible in part"
        partitions = ", ".join(sorted({str(send.request.partition) for send in missing}))
        yield _violation(
            transaction,
            f"{said}, but {len(missing)} of its {len(judged)} records are missing, in {partitions}",
            missing,
        )


def visible_values(ledger: Ledger) -> set[object]:
    """Every value of the final reads, as a committed reader sees them."""
    return {
        record.value
        for partition, isolation in ledger.finals
        if ledger.best_final(partition, Isolation.READ_COMMITTED) is ledger.finals[partition, isolation]
        for record in ledger.finals[partition, isolation].records
    }


def _must_be_whole(ledger: Ledger, send: Operation) -> bool:
    """An acknowledged record that neither retention nor compaction may have removed."""
    if not send.is_ok or ledger.is_compacted(send.request.partition):
        return False
    final = ledger.best_final(send.request.partition, Isolation.READ_COMMITTED)
    offset = send.offset
    return final is not None and (offset is None or offset >= final.log_start_offset)


def _violation(transaction: Transaction, what: str, missing: list[Operation]) -> Violation:
    shown_sends = missing[:10]
    return Violation(
        Rule.ALL_OR_NOTHING,
        f"{transaction} {what}",
        shown_sends[0].request.partition if shown_sends else None,
        tuple(offset for send in shown_sends if (offset := send.offset) is not None),
        tuple(value_of(send) for send in shown_sends),
        (*transaction.events, *(send.invoked for send in shown_sends)),
    )


def total_is_kept(ledger: Ledger, sightings: Sightings) -> Iterator[Violation]:
    """Rule 13: the amounts of all records that a committed reader sees at the end add up to the total."""
    expected = ledger.history.total
    if expected is None:
        return
    total, counted = 0, 0
    for partition in {partition for partition, _ in ledger.finals}:
        final = ledger.best_final(partition, Isolation.READ_COMMITTED)
        for record in final.records if final is not None else ():
            send = ledger.send_of.get(record.value)
            if send is not None and send.request.amount:
                total += send.request.amount
                counted += 1
    if total != expected:
        message = f"{counted} records with amounts add up to {total}, not to {expected}"
        yield Violation(Rule.TOTAL_IS_KEPT, message)
