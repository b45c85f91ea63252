"""Our reader of kio's structures, with kio's as the judge of valid messages; and invalid ones, at which kio's
ends the process."""

from __future__ import annotations

from random import Random

import pytest
from kio.serial import entity_reader

from penstock.protocol.apis import Api
from penstock.protocol.messages import _entity, read_request
from penstock.protocol.primitives import MAX_ITEMS, MalformedMessage, Reader, Writer
from penstock.protocol.structures import read_structure
from tests.fuzz.requests import RequestMaker, served_versions


@pytest.mark.parametrize("kind", ["Request", "Response"])
def test_every_message_is_read_as_kio_reads_it(kind: str, seed: int) -> None:
    random = Random(seed)
    for api, version in served_versions():
        entity = _entity(api, version, kind)
        for _ in range(3):
            data = RequestMaker(random).body(entity)
            reader = Reader(memoryview(data))
            ours = read_structure(entity, reader)
            theirs, _ = entity_reader(entity)(data, 0)  # type: ignore[type-var]
            assert repr(ours) == repr(theirs), (api, version)  # a NaN does not equal itself
            assert reader.remaining == 0


def offset_commit(topics: bytes) -> Reader:
    """OffsetCommit v2 up to its array of topics."""
    writer = Writer()
    writer.string("g")
    writer.int32(-1)
    writer.string("")
    writer.int64(-1)
    return Reader(memoryview(bytes(writer.data) + topics))


@pytest.mark.parametrize("count", [2**31 - 1, 2**30, 1000, -2, -(2**31)])
def test_an_array_that_cannot_be_there_is_refused_before_memory_is_taken(count: int) -> None:
    with pytest.raises(MalformedMessage):
        read_request(Api.OFFSET_COMMIT, 2, offset_commit(count.to_bytes(4, "big", signed=True)))


def test_null_is_refused_where_an_array_must_stand() -> None:
    with pytest.raises(MalformedMessage, match="null where the array topics must stand"):
        read_request(Api.OFFSET_COMMIT, 2, offset_commit(b"\xff\xff\xff\xff"))


def test_a_message_holds_so_many_items_and_no_more() -> None:
    writer = Writer(flexible=True)
    writer.array(MAX_ITEMS + 1)
    writer.data += b"\x01\x01\x00" * (MAX_ITEMS + 1)
    with pytest.raises(MalformedMessage, match="more than"):
        read_request(Api.DELETE_RECORDS, 2, Reader(memoryview(bytes(writer.data))))


def test_a_time_beyond_all_ages_is_held_all_the_same() -> None:
    writer = Writer()
    writer.string("g")
    writer.int32(-1)
    writer.string("")
    writer.int64(2**63 - 1)
    writer.array(0)
    commit = read_request(Api.OFFSET_COMMIT, 2, Reader(memoryview(bytes(writer.data))))
    assert commit.retention_time.days > 10_000_000
