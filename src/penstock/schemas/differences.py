"""Why a reader cannot read what a writer wrote: the reasons that compatibility checks give."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

STEPS_MAX: Final = 100_000
"""Pairs of types that one comparison may look at; far above any schema that people write."""


class TooComplex(Exception):
    """A comparison has taken more steps than is allowed."""


@dataclass(frozen=True, slots=True)
class Difference:
    """One reason. `kind` is Confluent's name for it, `path` the place in the schema."""

    kind: str
    path: str
    description: str
    """A sentence with the words `{reader}` and `{writer}`, which become `new` and `old` or the reverse."""
    info: str = ""

    def tell(self, reader: str, writer: str) -> str:
        described = self.description.replace("{reader}", reader).replace("{writer}", writer)
        info = f", additionalInfo:'{self.info}'" if self.info else ""
        return f"{{errorType:'{self.kind}', description:'{described}'{info}}}"


class Budget:
    """Counts the steps of one comparison."""

    def __init__(self, steps_max: int = STEPS_MAX) -> None:
        self._left = steps_max

    def spend(self) -> None:
        self._left -= 1
        if self._left < 0:
            raise TooComplex
