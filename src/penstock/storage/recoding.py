"""`compression.type`: a producer's batch in the codec that its topic stores. Called without the log's lock.

With `producer`, the default, batches stay as they were sent and nothing here is done.
"""

from __future__ import annotations

from typing import Final

from penstock.protocol.errors import ErrorCode, KafkaError
from penstock.records.batch import CODEC_MASK, HEADER, HEADER_SIZE, LENGTH_OVERHEAD, BatchHeader, compute_crc
from penstock.records.codecs import Codec, compress, decompress
from penstock.records.record import MAX_DECODED_BYTES
from penstock.settings.topic import TopicSettings

AS_PRODUCED: Final = "producer"
_CODECS: Final = {"uncompressed": Codec.NONE, **{codec.name.lower(): codec for codec in Codec if codec}}


def recode(batch: memoryview, header: BatchHeader, settings: TopicSettings) -> tuple[memoryview, BatchHeader]:
    """The batch and its header as the topic wants them; the records inside are the same bytes."""
    codec = _CODECS[settings.compression_type]
    if codec == header.codec:
        return batch, header
    payload = decompress(header.codec, batch[HEADER_SIZE:], MAX_DECODED_BYTES)
    packed = compress(codec, payload, _level(codec, settings))
    changed = header._replace(
        batch_length=HEADER_SIZE + len(packed) - LENGTH_OVERHEAD,
        attributes=header.attributes & ~CODEC_MASK | codec,
    )
    data = bytearray(HEADER.pack(*changed)) + packed
    changed = changed._replace(crc=compute_crc(data, 0, len(data)))
    HEADER.pack_into(data, 0, *changed)
    if len(data) > settings.max_message_bytes:
        message = f"a batch of {len(data)} bytes in {codec.name.lower()} exceeds max.message.bytes "
        raise KafkaError(ErrorCode.MESSAGE_TOO_LARGE, f"{message}{settings.max_message_bytes}")
    return memoryview(data), changed


def _level(codec: Codec, settings: TopicSettings) -> int | None:
    levels = {
        Codec.GZIP: settings.compression_gzip_level,
        Codec.LZ4: settings.compression_lz4_level,
        Codec.ZSTD: settings.compression_zstd_level,
    }
    level = levels.get(codec)
    return None if codec is Codec.GZIP and level == -1 else level
