"""What every decision of the registry is made of. `registering`, `deleting` and `configuring` decide.

`decide_*` returns the records that change something and the answer, or refuses. Nothing is changed there: the
records are appended, read back and replayed; then the answer holds.
"""

from __future__ import annotations

from typing import Any, TypeAlias

from penstock.client import replayed_topic
from penstock.registry import errors
from penstock.registry.records import Record
from penstock.registry.state import State
from penstock.registry.subjects import Subject

Decision: TypeAlias = replayed_topic.Decision[Record, Any]


def check_writable(state: State, subject: Subject) -> None:
    if state.mode(subject).startswith("READONLY"):
        raise errors.not_permitted(f"Subject {subject} is in read-only mode")
