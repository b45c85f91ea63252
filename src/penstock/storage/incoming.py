"""What must hold of batches before a log takes them: size, CRC, counts, timestamps. Bytes in, headers out.

Sequence numbers of producers are checked by `penstock.storage.producers`, records inside a batch by
`penstock.storage.contents`. The rules, and the error code of each, are Kafka's
(`UnifiedLog.analyzeAndValidateRecords`, `LogValidator.validateBatch`).
"""

from __future__ import annotations

from typing import Literal, TypeAlias

from penstock.protocol.errors import ErrorCode, KafkaError
from penstock.records.batch import (
    HEADER_SIZE,
    MAGIC,
    NO_PRODUCER_ID,
    BatchHeader,
    CorruptBatch,
    check_crc,
    read_header,
)
from penstock.settings.topic import TopicSettings
from penstock.storage.contents import check_records

Origin: TypeAlias = Literal["client", "replica", "coordinator"]
"""Who made the batches: a producer, the partition's leader (their offsets stand), or this broker itself."""


def examine(
    batches: memoryview, origin: Origin, settings: TopicSettings, now_ms: int, name: str = ""
) -> list[tuple[int, BatchHeader]]:
    """Every batch with its position. KafkaError when one may not be appended to the log `name`.

    A leader sends followers slices of its file: the last batch of a replica's bytes may be partial and is
    left out.
    """
    examined: list[tuple[int, BatchHeader]] = []
    position = 0
    end = len(batches)
    while end - position >= HEADER_SIZE:
        try:
            header = read_header(batches, position)
            if position + header.size_bytes > end:
                break
            if header.magic != MAGIC:
                raise KafkaError(ErrorCode.INVALID_RECORD, f"magic {header.magic} is not {MAGIC}")
            if origin != "replica":
                _check_own(header, origin, settings)
            if origin != "coordinator":
                check_crc(batches, position, header)
            if origin == "client":
                batch = batches[position : position + header.size_bytes]
                header = check_records(batch, header, settings, now_ms, name)
        except CorruptBatch as error:
            raise KafkaError(ErrorCode.CORRUPT_MESSAGE, f"batch at byte {position}: {error}") from None
        examined.append((position, header))
        position += header.size_bytes
    if origin != "replica":
        if position != end:
            raise KafkaError(ErrorCode.CORRUPT_MESSAGE, f"the batch at byte {position} is cut short")
        if not examined or (origin == "client" and len(examined) > 1):
            message = f"{len(examined)} batches for one partition, where exactly one is expected"
            raise KafkaError(ErrorCode.INVALID_RECORD, message)
    return examined


def _check_own(header: BatchHeader, origin: Origin, settings: TopicSettings) -> None:
    """What is asked of batches that get their offsets here."""
    if header.size_bytes > settings.max_message_bytes:
        message = (
            f"a batch of {header.size_bytes} bytes exceeds max.message.bytes {settings.max_message_bytes}"
        )
        raise KafkaError(ErrorCode.MESSAGE_TOO_LARGE, message)
    count = header.records_count
    if count <= 0 or count != header.last_offset_delta + 1:
        message = f"{count} records do not match last offset delta {header.last_offset_delta}"
        raise KafkaError(ErrorCode.INVALID_RECORD, message)
    if origin == "client":
        _check_client(header)


def _check_client(header: BatchHeader) -> None:
    """What is asked of producers beyond that."""
    if header.base_offset:
        raise KafkaError(
            ErrorCode.INVALID_RECORD, f"base offset {header.base_offset} of a new batch is not 0"
        )
    if header.is_control:
        raise KafkaError(ErrorCode.INVALID_RECORD, "clients may not write control records")
    if header.is_transactional and header.producer_id == NO_PRODUCER_ID:
        raise KafkaError(ErrorCode.INVALID_RECORD, "a transactional batch without a producer id")
    if header.delete_horizon_ms is not None:
        raise KafkaError(ErrorCode.INVALID_RECORD, "only the cleaner sets a delete horizon")
    if header.producer_id > NO_PRODUCER_ID and header.base_sequence < 0:
        raise KafkaError(ErrorCode.INVALID_RECORD, f"sequence {header.base_sequence} with a producer id")
    if header.is_log_append_time:
        raise KafkaError(
            ErrorCode.INVALID_TIMESTAMP, "producers may not set the timestamp type to LogAppendTime"
        )
