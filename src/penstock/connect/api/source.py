"""A source connector: it divides its source among tasks, and a task reads one batch at a time.

A task is made anew for each batch, from its settings and the offsets where the last batch ended. It keeps no
state between batches: what was committed is where the next batch begins, whatever has failed meanwhile.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

from penstock.connect.api.config_def import ConfigDef
from penstock.connect.converters.json_converter import JsonConverter
from penstock.connect.data.record import ConnectRecord
from penstock.connect.errors import ConnectError

Place = Mapping[str, Any]
"""A source partition or a source offset: JSON values by name."""


class SourceRecord(NamedTuple):
    """A record, and where the source stands once it is written. Without a record only the offset moves."""

    partition: Place
    offset: Place
    record: ConnectRecord | None


class TextPortion(NamedTuple):
    """Many records of one topic that are nothing but text, and where the source stands after the last."""

    partition: Place
    offset: Place
    topic: str
    values: Sequence[bytes]
    """Each is valid UTF-8."""


class EncodedPortion(NamedTuple):
    """Many records of one topic that are bytes already, and where the source stands after them and after the
    other portions that were polled with them."""

    partition: Place
    offset: Place
    topic: str
    keys: Sequence[bytes | None]
    values: Sequence[bytes | None]


class JsonForms(NamedTuple):
    """Keys and values become JSON, and nothing changes the records before."""

    key: JsonConverter
    value: JsonConverter


class SourceOffsets:
    """Where reading ended, by source partition."""

    def __init__(self, known: Sequence[tuple[Place, Place]] = ()) -> None:
        self._known = {canonical(partition): (partition, offset) for partition, offset in known}

    def get(self, partition: Place) -> Place | None:
        found = self._known.get(canonical(partition))
        return None if found is None else found[1]

    def items(self) -> list[tuple[Place, Place]]:
        return list(self._known.values())

    def advanced(self, changes: Sequence[tuple[Place, Place | None]]) -> SourceOffsets:
        """With other offsets; None takes a partition away."""
        later = SourceOffsets(self.items())
        for partition, offset in changes:
            if offset is None:
                later._known.pop(canonical(partition), None)
            else:
                later._known[canonical(partition)] = (partition, offset)
        return later


def canonical(partition: Place) -> str:
    """The same text for the same partition, whatever the order of its fields."""
    return json.dumps(partition, sort_keys=True, separators=(",", ":"))


class SourceTask:
    """Reads one batch."""

    whole: bool = False
    """The batch ends only when `poll` returns nothing, however much that is: for what must not be cut."""

    @property
    def in_transaction(self) -> bool:
        """Whether what was polled ends within a transaction of the source. With
        `transaction.boundary=connector` the batch goes on then, however much it is."""
        return False

    def __init__(self, config: Mapping[str, str], offsets: SourceOffsets) -> None:
        self.config = config
        self.offsets = offsets

    def poll(self) -> Sequence[SourceRecord]:
        """The next records, no more than fit into memory; none when there is nothing new. RetriableError
        gives up the whole batch, which is then tried again; any other error fails the task."""
        raise NotImplementedError

    def poll_text(self) -> TextPortion | None:
        """The same as `poll` for a source of plain text, many times faster. It is asked first where no
        transform and no converter changes the text; None hands the question on to `poll`."""
        return None

    def poll_encoded(self, forms: JsonForms) -> Sequence[EncodedPortion]:
        """The same as `poll` for a source that can write its own JSON, several times faster. It is asked
        first where no transform changes the records and both converters write JSON; nothing hands the
        question on to `poll`. All portions are written, or none."""
        return ()

    def close(self) -> None:
        """Called when the batch was read, or has failed."""


class SourceConnector:
    """Lives in the driver. `config` is what the user gave, with secrets resolved."""

    NAMES: ClassVar[tuple[str, ...]] = ()
    """Class names under which a configuration may name it; the first one is shown."""
    VERSION: ClassVar[str] = ""
    """Empty for Penstock's own."""
    CONFIG: ClassVar[ConfigDef] = ConfigDef()
    TASK: ClassVar[type[SourceTask]]
    TASK_NAME: ClassVar[str] = ""
    """The class of a task as it is shown; empty for the name in Python."""
    GUARANTEE: ClassVar[str] = "exactly once: offsets are committed with the records"
    DEFINES_TRANSACTIONS: ClassVar[bool] = False
    """Whether its tasks know where transactions of the source end (`transaction.boundary=connector`)."""
    POLL_MS: ClassVar[int] = 500
    """How long an idle source waits before it looks again."""

    def __init__(self, config: Mapping[str, str]) -> None:
        self.config = config

    @classmethod
    def check(cls, config: Mapping[str, str]) -> list[tuple[str, str]]:
        """Mistakes beyond those of single settings: the setting's name and a sentence."""
        return []

    def task_configs(self, most: int) -> list[dict[str, str]]:
        """The settings of each task; at most so many."""
        return [dict(self.config)]

    def has_news(self, offsets: SourceOffsets) -> bool:
        """A cheap look, so that an idle source costs no Spark job. True when it is not known."""
        return True

    def handed(self, number: int) -> Mapping[str, str]:
        """Settings that a task gets for the next batch alone: for a source that pushes, and whose messages
        the connector has received. It hands the same over again until they are committed."""
        return {}

    def committed(self, offsets: SourceOffsets) -> None:
        """The records up to here are in their topics for good: a source may forget them."""

    def check_offsets(self, changes: Sequence[tuple[Place, Place | None]]) -> None:
        """Raises ConnectError for offsets that a user wants to set and that mean nothing here."""
        for partition, _ in changes:
            if not isinstance(partition, Mapping):
                raise ConnectError("Partition objects cannot be null")

    def close(self) -> None:
        """The connector stops."""
