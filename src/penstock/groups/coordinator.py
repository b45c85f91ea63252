"""Which shard a group lives in, and how a shard's records reach its partition of `__consumer_offsets` and
come back."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from threading import Lock
from typing import Final, Protocol

from penstock.groups.offset_records import CommittedOffset, OffsetKey
from penstock.groups.offsets import CommittedOffsets
from penstock.protocol.errors import ErrorCode, KafkaError
from penstock.records.record import Record, encode_batch

OFFSETS_TOPIC: Final = "__consumer_offsets"


class ShardLog(Protocol):
    """The partition under a shard: the shard appends what it decided, and reads everything back when it
    starts."""

    def append(self, batch: memoryview) -> object: ...

    def read_all(self) -> Iterator[Record]: ...


class _Shard:
    """One partition of the offsets topic. The lock comes before the partition's own."""

    def __init__(self, log: ShardLog, metadata_max_bytes: int) -> None:
        self.lock = Lock()
        self.log = log
        self.offsets = CommittedOffsets(metadata_max_bytes)
        self.offsets.replay(log.read_all())


class GroupCoordinator:
    """Answers for the groups of this broker. A shard is loaded when it is first asked for."""

    def __init__(self, shard_log: Callable[[int], ShardLog | None], metadata_max_bytes: int) -> None:
        self._shard_log = shard_log
        self._metadata_max_bytes = metadata_max_bytes
        self._shards: dict[int, _Shard] = {}
        self._lock = Lock()

    def commit(
        self, group: str, generation_id: int, wanted: Iterable[tuple[OffsetKey, CommittedOffset]], shards: int
    ) -> dict[OffsetKey, KafkaError | None]:
        """Each partition is decided by itself; what is accepted is written as one batch."""
        shard = self._shard(group, shards)
        results: dict[OffsetKey, KafkaError | None] = {}
        records = []
        with shard.lock:
            for key, committed in wanted:
                try:
                    records.append(shard.offsets.decide_commit(key, committed, generation_id))
                    results[key] = None
                except KafkaError as error:
                    results[key] = error
            if records:
                shard.log.append(memoryview(encode_batch(records)))
                shard.offsets.replay(records)
        return results

    def committed(self, group: str, shards: int) -> Mapping[tuple[str, int], CommittedOffset]:
        shard = self._shard(group, shards)
        with shard.lock:
            return dict(shard.offsets.of(group))

    def _shard(self, group: str, shards: int) -> _Shard:
        index = shard_of(group, shards)
        with self._lock:
            shard = self._shards.get(index)
            if shard is None:
                log = self._shard_log(index)
                if log is None:
                    raise KafkaError(
                        ErrorCode.COORDINATOR_NOT_AVAILABLE, f"{OFFSETS_TOPIC} is not there yet."
                    )
                shard = self._shards[index] = _Shard(log, self._metadata_max_bytes)
            return shard


def shard_of(group: str, shards: int) -> int:
    """Kafka's choice: Java's hash of the group id, made positive, modulo the partitions of the offsets
    topic."""
    value = 0
    for unit in _utf16_units(group):
        value = (31 * value + unit) & 0xFFFFFFFF
    signed = value - (1 << 32) if value >= 1 << 31 else value
    return (0 if signed == -(1 << 31) else abs(signed)) % shards


def _utf16_units(text: str) -> Iterator[int]:
    encoded = text.encode("utf-16-be", "surrogatepass")
    return (int.from_bytes(encoded[at : at + 2], "big") for at in range(0, len(encoded), 2))
