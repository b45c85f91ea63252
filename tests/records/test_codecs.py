"""The codecs: their framings byte by byte where peers depend on them, and what a bomb gets."""

from __future__ import annotations

import gzip
import tracemalloc

import cramjam
import pytest

from penstock.records.codecs import Codec, CodecError, TooLarge, compress, decompress

TEXT = b"the quick brown fox jumps over the lazy dog. " * 4000
MEGABYTE = 1 << 20


@pytest.mark.parametrize("codec", list(Codec))
@pytest.mark.parametrize("data", [b"", b"x", TEXT], ids=["empty", "one byte", "text"])
def test_what_is_compressed_comes_back(codec: Codec, data: bytes) -> None:
    assert bytes(decompress(codec, compress(codec, data), MEGABYTE)) == data


@pytest.mark.parametrize("codec", list(Codec))
def test_views_are_taken_as_well_as_bytes(codec: Codec) -> None:
    compressed = compress(codec, memoryview(bytearray(TEXT)))
    assert bytes(decompress(codec, memoryview(compressed), MEGABYTE)) == TEXT


@pytest.mark.parametrize("codec", list(Codec))
@pytest.mark.parametrize("size", [0, 4096, 2 * len(TEXT), 2 * MEGABYTE])
def test_a_room_of_any_size_changes_nothing_of_what_comes_back(codec: Codec, size: int) -> None:
    room = bytearray(b"!" * size)
    for data in (TEXT, b"short"):
        assert bytes(decompress(codec, compress(codec, data), MEGABYTE, room)) == data
    with pytest.raises(TooLarge):
        decompress(codec, compress(codec, TEXT), len(TEXT) - 1, room)


@pytest.mark.parametrize("codec", [Codec.GZIP, Codec.LZ4, Codec.ZSTD])
def test_a_level_may_be_chosen(codec: Codec) -> None:
    assert len(compress(codec, TEXT, level=9)) <= len(compress(codec, TEXT, level=1))


def test_lz4_blocks_are_independent_as_java_demands() -> None:
    magic, flags = compress(Codec.LZ4, TEXT)[:4], compress(Codec.LZ4, TEXT)[4]
    assert magic == bytes.fromhex("04224d18")
    assert flags & 0x20


def test_snappy_is_written_in_xerial_frames_of_32_kilobytes() -> None:
    framed = compress(Codec.SNAPPY, TEXT)
    assert framed.startswith(b"\x82SNAPPY\x00\x00\x00\x00\x01\x00\x00\x00\x01")
    size = int.from_bytes(framed[16:20], "big")
    assert cramjam.snappy.decompress_raw_len(framed[20 : 20 + size]) == 32 * 1024


def test_raw_snappy_is_read_as_librdkafka_writes_it() -> None:
    assert decompress(Codec.SNAPPY, bytes(cramjam.snappy.compress_raw(TEXT)), MEGABYTE) == TEXT


def test_xerial_streams_may_follow_each_other() -> None:
    stream = compress(Codec.SNAPPY, TEXT)
    assert decompress(Codec.SNAPPY, stream + stream, MEGABYTE) == TEXT * 2


def test_gzip_members_may_follow_each_other() -> None:
    assert bytes(decompress(Codec.GZIP, gzip.compress(TEXT) * 2, MEGABYTE)) == TEXT * 2


@pytest.mark.parametrize("codec", list(Codec))
def test_a_result_of_exactly_the_bound_is_allowed_and_one_byte_more_is_not(codec: Codec) -> None:
    compressed = compress(codec, TEXT)
    assert bytes(decompress(codec, compressed, len(TEXT))) == TEXT
    with pytest.raises(TooLarge):
        decompress(codec, compressed, len(TEXT) - 1)


@pytest.mark.parametrize("codec", [Codec.GZIP, Codec.SNAPPY, Codec.LZ4, Codec.ZSTD])
def test_a_bomb_is_refused_without_unpacking_it(codec: Codec) -> None:
    bomb = compress(codec, bytes(64 * MEGABYTE))
    tracemalloc.start()
    try:
        with pytest.raises(TooLarge):
            decompress(codec, bomb, MEGABYTE)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 3 * MEGABYTE


def test_a_raw_snappy_that_announces_gigabytes_is_refused() -> None:
    with pytest.raises(TooLarge):
        decompress(Codec.SNAPPY, b"\xff\xff\xff\xff\x0f" + b"\x00" * 10, MEGABYTE)


@pytest.mark.parametrize("codec", [Codec.GZIP, Codec.SNAPPY, Codec.LZ4, Codec.ZSTD])
def test_a_stream_cut_anywhere_is_refused(codec: Codec) -> None:
    compressed = compress(codec, TEXT[:2000])
    for size in range(17, len(compressed)):
        with pytest.raises(CodecError):
            decompress(codec, compressed[:size], MEGABYTE)


@pytest.mark.parametrize("codec", [Codec.GZIP, Codec.SNAPPY, Codec.LZ4, Codec.ZSTD])
def test_garbage_is_refused(codec: Codec) -> None:
    with pytest.raises(CodecError):
        decompress(codec, b"\xde\xad\xbe\xef" * 8, MEGABYTE)
