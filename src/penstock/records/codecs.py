"""The five codecs of record batches, in the framings that Kafka's clients write and read.

gzip and zstd are plain streams, lz4 is the frame format with independent blocks (Java reads no linked ones),
snappy is xerial's framing as Java writes it; raw snappy, as librdkafka writes it, is read too. Decompression
never makes more than `max_bytes`, whatever a stream declares or hides. Called by `penstock.records.record`
and the walk; knows nothing of batches.
"""

from __future__ import annotations

from enum import IntEnum
from mmap import mmap
from struct import Struct

import cramjam


class Codec(IntEnum):
    """The low three bits of a batch's attributes."""

    NONE = 0
    GZIP = 1
    SNAPPY = 2
    LZ4 = 3
    ZSTD = 4


class CodecError(ValueError):
    """The bytes are not what the codec writes."""


class TooLarge(CodecError):
    """The bytes decompress to more than the caller allows."""


GZIP_DEFAULT_LEVEL = 6
ZSTD_DEFAULT_LEVEL = 3
LZ4_DEFAULT_LEVEL = 1

_XERIAL_MAGIC = b"\x82SNAPPY\x00"
_XERIAL_HEADER = _XERIAL_MAGIC + b"\x00\x00\x00\x01\x00\x00\x00\x01"
_XERIAL_BLOCK_BYTES = 32 * 1024
_CHUNK_SIZE = Struct(">I")
# The magic read where a chunk size is expected: concatenated streams carry their header in the middle.
_XERIAL_MAGIC_AS_SIZE = 0x82534E41

_STREAMS = {Codec.GZIP: cramjam.gzip, Codec.LZ4: cramjam.lz4, Codec.ZSTD: cramjam.zstd}
_SMALLEST_GUESS_BYTES = 4096
_GROWTH = 4
_MAPPED_FROM_BYTES = 4 * 1024 * 1024
# With these words cramjam says that the output buffer is too small; everything else is a broken stream.
_OUTPUT_FULL = "failed to write whole buffer"


def compress(codec: Codec, data: bytes | bytearray | memoryview, level: int | None = None) -> bytes:
    """`data` as one stream of `codec`; `level` is the codec's own, None is Kafka's default."""
    if codec is Codec.NONE:
        return bytes(data)
    if codec is Codec.GZIP:
        return bytes(cramjam.gzip.compress(data, level=GZIP_DEFAULT_LEVEL if level is None else level))
    if codec is Codec.ZSTD:
        return bytes(cramjam.zstd.compress(data, level=ZSTD_DEFAULT_LEVEL if level is None else level))
    if codec is Codec.LZ4:
        compressor = cramjam.lz4.Compressor(
            level=LZ4_DEFAULT_LEVEL if level is None else level, content_checksum=False, block_linked=False
        )
        compressor.compress(bytes(data))  # it takes nothing but bytes
        return bytes(compressor.finish())
    return _compress_xerial(memoryview(data))


def decompress(
    codec: Codec,
    data: bytes | bytearray | memoryview,
    max_bytes: int,
    room: bytearray | None = None,
    *,
    at_least: int = 0,
) -> bytes | bytearray | memoryview:
    """What `data` holds. `CodecError` when it is broken, `TooLarge` as soon as it exceeds `max_bytes`.

    The result may stand in `room`, and is then good until the room is used again: new memory costs more than
    a small stream. `at_least` is how many bytes the caller knows that it has.
    """
    if codec is Codec.NONE:
        if len(data) > max_bytes:
            raise TooLarge(f"{len(data)} bytes exceed the bound of {max_bytes}")
        return data
    if codec is Codec.SNAPPY:
        return _decompress_snappy(memoryview(data), max_bytes)
    return _decompress_growing(codec, data, max_bytes, room, at_least)


def _decompress_growing(
    codec: Codec, data: bytes | bytearray | memoryview, max_bytes: int, room: bytearray | None, at_least: int
) -> memoryview:
    """Streams without a trustworthy size: try a buffer of a likely size, then larger ones up to the bound."""
    guess = min(max_bytes, max(_SMALLEST_GUESS_BYTES, len(data) * _GROWTH, at_least))
    output = room if room is not None and guess <= len(room) <= max_bytes else _new_buffer(guess, max_bytes)
    while True:
        try:
            size = _STREAMS[codec].decompress_into(data, output)
            return memoryview(output)[:size]
        except cramjam.DecompressionError as error:
            if _OUTPUT_FULL not in str(error):
                raise CodecError(f"{codec.name.lower()}: {error}") from None
        if len(output) >= max_bytes:
            raise TooLarge(f"{codec.name.lower()}: more than the bound of {max_bytes} bytes")
        output = _new_buffer(min(max_bytes, len(output) * _GROWTH), max_bytes)


def _new_buffer(size: int, max_bytes: int) -> bytearray | mmap:
    """A large one is a memory map of all that is allowed: its pages become real as they are written, and the
    system has them back at once when it is dropped."""
    return mmap(-1, max_bytes) if size > _MAPPED_FROM_BYTES else bytearray(size)


def _compress_xerial(data: memoryview) -> bytes:
    out = bytearray(_XERIAL_HEADER)
    for start in range(0, len(data), _XERIAL_BLOCK_BYTES):
        chunk = bytes(cramjam.snappy.compress_raw(data[start : start + _XERIAL_BLOCK_BYTES]))
        out += _CHUNK_SIZE.pack(len(chunk))
        out += chunk
    return bytes(out)


def _decompress_snappy(data: memoryview, max_bytes: int) -> bytearray:
    if bytes(data[: len(_XERIAL_MAGIC)]) != _XERIAL_MAGIC:
        return _decompress_raw_snappy(data, max_bytes)
    out = bytearray()
    position = len(_XERIAL_HEADER)
    while position < len(data):
        if len(data) - position < _CHUNK_SIZE.size:
            raise CodecError("snappy: the stream ends inside a chunk size")
        (size,) = _CHUNK_SIZE.unpack_from(data, position)
        if size == _XERIAL_MAGIC_AS_SIZE:
            position += len(_XERIAL_HEADER)
            continue
        position += _CHUNK_SIZE.size
        if size > len(data) - position:
            raise CodecError("snappy: the stream ends inside a chunk")
        out += _decompress_raw_snappy(data[position : position + size], max_bytes - len(out))
        position += size
    return out


def _decompress_raw_snappy(data: memoryview, max_bytes: int) -> bytearray:
    try:
        size = cramjam.snappy.decompress_raw_len(data)
        if size > max_bytes:
            raise TooLarge(f"snappy: {size} bytes exceed the bound of {max_bytes}")
        output = bytearray(size)
        cramjam.snappy.decompress_raw_into(data, output)
    except cramjam.DecompressionError as error:
        raise CodecError(f"snappy: {error}") from None
    return output
