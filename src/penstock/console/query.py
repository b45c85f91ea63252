"""Text from an address or a form made into a `MessageQuery`, and back.

Each refusal names the value and what to write instead.

Used by the JSON API and by the messages page, so that both mean the same by the same words.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from penstock.client.errors import InvalidValue
from penstock.client.messages import LIMIT_MAX
from penstock.client.paging import After, Before, FromOffset, FromTimestamp, Newest, Oldest, Start
from penstock.console.backend import MessageQuery
from penstock.console.moments import parse_timestamp

STARTS = ("newest", "oldest", "offset", "timestamp")
_CURSOR = re.compile(r"(before|after):(\d{1,9}=\d{1,19}(?:,\d{1,9}=\d{1,19})*)")


def parse_query(topic: str, params: Mapping[str, str]) -> MessageQuery:
    """`from`, `offset`, `timestamp`, `partition`, `limit` and `cursor`, all optional; `cursor` wins over
    `from`.
    """
    partition = params.get("partition", "")
    limit = params.get("limit", "")
    start = parse_cursor(params["cursor"]) if params.get("cursor") else _start(params)
    return MessageQuery(
        topic,
        start,
        None if partition in ("", "all") else parse_number("partition", partition),
        parse_number("limit", limit, least=1, most=LIMIT_MAX) if limit else 50,
    )


def parse_start(kind: str, text: str) -> Start:
    """A start by its name, with the offset or timestamp that belongs to it."""
    match kind:
        case "newest":
            return Newest()
        case "oldest":
            return Oldest()
        case "offset":
            return FromOffset(parse_number("offset", text))
        case "timestamp":
            return FromTimestamp(parse_timestamp(text))
    raise InvalidValue(f"Messages cannot start from {kind!r}. Use one of {', '.join(STARTS)}.")


def parse_number(name: str, text: str, *, least: int = 0, most: int = 2**63 - 1) -> int:
    text = text.strip()
    if not (text.isdecimal() and len(text) <= 19) or not least <= int(text) <= most:
        upper = f" to {most}" if most < 2**31 else " or more"
        raise InvalidValue(f"{text!r} is not a valid {name}. Write a whole number, {least}{upper}.")
    return int(text)


def format_cursor(start: Before | After | None) -> str | None:
    """`before:0=120,1=80`: where the next page starts in each partition."""
    match start:
        case Before(ends):
            return "before:" + ",".join(f"{p}={offset}" for p, offset in sorted(ends.items()))
        case After(starts):
            return "after:" + ",".join(f"{p}={offset}" for p, offset in sorted(starts.items()))
        case None:
            return None


def parse_cursor(text: str) -> Before | After:
    found = _CURSOR.fullmatch(text)
    if found is None:
        raise InvalidValue(f"{text[:80]!r} is not a cursor. Use the `next` of the page before, unchanged.")
    pairs = (pair.split("=") for pair in found[2].split(","))
    offsets = {int(partition): int(offset) for partition, offset in pairs}
    return Before(offsets) if found[1] == "before" else After(offsets)


def _start(params: Mapping[str, str]) -> Start:
    kind = params.get("from") or "newest"
    return parse_start(kind, params.get(kind, ""))
