"""A simulated disk under a process that dies at a chosen operation, and does nothing more afterwards."""

from __future__ import annotations

from penstock.testing.disk import SimDisk


class Died(BaseException):
    """The process is gone. No handler of the broker may catch this."""


class FrailDisk(SimDisk):
    """Dies at the n-th operation that changes or syncs anything, once it is armed."""

    countdown: int | None = None
    operations = 0

    def arm(self, operations: int) -> None:
        """Live through this many more operations, and die at the next."""
        self.countdown = operations

    def disarm(self) -> None:
        self.countdown = None

    def kill(self) -> None:
        self.countdown = None
        super().kill()

    def fail_if_told(self, operation: str, path: str) -> None:
        self._live()
        super().fail_if_told(operation, path)

    def rename(self, source: str, target: str) -> None:
        self._live()
        super().rename(source, target)

    def remove(self, path: str) -> None:
        self._live()
        super().remove(path)

    def _live(self) -> None:
        self.operations += 1
        if self.countdown is not None:
            if self.countdown <= 0:
                raise Died
            self.countdown -= 1
