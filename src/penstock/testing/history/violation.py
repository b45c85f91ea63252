"""A broken promise: which rule, where, and a sentence for whoever has to find the cause."""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple

from penstock.testing.history.events import Partition, Seen


class Rule(Enum):
    """The promises, by the numbers of the scoreboard's checker; the groups' two have names."""

    ONE_VALUE_PER_OFFSET = "1"
    ACKED_IS_THERE = "2"
    READ_WAS_SENT = "3"
    NO_ABORTED_READ = "4"
    NO_DUPLICATE = "5"
    REAL_TIME_ORDER = "6"
    PRODUCER_ORDER = "7"
    CONTIGUOUS_POLLS = "8"
    WATERMARKS_GROW = "9"
    ALL_OR_NOTHING = "10"
    OFFSETS_MATCH_OUTPUT = "11"
    NO_READ_CYCLE = "12"
    TOTAL_IS_KEPT = "13"
    ONE_OWNER = "owner"
    COMMITS_GROW = "commits"


class Violation(NamedTuple):
    rule: Rule
    message: str
    partition: Partition | None = None
    offsets: tuple[int, ...] = ()
    values: tuple[Seen, ...] = ()
    events: tuple[int, ...] = ()
    """Places in the history's list of events."""

    def __str__(self) -> str:
        where = f"{self.partition}: " if self.partition is not None else ""
        events = f" (events {', '.join(map(str, self.events))})" if self.events else ""
        return f"rule {self.rule.value}, {self.rule.name.lower()}: {where}{self.message}{events}"


def shown(value: Seen) -> str:
    """A value as it stands in sentences."""
    return str(value) if not isinstance(value, bytes) else repr(value)
