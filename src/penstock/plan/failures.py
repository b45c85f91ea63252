"""A user's function that fails: which node it was, which record, and what becomes of that record.

`Task` catches the error and asks a handler (`OnFailure`), as Kafka Streams asks its processing exception
handler. Nothing here costs anything while all goes well: the node is read from the traceback.
"""

from __future__ import annotations

import logging
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import PurePath
from types import TracebackType
from typing import Any, Final, NamedTuple

from penstock.kernels.context import Context
from penstock.kernels.record import Metadata
from penstock.plan.errors import Origin
from penstock.plan.punctuation import Punctuators
from penstock.plan.raw_records import Produced, RawRecord, error_headers

log = logging.getLogger(__name__)

_LIBRARIES: Final = ("/lib/python", "\\lib\\")
_PACKAGE: Final = "penstock."


class ProcessingError(RuntimeError):
    """A node failed on a record. The message is one line: node, record, error, and the lines of your code."""


class Failure(NamedTuple):
    """What is known of a record that a node could not process."""

    error: Exception
    node: str
    origin: Origin | None
    """Where the node was added to the topology."""
    metadata: Metadata | None
    """The place of the record; none in a punctuator of wall-clock time."""
    raw: RawRecord | None
    """The record as it was read, where it is still known."""

    def __str__(self) -> str:
        node = self.node if self.origin is None else f"{self.node} ({self.origin})"
        place = "in a punctuator"
        if self.metadata is not None:
            place = (
                f"on the record at offset {self.metadata.offset} of {self.topic}-{self.metadata.partition}"
            )
        message = " ".join(str(self.error).split())
        line = _user_line(self.error.__traceback__)
        return f"node {node} failed {place}: {type(self.error).__name__}: {message}{line}"

    @property
    def topic(self) -> str:
        return "" if self.metadata is None else self.metadata.topic


OnFailure = Callable[[Failure], Produced | None]
"""Raises, or skips the record at this node, or gives a record for a dead-letter topic."""


def fail_processing(failure: Failure) -> Produced | None:
    raise ProcessingError(str(failure)) from failure.error


def skip_processing(failure: Failure) -> Produced | None:
    log.warning("%s; the record is skipped", failure)
    return None


@dataclass(frozen=True)
class FailureLetters:
    """Puts the record as it was read into a topic, with Kafka's headers saying why and whence (KIP-1034)."""

    topic: str

    def __call__(self, failure: Failure) -> Produced | None:
        log.warning("%s; the record goes to %s", failure, self.topic)
        where, raw = failure.metadata, failure.raw
        place = ("", -1, -1) if where is None else (where.topic, where.partition, where.offset)
        headers = () if where is None else where.headers
        return Produced(
            self.topic,
            None if raw is None else raw.key,
            None if raw is None else raw.value,
            0 if where is None else where.timestamp,
            (*headers, *error_headers(failure.error, *place)),
        )


def failing_node(trace: TracebackType | None, source: str) -> str:
    """The node that was at work when an error was raised; `source` is where the record came in."""
    node = source
    for frame, _ in traceback.walk_tb(trace):
        if frame.f_code is Context.forward.__code__:
            node = frame.f_locals.get("name", node)
        elif frame.f_code is Punctuators.run.__code__:
            node = frame.f_locals["first"].node
    return node


def _user_line(trace: TracebackType | None) -> str:
    """The innermost line that belongs neither to Penstock nor to a library."""
    found = ""
    for frame, line in traceback.walk_tb(trace):
        code: Any = frame.f_code
        ours = str(frame.f_globals.get("__name__", "")).startswith(_PACKAGE)
        if not ours and not any(part in code.co_filename for part in _LIBRARIES):
            found = f" ({PurePath(code.co_filename).name}:{line} in {code.co_name})"
    return found
