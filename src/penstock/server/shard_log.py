"""The partition under a coordinator's shard, as the shard wants to see it: append a batch, read every record
back."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from penstock.records.batch import iter_headers
from penstock.records.record import Record, decode_batch
from penstock.replication.partition import Partition

_READ_BYTES: Final = 1 << 20


class PartitionShardLog:
    """Adapts `replication.partition:Partition` to `groups.coordinator:ShardLog`."""

    def __init__(self, partition: Partition) -> None:
        self._partition = partition

    def append(self, batch: memoryview) -> object:
        return self._partition.append(batch, origin="coordinator")

    def read_all(self) -> Iterator[Record]:
        offset = self._partition.log.log_start_offset
        while True:
            fetched = self._partition.fetch(offset, _READ_BYTES, at_least_one=True)
            if fetched.records is None:
                return
            data = memoryview(fetched.records.read())
            for position, header in iter_headers(data):
                if not header.is_control:
                    yield from decode_batch(data, position)
                offset = header.next_offset
