"""What must hold of batches before a log takes them: size, CRC, counts, timestamps. Bytes in, headers out.

Sequence numbers of producers are checked by `penstock.storage.producers`, records inside a batch by
`penstock.storage.contents`. The rules, and the error code of each, are Kafka's
(`UnifiedLog.analyzeAndValidateRecords`, `LogValidator.validateBatch`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

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


class ExaminedBatches(NamedTuple):
    """Batches that may be appended. A log takes nothing else."""

    data: memoryview
    headers: Sequence[tuple[int, BatchHeader]]
    """Every whole batch of `data`: its position and its header."""

    @property
    def size_bytes(self) -> int:
        """Of the whole batches."""
        if not self.headers:
            return 0
        position, header = self.headers[-1]
        return position + header.size_bytes


def examine_produced(
    batches: memoryview, settings: TopicSettings, now_ms: int, name: str = ""
) -> ExaminedBatches:
    """What a producer sent: exactly one batch, in which every byte is checked. KafkaError when it may not be
    appended to the log `name`."""
    headers: list[tuple[int, BatchHeader]] = []
    for position, header in _whole_batches(batches):
        _check_size_and_count(header, settings)
        _check_produced(header)
        _check_crc(batches, position, header)
        batch = batches[position : position + header.size_bytes]
        headers.append((position, _check_contents(batch, position, header, settings, now_ms, name)))
    examined = ExaminedBatches(batches, headers)
    _check_nothing_is_left(examined)
    if len(headers) > 1:
        raise _wrong_number_of_batches(len(headers))
    return examined


def examine_internal(batches: memoryview, settings: TopicSettings) -> ExaminedBatches:
    """What this broker wrote itself, for an internal topic. Its checksums are taken on trust."""
    headers: list[tuple[int, BatchHeader]] = []
    for position, header in _whole_batches(batches):
        _check_size_and_count(header, settings)
        headers.append((position, header))
    examined = ExaminedBatches(batches, headers)
    _check_nothing_is_left(examined)
    return examined


def examine_fetched(batches: memoryview) -> ExaminedBatches:
    """What the leader of a partition sent; the offsets in it stand.

    A leader sends followers slices of its file: the last batch may be partial and is left out.
    """
    headers: list[tuple[int, BatchHeader]] = []
    for position, header in _whole_batches(batches):
        _check_crc(batches, position, header)
        headers.append((position, header))
    return ExaminedBatches(batches, headers)


def _whole_batches(batches: memoryview) -> Iterator[tuple[int, BatchHeader]]:
    position, end = 0, len(batches)
    while end - position >= HEADER_SIZE:
        try:
            header = read_header(batches, position)
        except CorruptBatch as error:
            raise _corrupt(position, error) from None
        if position + header.size_bytes > end:
            return
        if header.magic != MAGIC:
            raise KafkaError(ErrorCode.INVALID_RECORD, f"magic {header.magic} is not {MAGIC}")
        yield position, header
        position += header.size_bytes


def _check_crc(batches: memoryview, position: int, header: BatchHeader) -> None:
    try:
        check_crc(batches, position, header)
    except CorruptBatch as error:
        raise _corrupt(position, error) from None


def _check_contents(
    batch: memoryview, position: int, header: BatchHeader, settings: TopicSettings, now_ms: int, name: str
) -> BatchHeader:
    try:
        return check_records(batch, header, settings, now_ms, name)
    except CorruptBatch as error:
        raise _corrupt(position, error) from None


def _corrupt(position: int, error: CorruptBatch) -> KafkaError:
    return KafkaError(ErrorCode.CORRUPT_MESSAGE, f"batch at byte {position}: {error}")


def _check_nothing_is_left(examined: ExaminedBatches) -> None:
    """Batches that get their offsets here come whole, and there is at least one."""
    if examined.size_bytes != len(examined.data):
        raise KafkaError(ErrorCode.CORRUPT_MESSAGE, f"the batch at byte {examined.size_bytes} is cut short")
    if not examined.headers:
        raise _wrong_number_of_batches(0)


def _wrong_number_of_batches(count: int) -> KafkaError:
    message = f"{count} batches for one partition, where exactly one is expected"
    return KafkaError(ErrorCode.INVALID_RECORD, message)


def _check_size_and_count(header: BatchHeader, settings: TopicSettings) -> None:
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


def _check_produced(header: BatchHeader) -> None:
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
