"""Where a record came from and what became of it, as far as logs, offsets and headers prove it.

Kafka stores no client id and no link between records. What is known: the batch with its producer id and, of a
transactional producer, its transactional id; headers (trace context, the origin that pipelines write when
they are asked to, the headers of dead letters); and committed offsets, which say what a group has passed.
Everything else is named as unknown. Used by the page and by the API.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Final
from urllib.parse import quote

import msgspec

from penstock.client.errors import ClientError, InvalidValue
from penstock.client.paging import FromOffset, Message
from penstock.console.backend import MessageQuery
from penstock.console.cluster_values import WrittenIn
from penstock.console.group_stats import AllGroups, GroupStats
from penstock.console.observing import pipelines_now
from penstock.console.pipelines import Pipeline
from penstock.console.services import Services
from penstock.console.shapes import format_timestamp
from penstock.console.wording import counted

FRESH_S: Final = 5.0
ORIGIN: Final = "penstock.origin"
"""A header that names the record from which this one was made, as `topic/partition/offset`."""
TRACE: Final = "traceparent"
DEAD_LETTERS: Final = ("__connect.errors.", "__streams.errors.")
"""Both put `topic`, `partition` and `offset` behind it."""


class Clue(msgspec.Struct, frozen=True):
    what: str
    sentence: str
    state: str = ""
    """`yes`, `no` or `maybe`: whether it is proved, disproved or only likely."""
    page: str = ""


class Followed(msgspec.Struct, frozen=True):
    topic: str
    partition: int
    offset: int
    timestamp: str | None
    trace_id: str
    source: list[Clue]
    readers: list[Clue]
    written_to: list[str]
    """Topics that pipelines write which read this record's topic: where to look for records made from it."""
    unknown: list[str]


async def record_at(services: Services, topic: str, partition: int, offset: int) -> Message:
    page = await services.backend.messages(MessageQuery(topic, FromOffset(offset), partition, 1))
    if not page.messages or page.messages[0].offset != offset:
        raise InvalidValue(
            f"There is no record at offset {offset:,} of partition {partition} of {topic}: retention or "
            "compaction removed it, or it is not written yet."
        )
    return page.messages[0]


async def followed(services: Services, topic: str, partition: int, offset: int) -> Followed:
    message = await record_at(services, topic, partition, offset)
    batch = None
    with suppress(ClientError):  # a cluster that refuses it still has everything else to say
        batch = await services.backend.written_in(topic, partition, offset)
    groups = None
    with suppress(ClientError):
        groups = await services.groups.current(FRESH_S)
    told = tell(message, batch, groups, await pipelines_now(services, FRESH_S))
    letters = [each for each in _dead_letters(services, topic) if each not in told.written_to]
    return msgspec.structs.replace(told, written_to=[*told.written_to, *letters])


def _dead_letters(services: Services, topic: str) -> list[str]:
    """Where sinks that read the topic put what they cannot take."""
    used = services.connectors.used_topics
    found = services.connector_states.reading.value or []
    return [each.dead_letters for each in found if each.dead_letters and topic in used.get(each.name, ())]


def tell(
    message: Message, batch: WrittenIn | None, groups: AllGroups | None, pipelines: Iterable[Pipeline]
) -> Followed:
    found = list(pipelines)
    return Followed(
        message.topic,
        message.partition,
        message.offset,
        format_timestamp(message.timestamp_ms),
        trace_id(message),
        [*_by_headers(message), *_by_batch(batch, found), *_by_graph(message, found)],
        list(_readers(message, groups, found)),
        _written_to(message.topic, found),
        list(_unknown(message, batch, groups)),
    )


# -- where it came from


def headers_of(message: Message) -> dict[str, str]:
    """The last value of each name, as text."""
    return {name: (value or b"").decode("utf-8", "replace") for name, value in message.headers}


def trace_id(message: Message) -> str:
    """Of W3C's trace context: version, trace, span, flags."""
    parts = headers_of(message).get(TRACE, "").split("-")
    return parts[1] if len(parts) >= 4 and len(parts[1]) == 32 else ""


def origin_of(headers: Mapping[str, str]) -> tuple[str, int, int] | None:
    """The record that a pipeline, or a queue of dead letters, says this one was made from."""
    topic, _, place = headers.get(ORIGIN, "").partition("/")
    partition, _, offset = place.partition("/")
    if topic and partition.isdecimal() and offset.isdecimal():
        return topic, int(partition), int(offset)
    for prefix in DEAD_LETTERS:
        named = [headers.get(prefix + part, "") for part in ("topic", "partition", "offset")]
        if named[0] and named[1].isdecimal() and named[2].isdecimal():
            return named[0], int(named[1]), int(named[2])
    return None


