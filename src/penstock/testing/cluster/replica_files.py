"""What a broker has of a partition, read from its files while it is down or at rest: Kafka's format, whoever
wrote it."""

from __future__ import annotations

from pathlib import Path

from penstock.records.batch import iter_headers
from penstock.records.record import decode_batch
from penstock.testing.history.events import Partition, ReadRecord, ReplicaLog, Value


def read_replica(data: Path, partition: Partition, broker: int, high_watermark: int) -> ReplicaLog:
    """The records below `high_watermark`, from every segment; control batches are no records."""
    records: list[ReadRecord] = []
    for segment in sorted((data / str(partition)).glob("*.log")):
        content = segment.read_bytes()
        for position, header in iter_headers(content):
            if header.is_control:
                continue
            for record in decode_batch(content, position):
                records.append(ReadRecord(partition, record.offset, Value.parse(record.value), record.key))
    kept = tuple(record for record in records if record.offset < high_watermark)
    return ReplicaLog(partition, broker, kept, high_watermark)
