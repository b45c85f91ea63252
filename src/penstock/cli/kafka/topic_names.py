"""Topics that an option of Kafka's commands names: a regular expression, or a list with commas."""

from __future__ import annotations

import re
from collections.abc import Iterable

from penstock.cli.kafka.options import CommandFailed

INTERNAL = frozenset({"__consumer_offsets", "__transaction_state", "__share_group_state"})


def pattern_of(text: str) -> re.Pattern[str]:
    """Kafka's `IncludeList`: commas are alternatives, blanks and outer quotes are nothing."""
    cleaned = text.strip().replace(",", "|").replace(" ", "").strip("\"'")
    try:
        return re.compile(cleaned)
    except re.error:
        raise CommandFailed(f"{cleaned} is an invalid regex.") from None


def chosen(names: Iterable[str], include: str | None, *, exclude_internal: bool = False) -> list[str]:
    """The topics that the expression names, in order; without one, all."""
    pattern = None if include is None else pattern_of(include)
    return sorted(
        name
        for name in names
        if (pattern is None or pattern.fullmatch(name)) and not (exclude_internal and name in INTERNAL)
    )


def may_collide(name: str) -> bool:
    """Whether the name could collide with another in the names of metrics."""
    return "." in name or "_" in name
