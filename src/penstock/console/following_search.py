"""Records made from another one, found downstream by their headers, and by their key as a hint."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Final, NamedTuple

from penstock.client.errors import ClientError
from penstock.client.paging import FromTimestamp, Message, Oldest, Start
from penstock.console.backend import Backend
from penstock.console.following import DEAD_LETTERS, headers_of, origin_of, trace_id
from penstock.console.searching import SearchQuery

SCANNED_MAX: Final = 500_000
"""Records of each topic that are looked at."""
FOUND_MAX: Final = 100
KEY_MAX: Final = 500


class Descendant(NamedTuple):
    message: Message
    why: str
    proved: bool


class Step(NamedTuple):
    """How far the search has come in one topic."""

    topic: str
    scanned: int
    total: int
    found: tuple[Descendant, ...]


async def descendants(backend: Backend, origin: Message, topics: Sequence[str]) -> AsyncIterator[Step]:
    """One step a moment; a topic that cannot be read is passed over."""
    moment = origin.timestamp_ms
    start: Start = Oldest() if moment is None else FromTimestamp(moment)
    for topic in topics:
        try:
            search = await backend.search(SearchQuery(topic, _filter(origin), start))
        except ClientError:
            continue
        try:
            while True:
                progress = await search.poll()
                judged = (judge(origin, hit) for hit in progress.hits)
                found = tuple(each for each in judged if each is not None)
                yield Step(topic, progress.scanned, progress.total, found)
                if progress.done or progress.scanned >= SCANNED_MAX:
                    break
        finally:
            await search.close()


def judge(origin: Message, hit: Message) -> Descendant | None:
    """Why a record is taken for one made from `origin`; None when it is not."""
    headers = headers_of(hit)
    if origin_of(headers) == (origin.topic, origin.partition, origin.offset):
        dead = any(name.startswith(DEAD_LETTERS) for name in headers)
        return Descendant(hit, "a dead letter of it" if dead else "its header names it", True)
    trace = trace_id(origin)
    if trace and trace_id(hit) == trace:
        return Descendant(hit, "the same trace", True)
    if origin.key and hit.key == origin.key:
        return Descendant(hit, "the same key", False)
    return None


def _filter(origin: Message) -> str:
    """What the records may contain; `judge` looks at each of them."""
    wanted = [f'"{_quoted(f"{origin.topic}/{origin.partition}/{origin.offset}")}"']
    wanted += [f'"{prefix}offset"' for prefix in DEAD_LETTERS]
    if trace := trace_id(origin):
        wanted.append(f'"{trace}"')
    key = (origin.key or b"").decode("utf-8", "replace")
    if key and len(key) < KEY_MAX and "\ufffd" not in key and "\0" not in key:
        wanted.append(f'key = "{_quoted(key)}"')
    return " or ".join(wanted)


def _quoted(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')
