"""Produce and Fetch requests as they go over the wire, and where in the answers the interesting bytes stand.

One topic and one partition each: all that `load.c` knows of the protocol are the few positions below.
"""

from __future__ import annotations

import struct
from typing import Final, NamedTuple

from penstock.protocol.apis import Api
from penstock.protocol.fetch import READ_UNCOMMITTED
from penstock.protocol.primitives import ZERO_UUID, Writer
from penstock.protocol.topic_partition import TopicPartition
from penstock.wire import fetch_messages, produce_messages

PRODUCE_VERSION: Final = 12  # the newest that names topics; ids would have to be asked for
FETCH_VERSION: Final = 12
CLIENT_ID: Final = "bench"
TIMEOUT_MS: Final = 30_000
MAX_WAIT_MS: Final = 500  # Kafka's defaults for consumers
MAX_PARTITION_BYTES: Final = 1024 * 1024
MAX_FETCH_BYTES: Final = 50 * 1024 * 1024
_MARK: Final = 0x0123_4567_89AB_CDEF
_LONGEST_NAME: Final = 100  # its length must fit in one byte


class ProduceFrame(NamedTuple):
    """A request with its length in front; `error_at` counts from the correlation id of the answer."""

    data: bytes
    error_at: int


class FetchFrame(NamedTuple):
    """`offset_at` is where the fetch offset stands in the request, the others count in the answer."""

    data: bytes
    offset_at: int
    error_at: int
    records_at: int


def produce_frame(topic: str, partition: int, batch: bytes) -> ProduceFrame:
    parts = produce_messages.encode_request(
        PRODUCE_VERSION, {TopicPartition(topic, partition): batch}, timeout_ms=TIMEOUT_MS
    )
    # Correlation id, tags, one topic, its name, one partition, its index: then the error.
    error_at = 4 + 1 + 1 + _name_bytes(topic) + 1 + 4
    return ProduceFrame(_framed(Api.PRODUCE, PRODUCE_VERSION, b"".join(parts)), error_at)


def fetch_frame(topic: str, partition: int) -> FetchFrame:
    wanted = fetch_messages.Wanted(topic, ZERO_UUID, partition, -1, _MARK, MAX_PARTITION_BYTES)
    body = fetch_messages.encode_request(
        *(FETCH_VERSION, wanted),
        max_wait_ms=MAX_WAIT_MS,
        max_bytes=MAX_FETCH_BYTES,
        isolation=READ_UNCOMMITTED,
    )
    frame = _framed(Api.FETCH, FETCH_VERSION, body)
    # Correlation id, tags, throttle time, error, session id, one topic, its name, one partition, its index.
    error_at = 4 + 1 + 4 + 2 + 4 + 1 + _name_bytes(topic) + 1 + 4
    # High watermark, last stable offset, log start offset, no aborted transactions, preferred replica.
    records_at = error_at + 2 + 8 + 8 + 8 + 1 + 4
    return FetchFrame(frame, frame.index(struct.pack(">q", _MARK)), error_at, records_at)


def versions_frame() -> bytes:
    """ApiVersions v0: what every client says first."""
    return _framed(Api.API_VERSIONS, 0, b"", flexible=False)


def metadata_frame() -> bytes:
    """Metadata v1 without topics: who is in the cluster?"""
    return _framed(Api.METADATA, 1, struct.pack(">i", 0), flexible=False)


def _framed(api: Api, version: int, body: bytes, *, flexible: bool = True) -> bytes:
    header = Writer(flexible=False)
    header.int16(api)
    header.int16(version)
    header.int32(0)  # answers come in order; nobody looks at the number
    header.nullable_string(CLIENT_ID)
    if flexible:
        header.data += b"\x00"
    return struct.pack(">i", len(header.data) + len(body)) + header.data + body


def _name_bytes(topic: str) -> int:
    assert len(topic) <= _LONGEST_NAME, "a shorter name, please"
    return 1 + len(topic.encode())
