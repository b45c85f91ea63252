"""A sink connector: topics are divided among its tasks, and a task writes one batch at a time.

A task is made anew for each batch. The worker reads the partitions of the task, calls `put` with records
after conversion and transforms, then `flush`, and commits the offsets of the consumer group when all tasks
have flushed. Records may therefore come again after a failure. A sink that keeps offsets beside its data
reports them with `stored_offsets` and gets each record once.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import ClassVar

from penstock.connect.api.config_def import ConfigDef
from penstock.connect.data.record import ConnectRecord
from penstock.protocol.topic_partition import TopicPartition


class SinkTask:
    """Writes one batch."""

    def __init__(self, config: Mapping[str, str]) -> None:
        self.config = config
        self.rejected: list[tuple[ConnectRecord, Exception]] = []

    def reject(self, record: ConnectRecord, error: Exception) -> None:
        """Called from `put` for a record that the target refuses for good. With `errors.tolerance=all` it is
        passed over and becomes a dead letter; otherwise the task fails. (Kafka's ErrantRecordReporter.)"""
        self.rejected.append((record, error))

    def stored_offsets(self, partitions: Collection[TopicPartition]) -> Mapping[TopicPartition, int]:
        """The next offset of each partition as the target has it, for those that it knows. It takes the
        place of the group's offset, and locks the partitions against a writer that is not known to be
        dead."""
        return {}

    def put(self, records: Sequence[ConnectRecord]) -> None:
        """Write records; several calls may belong to one batch."""
        raise NotImplementedError

    def flush(self, ends: Mapping[TopicPartition, int]) -> None:
        """Everything that was put must be safe on return. `ends` are the offsets after the batch."""

    def close(self) -> None:
        """Called when the batch is flushed, or has failed."""


class SinkConnector:
    """Lives in the driver. `config` is what the user gave, with secrets resolved."""

    NAMES: ClassVar[tuple[str, ...]] = ()
    VERSION: ClassVar[str] = ""
    CONFIG: ClassVar[ConfigDef] = ConfigDef()
    TASK: ClassVar[type[SinkTask]]
    TASK_NAME: ClassVar[str] = ""
    GUARANTEE: ClassVar[str] = "at least once"

    def __init__(self, config: Mapping[str, str]) -> None:
        self.config = config

    @classmethod
    def check(cls, config: Mapping[str, str]) -> list[tuple[str, str]]:
        """Mistakes beyond those of single settings: the setting's name and a sentence."""
        return []

    def task_configs(self, most: int) -> list[dict[str, str]]:
        return [dict(self.config) for _ in range(most)]

    def close(self) -> None:
        """The connector stops."""
