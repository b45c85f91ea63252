"""Subjects with contexts: `:.CONTEXT:SUBJECT`. The default context is written `.` or not at all."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from penstock.registry.errors import invalid_subject

DEFAULT: Final = "."
WILDCARD: Final = ":*:"
GLOBAL_CONTEXT: Final = ".__GLOBAL"
"""The context whose settings hold in every context that has none of its own."""
LENGTH_MAX: Final = 1_000
_CONTROL: Final = re.compile(r"[\x00-\x1f]")


class Subject(NamedTuple):
    context: str
    name: str

    def __str__(self) -> str:
        return self.name if self.context == DEFAULT else f":{self.context}:{self.name}"


def parse_subject(text: str) -> Subject:
    """The context and the name; `:.a:b` is b in the context .a."""
    if len(text) > LENGTH_MAX or _CONTROL.search(text):
        raise invalid_subject(text)
    if not text.startswith(":."):
        return Subject(DEFAULT, "" if text == ":" else text)
    context, colon, name = text[1:].partition(":")
    return Subject(context, name if colon else "")


def parse_named(text: str) -> Subject:
    """A subject that something is to be kept under: it has a name."""
    subject = parse_subject(text)
    if not subject.name.strip() or subject.name in ("__GLOBAL", "__EMPTY"):
        raise invalid_subject(text)
    return subject
