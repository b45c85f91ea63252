"""The native walk and its pure twin say the same of every input."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from crc32c import crc32c
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.protocol.errors import KafkaError
from penstock.records import _walk_pure as pure
from penstock.records.batch import CRC_POSITION, CRC_START, HEADER_SIZE, TRANSACTIONAL_FLAG, CorruptBatch
from penstock.records.codecs import Codec
from penstock.records.record import Record, encode_batch
from penstock.settings.topic import TopicSettings
from penstock.storage import incoming

native = pytest.importorskip(
    "penstock.records._walk_native", reason="the native walk is not built: no compiler at installation"
)

INT64 = st.integers(-(1 << 63), (1 << 63) - 1)
TIMESTAMPS = st.integers(-1, 1 << 45)
HEADERS = st.lists(st.tuples(st.text(max_size=4), st.none() | st.binary(max_size=6)), max_size=3).map(tuple)
RECORDS = st.lists(
    st.builds(
        Record, st.none() | st.binary(max_size=200), st.none() | st.binary(max_size=200), HEADERS, TIMESTAMPS
    ),
    min_size=1,
    max_size=20,
)


def payload_of(records: list[Record]) -> bytes:
    return bytes(encode_batch(records)[HEADER_SIZE:])


@st.composite
def mutated(draw: st.DrawFn) -> tuple[bytes, int]:
    """A payload that was right before some bytes were changed, inserted or cut, and a count that may be
    wrong.
    """
    records = draw(RECORDS)
    payload = bytearray(payload_of(records))
    for _ in range(draw(st.integers(0, 4))):
        place = draw(st.integers(0, max(0, len(payload) - 1)))
        kind = draw(st.sampled_from(["flip", "insert", "cut", "end"]))
        if kind == "flip" and payload:
            payload[place] = draw(st.integers(0, 255))
        elif kind == "insert":
            payload[place:place] = draw(st.binary(min_size=1, max_size=10))
        elif kind == "cut":
            del payload[place : place + draw(st.integers(1, 5))]
        else:
            del payload[place:]
    return bytes(payload), draw(st.just(len(records)) | st.integers(-1, 30))


def outcome(call: Any, *arguments: Any, **options: Any) -> str:
    try:
        call(*arguments, **options)
    except (CorruptBatch, OverflowError) as refused:
        return f"{type(refused).__name__}: {refused}"
    return "taken"


@settings(max_examples=400, deadline=None)
@given(mutated() | st.tuples(st.binary(max_size=80), st.integers(-1, 12)), INT64, st.booleans())
def test_both_twins_judge_every_payload_alike(
    case: tuple[bytes, int], base_timestamp: int, require_keys: bool
) -> None:
    options = {"base_timestamp": base_timestamp, "require_keys": require_keys}
    assert outcome(native.validate, *case, **options) == outcome(pure.validate, *case, **options)


def refused_by(twin: Any, *arguments: Any, **options: Any) -> Any:
    try:
        return twin.refusals(*arguments, **options)
    except (CorruptBatch, OverflowError) as refused:
        return f"{type(refused).__name__}: {refused}"


@settings(max_examples=300, deadline=None)
@given(
    mutated() | st.tuples(st.binary(max_size=80), st.integers(-1, 12)),
    TIMESTAMPS,
    st.booleans(),
    TIMESTAMPS,
    TIMESTAMPS,
    st.integers(0, 5),
)
def test_both_twins_refuse_the_same_records(
    case: tuple[bytes, int], base: int, require_keys: bool, earliest: int, latest: int, most: int
) -> None:
    options = {
        "base_timestamp": base,
        "require_keys": require_keys,
        "earliest": earliest,
        "latest": latest,
    }
    refused = refused_by(pure, *case, most, **options)
    assert refused_by(native, *case, most, **options) == refused
    if not isinstance(refused, str) and case[1]:
        total, found = refused
        assert len(found) == min(total, most)
        assert (outcome(pure.validate, *case, **options) == "taken") == (total == 0)


@settings(max_examples=100, deadline=None)
@given(RECORDS)
def test_what_the_encoder_wrote_is_valid(records: list[Record]) -> None:
    for twin in (native, pure):
        twin.validate(payload_of(records), len(records), base_timestamp=records[0].timestamp_ms)


@st.composite
def nearly_right(draw: st.DrawFn) -> bytearray:
    """A batch of which a few bytes may be others, under a CRC that is mostly right."""
    records = draw(RECORDS)
    options: dict[str, Any] = {"codec": draw(st.sampled_from([Codec.NONE, Codec.NONE, Codec.LZ4]))}
    if draw(st.booleans()):
        options.update(
            producer_id=draw(st.integers(-1, 3)), producer_epoch=0, base_sequence=draw(st.integers(-1, 3))
        )
    batch = bytearray(encode_batch(records, **options))
    for _ in range(draw(st.sampled_from([0, 0, 1, 2]))):
        batch[draw(st.integers(0, len(batch) - 1))] = draw(st.integers(0, 255))
    if draw(st.booleans()):
        batch[CRC_POSITION:CRC_START] = crc32c(batch[CRC_START:]).to_bytes(4, "big")
    return batch + draw(st.sampled_from([b"", b"", b"\0", bytes(70)]))


@settings(max_examples=150, deadline=None)
@given(
    nearly_right(), st.booleans(), st.sampled_from([TopicSettings(), TopicSettings(max_message_bytes=300)])
)
def test_what_is_accepted_at_a_glance_is_what_a_closer_look_takes(
    batch: bytearray, compacted: bool, topic: TopicSettings
) -> None:
    if compacted:
        topic = replace(topic, cleanup_policy=("compact",))
    view, now_ms = memoryview(batch), 1 << 44
    accepted = native.accept(
        view,
        topic.max_message_bytes,
        compacted,
        now_ms,
        topic.message_timestamp_before_max_ms,
        topic.message_timestamp_after_max_ms,
    )
    before = bytes(batch)
    try:
        looked: Any = incoming.examine_produced(view, topic, now_ms).headers
    except KafkaError:
        looked = None
    if accepted is not None:
        assert looked == [(0, accepted)]
        assert bytes(batch) == before
    elif looked is not None:
        header = looked[0][1]
        assert (
            header.codec
            or bytes(batch) != before
            or header.attributes & ~TRANSACTIONAL_FLAG
            or header.producer_id < -1
        )


def test_a_plain_batch_is_accepted_at_a_glance() -> None:
    batch = memoryview(encode_batch([Record(b"k", b"v", (), 7)]))
    assert native.accept(batch, 1000, True, 6, 10, 1) is not None
    assert native.accept(batch, 1000, True, 6, 10, 0) is None
    assert native.accept(batch, 1000, True, 9, 2, 0) is not None
    assert native.accept(batch, 1000, True, 9, 1, 0) is None
    assert native.accept(batch, 1000, True, 9, (1 << 63) - 1, (1 << 63) - 1) is not None
