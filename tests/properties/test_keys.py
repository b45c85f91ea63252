"""The native map of keys and its pure twin say the same of every input, and what they say is right."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.records import _keys_pure as pure
from penstock.records.batch import HEADER_SIZE, CorruptBatch
from penstock.records.record import Record, encode_batch
from tests.properties.test_walk import INT64, TIMESTAMPS, mutated

native = pytest.importorskip(
    "penstock.records._keys_native", reason="the native walk is not built: no compiler at installation"
)

SECRET = bytes(range(16))
KEYS = st.none() | st.sampled_from([b"", b"a", b"b", b"seven bytes"]) | st.binary(max_size=40)
RECORDS = st.lists(
    st.builds(Record, KEYS, st.none() | st.binary(max_size=20), st.just(()), TIMESTAMPS),
    min_size=1,
    max_size=20,
)


def answer(call: Any, *arguments: Any, **options: Any) -> Any:
    """What the call gives, or how it refuses."""
    try:
        return call(*arguments, **options)
    except CorruptBatch as refused:
        return str(refused)


def answers(twin: Any, payloads: list[Any], start: int, slots: int, options: dict[str, Any]) -> list[Any]:
    """Everything that a twin says of these payloads."""
    keys = twin.OffsetMap(slots, SECRET)
    said: list[Any] = [keys.capacity]
    for index, case in enumerate(payloads):
        said += [answer(keys.add, *case, 100 * index, start), keys.size]
    for index, case in enumerate(payloads):
        said.append(answer(keys.sift, *case, base_offset=100 * index, **options))
    return said


@settings(max_examples=100, deadline=None)
@given(
    payloads=st.lists(mutated(), max_size=4),
    start=st.integers(0, 400),
    slots=st.integers(1, 100),
    options=st.fixed_dictionaries(
        {
            "base_timestamp": TIMESTAMPS | INT64,
            "latest_offset": st.integers(-1, 400),
            "keep_tombstones": st.booleans(),
            "horizon": st.none() | TIMESTAMPS | INT64,
        }
    ),
)
def test_both_twins_answer_alike(
    payloads: list[Any], start: int, slots: int, options: dict[str, Any]
) -> None:
    assert answers(native, payloads, start, slots, options) == answers(pure, payloads, start, slots, options)


@settings(max_examples=50, deadline=None)
@given(batches=st.lists(RECORDS, min_size=1, max_size=5), keep_tombstones=st.booleans())
def test_the_last_record_of_each_key_stays(batches: list[list[Record]], keep_tombstones: bool) -> None:
    last: dict[bytes, int] = {}
    base = 0
    placed = []
    for records in batches:
        last |= {record.key: base + index for index, record in enumerate(records) if record.key is not None}
        placed.append((base, bytes(encode_batch(records)[HEADER_SIZE:]), records))
        base += len(records)
    for twin in (native, pure):
        keys = twin.OffsetMap(1000, SECRET)
        assert all(keys.add(payload, len(records), base, 0) for base, payload, records in placed)
        assert {key: keys.get(key) for key in last} == last
        assert (keys.size, keys.get(b"never seen, and longer than a block")) == (len(last), -1)
        for base, payload, records in placed:
            stays = [
                record.key is not None
                and last[record.key] == base + index
                and (record.value is not None or keep_tombstones)
                for index, record in enumerate(records)
            ]
            sifted = keys.sift(
                payload,
                len(records),
                base_offset=base,
                base_timestamp=records[0].timestamp_ms,
                latest_offset=1000,
                keep_tombstones=keep_tombstones,
            )
            assert sifted.kept == sum(stays)
            assert (sifted.payload is None) == all(stays)


def test_the_hash_is_siphash_2_4_of_128_bits() -> None:
    # The first vectors of the reference implementation: the key is 00 01 ... 0f, the inputs 00 01 ...
    assert native.key_hash(b"", SECRET).hex() == "a3817f04ba25a8e66df67214c7550293"
    assert native.key_hash(b"\x00", SECRET).hex() == "da87c1d86b99af44347659119b22fc45"
    assert native.key_hash(bytes(range(15)), SECRET).hex() == "5493e99933b0a8117e08ec0f97cfc3d9"


def test_a_full_map_says_so_and_keeps_what_it_has() -> None:
    payload = bytes(encode_batch([Record(b"%d" % number, b"") for number in range(20)])[HEADER_SIZE:])
    for twin in (native, pure):
        keys = twin.OffsetMap(10, SECRET)
        assert not keys.add(payload, 20, 0, 0)
        assert (keys.size, keys.capacity) == (8, 8)
        assert (keys.get(b"7"), keys.get(b"8")) == (7, -1)
