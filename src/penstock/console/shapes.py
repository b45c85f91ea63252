"""The JSON that the API answers with and that the pages' tables show: typed dictionaries made of the client's
values. The API's OpenAPI document is made of their types.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import TypedDict

from penstock.client.metadata import TopicDetail
from penstock.client.paging import Message, Page
from penstock.client.sending import Produced
from penstock.console.backend import Snapshot
from penstock.console.decoding import Shown, preview, reindent, show
from penstock.console.decoding_records import Decoded
from penstock.console.overview import TopicStats
from penstock.console.query import format_cursor

KEY_PREVIEW = 120
VALUE_PREVIEW = 400
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class BrokerShape(TypedDict):
    node_id: int
    host: str
    port: int


class ClusterShape(TypedDict):
    cluster_id: str | None
    bootstrap_servers: str
    controller_id: int | None
    brokers: list[BrokerShape]
    topics: int
    partitions: int


class TopicShape(TypedDict):
    name: str
    internal: bool
    partitions: int
    replication_factor: int
    records: int | None
    records_per_second: float | None
    size_bytes: int | None


class TopicsShape(TypedDict):
    topics: list[TopicShape]


class PartitionShape(TypedDict):
    partition: int
    leader: int | None
    replicas: list[int]
    isr: list[int]
    log_start_offset: int | None
    high_watermark: int | None
    records: int | None


class ConfigShape(TypedDict):
    name: str
    value: str | None
    default: bool
    source: str


class TopicDetailShape(TypedDict):
    name: str
    internal: bool
    records: int | None
    size_bytes: int | None
    partitions: list[PartitionShape]
    configs: list[ConfigShape]


class ShownShape(TypedDict):
    encoding: str
    text: str
    size_bytes: int
    truncated: bool
    note: str


class HeaderShape(TypedDict):
    name: str
    value: ShownShape


class MessageShape(TypedDict):
    partition: int
    offset: int
    timestamp: str | None
    timestamp_ms: int | None
    timestamp_type: str | None
    key: ShownShape
    value: ShownShape
    headers: list[HeaderShape]


class PageShape(TypedDict):
    messages: list[MessageShape]
    newest_first: bool
    complete: bool
    next: str | None
    """The `cursor` of the next page; null when there is none."""


class RowShape(TypedDict):
    partition: int
    offset: int
    timestamp: str | None
    key: ShownShape
    value: ShownShape
    headers: int


class ProducedShape(TypedDict):
    topic: str
    partition: int
    offset: int
    timestamp: str | None


def cluster_shape(snapshot: Snapshot, bootstrap_servers: str) -> ClusterShape:
    cluster = snapshot.cluster
    return {
        "cluster_id": cluster.cluster_id,
        "bootstrap_servers": bootstrap_servers,
        "controller_id": cluster.controller_id,
        "brokers": [{"node_id": b.node_id, "host": b.host, "port": b.port} for b in cluster.brokers],
        "topics": cluster.topics,
        "partitions": cluster.partitions,
    }


def topic_shape(topic: TopicStats) -> TopicShape:
    return {
        "name": topic.name,
        "internal": topic.internal,
        "partitions": topic.partitions,
        "replication_factor": topic.replication_factor,
        "records": topic.records,
        "records_per_second": topic.records_per_second,
        "size_bytes": topic.size_bytes,
    }


def topic_detail_shape(detail: TopicDetail) -> TopicDetailShape:
    info = detail.info
    return {
        "name": info.name,
        "internal": info.internal,
        "records": info.records,
        "size_bytes": info.size_bytes,
        "partitions": [
            {
                "partition": p.index,
                "leader": p.leader,
                "replicas": list(p.replicas),
                "isr": list(p.isr),
                "log_start_offset": p.log_start_offset,
                "high_watermark": p.high_watermark,
                "records": p.records,
            }
            for p in info.partitions
        ],
        "configs": [
            {
                "name": entry.name,
                "value": None if entry.is_sensitive else entry.value,
                "default": entry.is_default,
                "source": entry.source,
            }
            for entry in detail.configs
        ],
    }


def page_shape(page: Page, max_bytes: int) -> PageShape:
    return {
        "messages": [message_shape(message, max_bytes) for message in page.messages],
        "newest_first": page.newest_first,
        "complete": page.complete,
        "next": format_cursor(page.next),
    }


def message_shape(message: Message, max_bytes: int) -> MessageShape:
    return {
        "partition": message.partition,
        "offset": message.offset,
        "timestamp": format_timestamp(message.timestamp_ms),
        "timestamp_ms": message.timestamp_ms,
        "timestamp_type": message.timestamp_type or None,
        "key": shown_shape(show(message.key, max_bytes)),
        "value": shown_shape(show(message.value, max_bytes)),
        "headers": [
            {"name": name, "value": shown_shape(show(value, max_bytes))} for name, value in message.headers
        ],
    }


def row_shape(message: Message, decoded: Callable[[Message, bool], Decoded | None]) -> RowShape:
    """One line of the messages table: short, so that hundreds of them cost little."""
    return {
        "partition": message.partition,
        "offset": message.offset,
        "timestamp": format_timestamp(message.timestamp_ms),
        "key": _line(message.key, decoded(message, True), KEY_PREVIEW),
        "value": _line(message.value, decoded(message, False), VALUE_PREVIEW),
        "headers": len(message.headers),
    }


def _line(data: bytes | None, decoded: Decoded | None, characters: int) -> ShownShape:
    """One line: what a schema says of the bytes, or else the bytes."""
    if decoded is None or decoded.failed:
        return shown_shape(preview(data, characters))
    text = decoded.text
    cut = len(text) > characters
    return {
        "encoding": "json",
        "text": text[:characters],
        "size_bytes": len(data or b""),
        "truncated": cut,
        "note": "",
    }


def produced_shape(produced: Produced) -> ProducedShape:
    return {
        "topic": produced.topic,
        "partition": produced.partition,
        "offset": produced.offset,
        "timestamp": format_timestamp(produced.timestamp_ms),
    }


def shown_shape(shown: Shown) -> ShownShape:
    return {
        "encoding": str(shown.encoding),
        "text": shown.text,
        "size_bytes": shown.size_bytes,
        "truncated": shown.truncated,
        "note": shown.note,
    }


def decoded_shape(decoded: Decoded, raw: ShownShape, limit: int) -> ShownShape:
    """What a schema, or the platform itself, says of the bytes; where it fails, the bytes and why."""
    if decoded.failed:
        return {**raw, "note": decoded.note}
    text = reindent(decoded.text) or decoded.text
    return {
        "encoding": "json",
        "text": text[:limit],
        "size_bytes": raw["size_bytes"],
        "truncated": len(text) > limit,
        "note": decoded.note,
    }


def format_timestamp(timestamp_ms: int | None) -> str | None:
    """ISO 8601 in UTC; a timestamp that no calendar holds is shown as the number it is."""
    if timestamp_ms is None:
        return None
    try:
        moment = _EPOCH + timedelta(milliseconds=timestamp_ms)
    except OverflowError:
        return str(timestamp_ms)
    return moment.strftime("%Y-%m-%dT%H:%M:%S.") + f"{moment.microsecond // 1000:03d}Z"
