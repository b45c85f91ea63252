"""One of the broker's log directories: whose it is, whether its last stop was clean, whether it still serves.

    meta.properties                      cluster, node and the directory's own id
    .lock                                held by the process that uses the directory
    .kafka_cleanshutdown                 there only between a clean stop and the next start
    recovery-point-offset-checkpoint     up to where each log is durable
    replication-offset-checkpoint        the high watermark of each log
    log-start-offset-checkpoint          where each log begins
    cleaner-offset-checkpoint            up to where each compacted log is compacted
    <topic>-<partition>/                 one log
    <topic>-<partition>.<id>-delete/     a log on its way out
    <topic>-<partition>.<id>-stray/      a log that the metadata gives to nobody here; it stays as it is

Every log in it shares one `LogDirectory`: the first failure that any of them meets takes all of them
offline. Which logs there are is the business of `penstock.storage.logs`.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import NamedTuple

from penstock.metrics.histogram import Histogram
from penstock.protocol.topic_partition import TopicPartition
from penstock.storage.checkpoints import read_offsets, write_offsets
from penstock.storage.cleaned_offsets import CleanedOffsets
from penstock.storage.disk import Disk, File, is_full
from penstock.storage.errors import Corruption, LogDirFailure, NoSpace, StorageError
from penstock.storage.tail import kind_on

RECOVERY_POINTS = "recovery-point-offset-checkpoint"
HIGH_WATERMARKS = "replication-offset-checkpoint"
LOG_START_OFFSETS = "log-start-offset-checkpoint"
CLEAN_SHUTDOWN = ".kafka_cleanshutdown"
LOCK = ".lock"
DELETE_SUFFIX = "-delete"
STRAY_SUFFIX = "-stray"
LONGEST_NAME = 255  # of a file, on every file system in use

UNKNOWN_BROKER_EPOCH = -1
_LOG_NAME = re.compile(r"([a-zA-Z0-9._-]{1,249})-(0|[1-9][0-9]{0,9})\Z")


class Offsets(NamedTuple):
    """What the checkpoints say of one log, or will."""

    recovery_point: int
    high_watermark: int
    log_start_offset: int


class LogDirectory:
    """A directory of `log.dirs`."""

    def __init__(self, disk: Disk, path: str) -> None:
        self.path = path
        self.directory_id: bytes | None = None
        """Its own id, whichever path it has; known when it was opened, as far as it could be."""
        self.on_failure: Callable[[], None] = lambda: None
        """Called when it has failed, by the thread that noticed it, which may hold any lock."""
        # Set once and never cleared: only a restart brings a directory back.
        self.failure: LogDirFailure | None = None
        self.failed = kind_on(disk).flag()
        """The same for the tails of logs in here, which read it without the GIL."""
        self.flushes = Histogram()
        """How long it took to make logs in here durable, for metrics."""
        self.cleaned = CleanedOffsets(disk, path)
        # How the last owner left it; known after `inspect`.
        self.left_clean = False
        self.left_broker_epoch = UNKNOWN_BROKER_EPOCH  # under which its owner stopped cleanly (KIP-966)
        self.left_offsets: dict[TopicPartition, Offsets] = {}
        self._disk = disk
        self._lock: File | None = None
        self._written: dict[TopicPartition, Offsets] | None = None

    def fail(self, cause: Exception) -> LogDirFailure:
        """Take the directory offline; the first cause stands. Returns what to raise."""
        if self.failure is None:
            self.failure = LogDirFailure(self.path, cause)
            self.failed.set()
            self.on_failure()
        return self.failure

    def refused(self, cause: Exception) -> StorageError:
        """What to raise where a full disk leaves everything as it was; any other cause is a failure."""
        return NoSpace(self.path) if is_full(cause) else self.fail(cause)

    @contextmanager
    def guard(self, *, may_be_full: bool = False) -> Iterator[None]:
        """Whatever the disk refuses in here, or what turns out to be corrupt, takes the directory offline.

        With `may_be_full`, want of space does not: nothing in here leaves anything half-done.
        """
        try:
            yield
        except (OSError, Corruption) as error:
            raise (self.refused(error) if may_be_full else self.fail(error)) from error

    def log_path(self, topic: str, partition: int) -> str:
        """Where this log stands, or would. ValueError for a name that would leave the directory."""
        name = f"{topic}-{partition}"
        match = _LOG_NAME.match(name)
        if match is None or (match[1], int(match[2])) != (topic, partition) or topic in (".", ".."):
            raise ValueError(f"no log may be called {name!r}")
        return os.path.join(self.path, name)

    def aside_path(self, topic: str, partition: int, unique: str, suffix: str) -> str:
        """Where a log goes that leaves service. A long topic name is cut: the unique part remains."""
        tail = f"-{partition}.{unique}{suffix}"
        return os.path.join(self.path, topic[: LONGEST_NAME - len(tail)] + tail)

    # Start and stop

    def acquire(self) -> None:
        """Make the directory when it is missing, and own it; BlockingIOError when another process does."""
        self._disk.make_dir(self.path)
        self._lock = self._disk.lock(os.path.join(self.path, LOCK))

    def take_clean_marker(self) -> bool:
        """Whether the last stop was clean. The marker is gone afterwards: the next stop must earn its own."""
        marker = os.path.join(self.path, CLEAN_SHUTDOWN)
        clean = self._disk.exists(marker)
        if clean:
            self.left_broker_epoch = _read_epoch(self._disk.read_bytes(marker))
            self._disk.remove(marker)
            self._disk.sync_dir(self.path)
        return clean

    def inspect(self) -> None:
        """Learn how the last owner left the directory; `Corruption` when a checkpoint is damaged."""
        self.left_clean = self.take_clean_marker()
        self.left_offsets = self.read_checkpoints()

    def mark_clean(self, broker_epoch: int = UNKNOWN_BROKER_EPOCH) -> None:
        """Everything in here is flushed and written: the next start may trust it."""
        text = json.dumps({"version": 0, "brokerEpoch": broker_epoch}, separators=(",", ":"))
        self._disk.write_atomic(os.path.join(self.path, CLEAN_SHUTDOWN), text.encode())

    def release(self) -> None:
        """Let another process have the directory."""
        if self._lock is not None:
            self._lock.close()
            self._lock = None

    # Contents

    def log_names(self) -> list[TopicPartition]:
        """The logs in here."""
        found = []
        for name in self._disk.list_dir(self.path):
            match = _LOG_NAME.match(name)
            if match and self._disk.is_dir(os.path.join(self.path, name)):
                found.append(TopicPartition(match[1], int(match[2])))
        return found

    def leftovers(self) -> list[str]:
        """Paths of logs that were being deleted."""
        return self._ending_with(DELETE_SUFFIX)

    def strays(self) -> list[str]:
        """Paths of logs that were set aside."""
        return self._ending_with(STRAY_SUFFIX)

    def _ending_with(self, suffix: str) -> list[str]:
        names = self._disk.list_dir(self.path)
        return [os.path.join(self.path, name) for name in names if name.endswith(suffix)]

    def read_checkpoints(self) -> dict[TopicPartition, Offsets]:
        """What the checkpoints say; `Corruption` when one is damaged."""
        recovery_points, high_watermarks, log_starts = map(
            self._read_checkpoint, (RECOVERY_POINTS, HIGH_WATERMARKS, LOG_START_OFFSETS)
        )
        return {
            name: Offsets(recovery_points.get(name, 0), high_watermarks.get(name, 0), log_starts.get(name, 0))
            for name in {*recovery_points, *high_watermarks, *log_starts}
        }

    def _read_checkpoint(self, name: str) -> dict[TopicPartition, int]:
        return read_offsets(self._disk, os.path.join(self.path, name))

    def write_checkpoints(self, offsets: Mapping[TopicPartition, Offsets]) -> None:
        """Replace the checkpoints whose contents have changed."""
        for name, field in ((RECOVERY_POINTS, 0), (HIGH_WATERMARKS, 1), (LOG_START_OFFSETS, 2)):
            values = {key: value[field] for key, value in offsets.items()}
            if self._written is None or values != {key: value[field] for key, value in self._written.items()}:
                write_offsets(self._disk, os.path.join(self.path, name), values)
        self._written = dict(offsets)


def _read_epoch(text: bytes) -> int:
    """What the marker says of it; older ones are empty."""
    try:
        return int(json.loads(text)["brokerEpoch"])
    except (ValueError, KeyError, TypeError):
        return UNKNOWN_BROKER_EPOCH
