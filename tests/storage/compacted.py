"""What the tests of compaction build with: a compacted topic, its cleaner, and what a reader of it knows."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from random import Random
from typing import Any

from penstock.records.codecs import Codec
from penstock.records.keys import SLOT_BYTES
from penstock.records.record import Record, encode_batch
from penstock.settings import BrokerSettings
from penstock.storage.cleaner import LogCleaner
from penstock.storage.log import Log
from penstock.storage.logs import Logs
from penstock.storage.outcomes import Appended
from penstock.testing.disk import SimDisk
from tests.storage.builders import StillClock, records, settings

TOPIC_ID = bytes(range(16))
PATH = "/data/topic-0"
CHECKPOINT = "/data/cleaner-offset-checkpoint"


class Compacted:
    """One compacted topic with one partition, on a disk, and its cleaner."""

    def __init__(self, disk: SimDisk, clock: StillClock | None = None, **changes: Any) -> None:
        self.disk = disk
        self.clock = clock or StillClock()
        self.broker_settings = BrokerSettings()
        self.changes = {
            "cleanup_policy": ("compact",),
            "segment_bytes": 1000,
            "index_interval_bytes": 100,
            "min_cleanable_dirty_ratio": 0.0,
            **changes,
        }
        self.open()
        self.logs.create("topic", 0, TOPIC_ID, settings(**self.changes))

    def open(self) -> None:
        self.logs = Logs(self.disk, ["/data"], self.clock, random=Random(1))
        self.logs.open_directories()
        # The policy is not told: which logs may have gaps is known to the directory.
        self.logs.open_logs(lambda _: settings(segment_bytes=1000, index_interval_bytes=100))
        if self.logs.get("topic", 0) is not None:
            self.log.reconfigure(settings(**self.changes))
        self.cleaner = LogCleaner(self.logs, self.clock, Random(2), lambda: self.broker_settings)

    @property
    def log(self) -> Log:
        log = self.logs.get("topic", 0)
        assert log is not None
        return log

    def room_for(self, keys: int) -> None:
        """Let the cleaner's map hold about this many keys."""
        self.broker_settings = dataclasses.replace(
            self.broker_settings, log_cleaner_dedupe_buffer_size=int(keys * 1.25 * SLOT_BYTES)
        )

    def put(self, *items: tuple[bytes, bytes | None], codec: Codec = Codec.NONE, **options: Any) -> Appended:
        """One batch with these keys and values."""
        now = self.clock.now_ms()
        batch = encode_batch([Record(*item, timestamp_ms=now) for item in items], codec=codec, **options)
        return self.log.append_produced(self.log.examine(memoryview(batch)), leader_epoch=0)

    def seal(self) -> None:
        """Let what was written so far be compacted."""
        self.log.roll()
        self.log.flush()

    def clean(self, pause: Callable[[float], object] = lambda seconds: None) -> bool:
        return self.cleaner.clean_next(pause)

    def found(self) -> list[tuple[int, bytes | None, bytes | None]]:
        return [(record.offset, record.key, record.value) for record in records(self.log)]

    def state(self) -> dict[bytes | None, bytes]:
        """What a reader knows in the end."""
        state: dict[bytes | None, bytes] = {}
        for _, key, value in self.found():
            if value is None:
                state.pop(key, None)
            else:
                state[key] = value
        return state

    def files(self, suffix: str) -> list[str]:
        return [name for name in self.disk.list_dir(PATH) if name.endswith(suffix)]
