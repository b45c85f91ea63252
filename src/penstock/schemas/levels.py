"""Compatibility levels: which older schemas a new one is compared with, in which direction."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import Final

from penstock.schemas.differences import TooComplex
from penstock.schemas.schema import ParsedSchema

OLD_SCHEMA_SHOWN_MAX: Final = 10 * 1024


class Level(StrEnum):
    NONE = "NONE"
    BACKWARD = "BACKWARD"
    BACKWARD_TRANSITIVE = "BACKWARD_TRANSITIVE"
    FORWARD = "FORWARD"
    FORWARD_TRANSITIVE = "FORWARD_TRANSITIVE"
    FULL = "FULL"
    FULL_TRANSITIVE = "FULL_TRANSITIVE"

    @property
    def is_transitive(self) -> bool:
        return self.value.endswith("_TRANSITIVE")

    @property
    def reads_old(self) -> bool:
        """Whether the new schema must read what the old one wrote."""
        return self.value.startswith(("BACKWARD", "FULL"))

    @property
    def read_by_old(self) -> bool:
        return self.value.startswith(("FORWARD", "FULL"))


def check(level: Level, new: ParsedSchema, older: Sequence[tuple[int, ParsedSchema]]) -> list[str]:
    """Why the new schema is refused; nothing when it is not. `older` are version and schema, oldest first."""
    if level is Level.NONE:
        return []
    compared = older if level.is_transitive else older[-1:]
    for version, old in reversed(compared):
        reasons = _reasons(level, new, old)
        if reasons:
            return [*reasons, f"{{oldSchemaVersion: {version}}}", f"{{oldSchema: '{_shown(old)}'}}"]
    return []


def _reasons(level: Level, new: ParsedSchema, old: ParsedSchema) -> list[str]:
    if new.schema_type != old.schema_type:
        return ["Incompatible because of different schema type"]
    found: list[str] = []
    try:
        if level.read_by_old:
            found += [each.tell("old", "new") for each in old.differences(new)]
        if level.reads_old:
            found += [each.tell("new", "old") for each in new.differences(old)]
    except (TooComplex, RecursionError):
        return [
            "The schemas are too complex to be compared: they have too many types that refer to each other"
        ]
    return found


def _shown(schema: ParsedSchema) -> str:
    text = schema.canonical
    return text if len(text) <= OLD_SCHEMA_SHOWN_MAX else f"<truncated> {text[:OLD_SCHEMA_SHOWN_MAX]}..."
