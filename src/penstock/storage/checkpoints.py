"""Small text files in Kafka's checkpoint format: a version, the number of entries, one entry a line.

    0
    2
    orders 0 1571
    orders 1 1499

Offsets of all logs of a directory stand in three of them; each log has another one for its leader epochs
(`penstock.storage.epochs`). They are replaced atomically and synced. A damaged file is `Corruption`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from penstock.protocol.topic_partition import TopicPartition
from penstock.storage.disk import Disk
from penstock.storage.errors import Corruption

_VERSION = "0"


def write_lines(disk: Disk, path: str, lines: Iterable[str], *, durable: bool = True) -> None:
    """Replace the checkpoint with these entries."""
    entries = list(lines)
    text = "".join(f"{line}\n" for line in (_VERSION, len(entries), *entries))
    disk.write_atomic(path, text.encode(), durable=durable)


def read_lines(disk: Disk, path: str) -> list[str]:
    """The entries of the checkpoint; none when there is no file."""
    try:
        data = disk.read_bytes(path)
    except FileNotFoundError:
        return []
    try:
        version, count, *entries = data.decode("ascii").splitlines()
        if version != _VERSION or int(count) != len(entries):
            raise ValueError(f"version {version!r}, {count!r} entries announced, {len(entries)} found")
        if not data.endswith(b"\n"):
            raise ValueError(f"the last line is torn: {entries[-1:]!r}")
    except ValueError as error:
        raise Corruption(path, 0, f"no checkpoint: {error}") from error
    return entries


def write_offsets(disk: Disk, path: str, offsets: Mapping[TopicPartition, int]) -> None:
    """Replace an offset checkpoint."""
    write_lines(
        disk, path, (f"{topic} {partition} {offset}" for (topic, partition), offset in offsets.items())
    )


def read_offsets(disk: Disk, path: str) -> dict[TopicPartition, int]:
    """An offset checkpoint; empty when there is no file."""
    offsets: dict[TopicPartition, int] = {}
    for line in read_lines(disk, path):
        try:
            topic, partition, offset = line.split(" ")
            offsets[TopicPartition(topic, int(partition))] = int(offset)
        except ValueError as error:
            raise Corruption(path, 0, f"no entry of a checkpoint: {line!r}") from error
    return offsets