def address(topic: str, partition: int, offset: int) -> str:
    return f"/follow/{quote(topic, safe='')}?partition={partition}&offset={offset}"


def _by_headers(message: Message) -> Iterator[Clue]:
    headers = headers_of(message)
    origin = origin_of(headers)
    if origin is not None:
        where = f"{origin[0]}, partition {origin[1]}, offset {origin[2]:,}"
        failed = any(name.startswith(DEAD_LETTERS) for name in headers)
        word = "Could not be taken by a pipeline, which read it as" if failed else "Made from"
        yield Clue("Record", f"{word} {where}", "yes", address(*origin))
    if trace := trace_id(message):
        yield Clue("Trace", f"{trace} ({TRACE})", "yes")
    for name in ("source", "client.id", "service.name", "user-agent"):
        if headers.get(name):
            yield Clue("Header", f"{name}: {headers[name]}", "yes")


def _by_batch(batch: WrittenIn | None, pipelines: Iterable[Pipeline]) -> Iterator[Clue]:
    if batch is None:
        return
    if batch.transactional_id:
        writer = next((each for each in pipelines if _writes_as(each, batch.transactional_id)), None)
        page = writer.href if writer else "/transactions"
        named = f", which is {writer.kind} {writer.name}" if writer else ""
        yield Clue("Producer", f"Transactional id {batch.transactional_id}{named}", "yes", page)
    if batch.producer_id is not None:
        kind = "transactional" if batch.transactional else "idempotent"
        epoch = f"epoch {batch.producer_epoch}"
        yield Clue("Producer", f"Producer id {batch.producer_id}, {epoch}, {kind}", "yes")
    others = counted(batch.records - 1, "other record")
    size = f"{batch.size_bytes:,} bytes, compression {batch.compression}, leader epoch {batch.leader_epoch}"
    yield Clue("Batch", f"Written with {others} from offset {batch.base_offset:,}: {size}", "yes")


def _writes_as(pipeline: Pipeline, transactional_id: str) -> bool:
    names = (pipeline.group, pipeline.name)
    return any(name and (name in transactional_id) for name in names)


def _by_graph(message: Message, pipelines: Iterable[Pipeline]) -> Iterator[Clue]:
    for each in pipelines:
        if message.topic in each.writes:
            yield Clue(
                "Pipeline", f"{each.kind.capitalize()} {each.name} writes this topic", "maybe", each.href
            )


# -- what became of it


def _readers(message: Message, groups: AllGroups | None, pipelines: Iterable[Pipeline]) -> Iterator[Clue]:
    by_group = {each.group: each for each in pipelines if each.group}
    for group in groups.groups if groups else ():
        for at in group.partitions:
            if (at.lag.topic, at.lag.partition) == (message.topic, message.partition):
                pipeline = by_group.get(group.info.group_id)
                yield _reader(group, pipeline, at.lag.committed_offset, message.offset)


def _reader(group: GroupStats, pipeline: Pipeline | None, committed: int, offset: int) -> Clue:
    name, kind = (pipeline.name, pipeline.kind) if pipeline else (group.info.group_id, "group")
    page = pipeline.href if pipeline else f"/groups/{quote(group.info.group_id, safe='')}"
    past = committed > offset
    if past and kind == "connector":
        said = f"Reached the system behind it, or its dead letters: committed up to {committed:,}"
    elif past:
        said = f"Has passed it: committed up to {committed:,}"
    else:
        said = f"Has not passed it yet: {counted(offset - committed, 'record')} before it"
    return Clue(f"{kind.capitalize()} {name}", said, "yes" if past else "no", page)


def _written_to(topic: str, pipelines: Iterable[Pipeline]) -> list[str]:
    """All topics downstream, through pipelines that follow each other."""
    found, waiting = list[str](), [topic]
    known = list(pipelines)
    while waiting:
        here = waiting.pop()
        for each in known:
            if here in each.reads:
                new = [name for name in each.writes if name not in (*found, topic)]
                found += new
                waiting += new
    return found


def _unknown(message: Message, batch: WrittenIn | None, groups: AllGroups | None) -> Iterator[str]:
    if batch is None:
        yield "The batch could not be read, so the producer's id is not known."
    elif batch.producer_id is None:
        yield "The producer was not idempotent: the log has nothing that tells it from others."
    yield "Logs do not keep the client id or address of a producer."
    if not trace_id(message):
        yield f"It has no {TRACE} header, so no trace connects it with other records."
    if groups is None:
        yield "The groups did not answer."
    yield (
        "A group that has passed a record has committed a later offset. It may have skipped it, or it was "
        "reset past it. Readers that commit nothing (tails, Spark without a group) are not seen."
    )
