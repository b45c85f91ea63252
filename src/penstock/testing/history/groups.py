"""The promises of groups: one owner of a partition in a generation, and commits that grow unless reset."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from penstock.testing.history.events import NO_TRANSACTION, Assign, CommitOffsets, Partition, Reset
from penstock.testing.history.ledger import Ledger, Operation, Told
from penstock.testing.history.sightings import Sightings
from penstock.testing.history.violation import Rule, Violation
from penstock.testing.history.watermarks import Highest

Place = tuple[str, Partition]


def one_owner(ledger: Ledger, sightings: Sightings) -> Iterator[Violation]:
    """Only assignments that say their generation can be compared."""
    owners: dict[tuple[str, int, Partition], Told] = {}
    for told in ledger.facts:
        fact = told.fact
        if not isinstance(fact, Assign) or fact.group is None or fact.generation is None:
            continue
        owner = owners.setdefault((fact.group, fact.generation, fact.partition), told)
        if owner.client != told.client:
            yield Violation(
                Rule.ONE_OWNER,
                f"{owner.client} and {told.client} both own the partition in generation {fact.generation} of "
                f"group {fact.group}",
                fact.partition,
                events=(owner.event, told.event),
            )


def commits_grow(ledger: Ledger, sightings: Sightings) -> Iterator[Violation]:
    """A commit, or a look at the committed offset, that began after another was answered is not below it. In
    transactions offsets take effect with the transaction, which rule 11 judges."""
    highest: defaultdict[Place, Highest] = defaultdict(Highest)
    for moment in _moments(ledger):
        if isinstance(moment, Told):
            assert isinstance(moment.fact, Reset)
            fresh = highest[moment.fact.group, moment.fact.partition] = Highest()
            fresh.add(moment.event, moment.fact.offset)
            continue
        request = moment.request
        is_commit = isinstance(request, CommitOffsets)
        for partition, offset in (request if is_commit else moment.result).offsets:
            known = highest[request.group, partition]
            before = known.before(moment.invoked)
            if before is not None and offset < before[0]:
                yield _went_back(moment, partition, before, offset)
            known.add(moment.ended, offset)


def _moments(ledger: Ledger) -> list[Operation | Told]:
    """Commits, looks and resets in the order in which they were done."""
    moments: list[Operation | Told] = [
        commit for commit in ledger.commits if commit.is_ok and commit.request.transaction == NO_TRANSACTION
    ]
    moments += [fetch for fetch in ledger.fetches if fetch.is_ok]
    moments += [told for told in ledger.facts if isinstance(told.fact, Reset)]
    moments.sort(key=lambda moment: moment.event if isinstance(moment, Told) else moment.ended)
    return moments


def _went_back(operation: Operation, partition: Partition, before: tuple[int, int], offset: int) -> Violation:
    did = "committed" if isinstance(operation.request, CommitOffsets) else "found"
    return Violation(
        Rule.COMMITS_GROW,
        f"{operation.client} {did} offset {offset} of group {operation.request.group} after offset "
        f"{before[0]} was committed, and nobody reset it",
        partition,
        (before[0], offset),
        (),
        (before[1], operation.invoked, operation.ended),
    )
