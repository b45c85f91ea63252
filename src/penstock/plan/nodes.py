"""The nodes of a plan: operators with their parents, and the sources and sinks at its ends."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from penstock.kernels.context import Context, Process
from penstock.kernels.operation import Function, Operation
from penstock.kernels.serdes import Serde
from penstock.kernels.timestamps import FailOnInvalidTimestamp, TimestampExtractor
from penstock.plan.errors import Origin
from penstock.plan.row_schemas import RowSchema


@dataclass(frozen=True)
class Source(Operation):
    """Reads topics, by name or by pattern."""

    key_serde: Serde[Any]
    value_serde: Serde[Any]
    topics: tuple[str, ...] = ()
    pattern: str | None = None
    extractor: TimestampExtractor = field(default_factory=FailOnInvalidTimestamp)
    reset: str | None = None  # "earliest", "latest" or "none"; none: the application's setting
    is_global: bool = False  # every instance reads all of it
    schema: RowSchema | None = None  # what the topics hold, where that is known

    def bind(self, context: Context) -> Process:
        return context.forward

    def reads(self, topic: str) -> bool:
        return topic in self.topics or (
            self.pattern is not None and re.fullmatch(self.pattern, topic) is not None
        )


@dataclass(frozen=True)
class Sink(Operation):
    """Writes to a topic, or to the one that a function names for each record."""

    key_serde: Serde[Any]
    value_serde: Serde[Any]
    topic: str | None = None
    extractor: Function | None = None  # (key, value, metadata) → topic
    partitioner: Function | None = None  # (topic, key, value, partitions) → partition
    schema: RowSchema | None = None  # what is written, where that is known


@dataclass(frozen=True)
class Node:
    """An operator at its place."""

    name: str
    operation: Operation
    parents: tuple[str, ...] = ()
    stores: tuple[str, ...] = ()  # all that it reads or writes; filled in by the rules
    origin: Origin | None = None  # no part of what a plan is: two plans are equal wherever they were written

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Node) and self._identity() == other._identity()

    def __hash__(self) -> int:
        return hash((self.name, self.parents, self.stores))

    def _identity(self) -> tuple[object, ...]:
        return (self.name, self.operation, self.parents, self.stores)


@dataclass(frozen=True)
class InternalTopic:
    """A repartition topic. Its full name begins with the application's id."""

    name: str
    partitions: int | None = None  # none: as many as those it must be co-partitioned with
    origin: Origin | None = field(default=None, compare=False)
