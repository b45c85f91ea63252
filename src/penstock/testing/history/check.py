"""The judge: a history in, broken promises out. Reading `RULES` is reading what is promised.

Pure and synchronous: time and memory grow with the number of events and records, nothing is compared with
everything.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice
from typing import Final

from penstock.testing.history.compaction import last_of_each_key_is_there
from penstock.testing.history.copies import offsets_match_output
from penstock.testing.history.cycles import no_read_cycle
from penstock.testing.history.events import History
from penstock.testing.history.groups import commits_grow, one_owner
from penstock.testing.history.ledger import Ledger
from penstock.testing.history.offsets import acked_is_there, no_duplicate, one_value_per_offset, read_was_sent
from penstock.testing.history.order import producer_order, real_time_order
from penstock.testing.history.polls import contiguous_polls
from penstock.testing.history.sightings import Sightings
from penstock.testing.history.transactions import all_or_nothing, no_aborted_read, total_is_kept
from penstock.testing.history.violation import Violation
from penstock.testing.history.watermarks import watermarks_grow

MOST_PER_RULE: Final = 100
"""Violations that one rule reports; a broken broker breaks a rule a million times."""

RULES: Final[tuple[Callable[[Ledger, Sightings], Iterator[Violation]], ...]] = (
    one_value_per_offset,
    acked_is_there,
    last_of_each_key_is_there,
    read_was_sent,
    no_aborted_read,
    no_duplicate,
    real_time_order,
    producer_order,
    contiguous_polls,
    watermarks_grow,
    all_or_nothing,
    offsets_match_output,
    no_read_cycle,
    total_is_kept,
    one_owner,
    commits_grow,
)


def check(history: History, *, most_per_rule: int = MOST_PER_RULE) -> list[Violation]:
    """Every promise that the history shows broken, in the order of the rules; MalformedHistory when it cannot
    be judged."""
    ledger = Ledger(history)
    sightings = Sightings(ledger)
    return [found for rule in RULES for found in islice(rule(ledger, sightings), most_per_rule)]


def assert_kept(history: History) -> None:
    """AssertionError with every broken promise in words."""
    violations = check(history)
    if violations:
        raise AssertionError("\n".join(["promises were broken:", *map(str, violations)]))
