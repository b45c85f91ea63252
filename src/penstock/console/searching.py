"""A search through a topic: what is asked, and how far it has come. `Backend.search` reads."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

from penstock.client.paging import Message, Oldest, Start
from penstock.console.filtering import Candidate, Test

HITS_MAX = 500
"""A search pauses when it has found so many; the reader narrows it, or goes on."""


@dataclass(frozen=True, slots=True)
class SearchQuery:
    topic: str
    filter_text: str
    start: Start = field(default_factory=Oldest)
    partition: int | None = None


class Progress(NamedTuple):
    """Since the search began, but for the hits, which are new."""

    hits: tuple[Message, ...]
    scanned: int
    total: int
    """Offsets between the start and the ends as they were when the search began."""
    done: bool


class Search(Protocol):
    async def poll(self) -> Progress:
        """Reads on for a moment."""
        ...

    async def close(self) -> None: ...


@dataclass(slots=True)
class Scan:
    """Which records of a stream belong to the search, and when it is over. Pure; one thread."""

    test: Test
    decode: Callable[[Message, bool], Any]
    ends: Mapping[int, int]
    """By partition, where the search ends."""
    positions: dict[int, int]
    """By partition, the next offset to look at."""
    scanned: int = 0

    @property
    def total(self) -> int:
        return self.scanned + sum(max(0, end - self.positions[p]) for p, end in self.ends.items())

    @property
    def done(self) -> bool:
        return all(self.positions[p] >= end for p, end in self.ends.items())

    def take(self, messages: list[Message]) -> list[Message]:
        """The hits among them."""
        test, decode, ends = self.test, self.decode, self.ends
        hits = []
        for message in messages:
            partition = message.partition
            if message.offset < ends.get(partition, 0):
                self.scanned += 1
                if test(Candidate(message, decode)):
                    hits.append(message)
            self.positions[partition] = message.offset + 1
        return hits
