"""The voters of a quorum, and how they follow from the log (KIP-853).

A quorum begins with the voters of its settings (`controller.quorum.voters`, Kafka's `kraft.version` 0). A
VotersRecord in the log takes their place (`kraft.version` 1). A node goes by the last such record in its log,
committed or not, so a cut of the log brings back the voters from before.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, NamedTuple

from penstock.protocol.primitives import ZERO_UUID

STATIC: Final = 0
"""The level of `kraft.version` at which the settings name the voters."""
DYNAMIC: Final = 1
"""The level of `kraft.version` at which the log names the voters."""


class VoterEndpoint(NamedTuple):
    """Where a voter listens, under the name of the listener."""

    name: str
    host: str
    port: int


class Voter(NamedTuple):
    """A voter, as a VotersRecord describes it."""

    node_id: int
    directory_id: bytes = ZERO_UUID
    endpoints: tuple[VoterEndpoint, ...] = ()
    min_kraft_version: int = STATIC
    max_kraft_version: int = DYNAMIC


@dataclass(frozen=True, slots=True)
class VoterSet:
    """All voters at a moment, by ascending id."""

    voters: tuple[Voter, ...]

    @classmethod
    def of(cls, voters: Iterable[Voter]) -> VoterSet:
        return cls(tuple(sorted(voters)))

    @classmethod
    def of_ids(cls, ids: Iterable[int]) -> VoterSet:
        """Voters of which nothing but the id is known: those of the settings."""
        return cls.of(Voter(node_id) for node_id in ids)

    @property
    def ids(self) -> frozenset[int]:
        return frozenset(voter.node_id for voter in self.voters)


class VoterHistory:
    """The voters of the settings, and every VotersRecord that the log still needs, by its offset."""

    def __init__(self, static: VoterSet) -> None:
        self._static = static
        self._changes: list[tuple[int, VoterSet]] = []

    @property
    def latest(self) -> VoterSet:
        """The voters that count now."""
        return self._changes[-1][1] if self._changes else self._static

    @property
    def latest_offset(self) -> int:
        """Where the record of `latest` stands; -1 when the settings name the voters."""
        return self._changes[-1][0] if self._changes else -1

    @property
    def previous(self) -> VoterSet:
        """The voters before the latest change."""
        return self._changes[-2][1] if len(self._changes) > 1 else self._static

    @property
    def kraft_version(self) -> int:
        return DYNAMIC if self._changes else STATIC

    def at(self, end_offset: int) -> VoterSet | None:
        """The voters that the log below `end_offset` names; None when it names none."""
        named = [voters for offset, voters in self._changes if offset < end_offset]
        return named[-1] if named else None

    def add(self, offset: int, voters: VoterSet) -> None:
        """The log has a VotersRecord at `offset`, its last one so far."""
        assert voters.voters, "a quorum has voters"
        assert offset > self.latest_offset, f"voters at {offset} after {self.latest_offset}"
        self._changes.append((offset, voters))

    def truncate_to(self, offset: int) -> None:
        """The log was cut: records from `offset` on are gone."""
        self._changes = [change for change in self._changes if change[0] < offset]

    def begin_at(self, offset: int, voters: VoterSet | None) -> None:
        """A snapshot of everything below `offset` took the place of the log, and names these voters."""
        self._changes = [] if voters is None else [(offset - 1, voters)]

    def forget_before(self, offset: int) -> None:
        """The log begins at `offset` now: of the records before it only the last one counts."""
        older = [change for change in self._changes if change[0] < offset]
        self._changes = older[-1:] + [change for change in self._changes if change[0] >= offset]
