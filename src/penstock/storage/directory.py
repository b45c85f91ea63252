"""One of the broker's log directories, and whether it still serves.

Every log in it shares one `LogDirectory`: the first failure that any of them meets takes all of them
offline. What stands in the directory is the business of `penstock.storage.logs`.
"""

from __future__ import annotations

from penstock.storage.errors import LogDirFailure


class LogDirectory:
    """A directory of `log.dirs`."""

    __slots__ = ("failure", "path")

    def __init__(self, path: str) -> None:
        self.path = path
        # Set once and never cleared: only a restart brings a directory back.
        self.failure: LogDirFailure | None = None

    def fail(self, cause: Exception) -> LogDirFailure:
        """Take the directory offline; the first cause stands. Returns what to raise."""
        if self.failure is None:
            self.failure = LogDirFailure(self.path, cause)
        return self.failure
