"""What a child prints: a log file of bounded size, the last lines in memory, the `ready` line found."""

from __future__ import annotations

import os
from collections import deque
from pathlib import Path
from typing import BinaryIO, Final

LOG_BYTES_MAX: Final = 10 * 1024 * 1024
"""A log file that has grown to this is renamed to `NAME.log.1`, which replaces the one before it."""
LINE_BYTES_MAX: Final = 64 * 1024
LINES_KEPT: Final = 20


class Output:
    """The log of one child. One thread writes it; `last_lines` may be read by another."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lines: deque[str] = deque(maxlen=LINES_KEPT)
        self._file: BinaryIO | None = path.open("ab")
        self._size = os.fstat(self._file.fileno()).st_size

    def take(self, line: bytes) -> str | None:
        """Keeps a line; returns what follows `ready` when it is the line that says so, and None otherwise."""
        text = line.decode(errors="replace").rstrip()
        self._lines.append(text)
        self._write(line)
        word, _, rest = text.partition(" ")
        return rest.strip() if word == "ready" else None

    def last_lines(self) -> list[str]:
        """The last lines that are not empty."""
        return [line for line in list(self._lines) if line.strip()]

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None

    def _write(self, line: bytes) -> None:
        if self._file is None:
            return
        if self._size + len(line) > LOG_BYTES_MAX:
            self._file.close()
            self.path.replace(self.path.with_name(self.path.name + ".1"))
            self._file, self._size = self.path.open("ab"), 0
        self._file.write(line)
        self._file.flush()
        self._size += len(line)
