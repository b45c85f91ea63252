"""ApiVersions (key 18, v0-v4): what a broker speaks. Hand-written because it is the first message of every
connection."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from penstock.protocol.apis import Api
from penstock.protocol.errors import ErrorCode
from penstock.protocol.primitives import Writer


class ApiRange(NamedTuple):
    """The versions of one API that are served, both ends included."""

    api: Api
    min_version: int
    max_version: int


def encode_response(
    version: int,
    ranges: Iterable[ApiRange],
    *,
    error: ErrorCode = ErrorCode.NONE,
    supported: Mapping[str, tuple[int, int]] | None = None,
    finalized: Mapping[str, int] | None = None,
    finalized_epoch: int = 0,
) -> bytes:
    """`supported` and `finalized` are the feature levels of KIP-584, by name."""
    writer = Writer(flexible=version >= 3)
    writer.int16(error)
    served = list(ranges)
    writer.array(len(served))
    for api, low, high in served:
        writer.int16(api)
        writer.int16(low)
        writer.int16(high)
        writer.tags()
    if version >= 1:
        writer.int32(0)  # throttle time
    writer.tags(_features(supported or {}, finalized or {}, finalized_epoch) if version >= 3 else None)
    return bytes(writer.data)


def _features(
    supported: Mapping[str, tuple[int, int]], finalized: Mapping[str, int], finalized_epoch: int
) -> dict[int, bytes]:
    fields: dict[int, bytes] = {}
    if supported:
        fields[0] = _levels((name, low, high) for name, (low, high) in supported.items())
    if finalized:
        fields[1] = finalized_epoch.to_bytes(8, "big", signed=True)
        fields[2] = _levels((name, level, level) for name, level in finalized.items())
    return fields


def _levels(rows: Iterable[tuple[str, int, int]]) -> bytes:
    """Supported features are (name, min, max), finalised ones (name, max, min): equal levels hide the
    difference."""
    writer = Writer(flexible=True)
    features = list(rows)
    writer.array(len(features))
    for name, first, second in features:
        writer.string(name)
        writer.int16(first)
        writer.int16(second)
        writer.tags()
    return bytes(writer.data)
