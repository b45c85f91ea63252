"""What a task logs, gathered to be told to the driver: the log of a connector has it then."""

from __future__ import annotations

import logging
import threading
from types import TracebackType
from typing import Final, Self

LINES_MAX: Final = 200
LINE_MAX: Final = 4000
Line = tuple[int, str]
"""Level and text."""


class TaskLog(logging.Handler):
    """Used with `with`, by the thread of a task. Other threads and lines beyond the bound are passed over."""

    def __init__(self) -> None:
        super().__init__(logging.INFO)
        self._thread = threading.get_ident()
        self.lines: list[Line] = []

    def emit(self, record: logging.LogRecord) -> None:
        if record.thread == self._thread and len(self.lines) < LINES_MAX:
            self.lines.append((record.levelno, record.getMessage()[:LINE_MAX]))

    def __enter__(self) -> Self:
        logging.getLogger().addHandler(self)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        logging.getLogger().removeHandler(self)
