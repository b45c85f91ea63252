"""What can go wrong with our own files. No protocol errors: handlers answer them with KAFKA_STORAGE_ERROR.

StorageError
├── Corruption        bytes on disk are not what was written; carries path and position
├── ForeignDirectory  a log directory belongs to another node or cluster: the broker must not start on it
├── LogDirFailure     a log directory is offline: the disk refused, or what it holds is corrupt
└── NoSpace           a volume is full: nothing happened, and it may be tried again
"""

from __future__ import annotations


class StorageError(Exception):
    """The disk, or what stands on it, cannot be relied upon."""


class Corruption(StorageError):
    """A file holds something that the broker did not write there."""

    def __init__(self, path: str, position: int, reason: str) -> None:
        super().__init__(f"{path} at byte {position}: {reason}")
        self.path = path
        self.position = position
        self.reason = reason


class ForeignDirectory(StorageError):
    """The directory was written by another broker; touching it could destroy that broker's data."""


class LogDirFailure(StorageError):
    """The log directory `path` serves no more until the broker is restarted; the others go on."""

    def __init__(self, path: str, cause: Exception) -> None:
        super().__init__(f"log directory {path} is offline: {cause}")
        self.path = path
        self.cause = cause

    def again(self) -> LogDirFailure:
        """The same failure to be raised once more: one exception that is raised again and again grows by a
        traceback each time."""
        return LogDirFailure(self.path, self.cause)


class NoSpace(StorageError):
    """The volume of the log directory `path` is full. Nothing was done; reads go on, writes do with space."""

    def __init__(self, path: str) -> None:
        super().__init__(f"no space is left in {path}")
        self.path = path
