"""How long a statement has been taking, shown in a terminal until the first line of its answer."""

from __future__ import annotations

import contextlib
import sys
import threading
import time
from collections.abc import Iterator
from typing import Final

from penstock.cli.ksql.session import Session

AFTER_S: Final = 1.0
"""A statement that is faster shows nothing."""
EVERY_S: Final = 0.5
_CLEAR: Final = "\r\x1b[K"


@contextlib.contextmanager
def waiting(session: Session) -> Iterator[None]:
    if not sys.stderr.isatty():
        yield
        return
    answered = threading.Event()
    thread = threading.Thread(target=_show, args=[answered], name="progress", daemon=True)

    def end() -> None:
        if not answered.is_set():
            answered.set()
            thread.join()

    session.before_output = end
    thread.start()
    try:
        yield
    finally:
        end()
        session.before_output = lambda: None


def _show(answered: threading.Event) -> None:
    began, shown = time.monotonic(), False
    while not answered.wait(EVERY_S if shown else AFTER_S):
        shown = True
        sys.stderr.write(f"{_CLEAR}waiting for the server, {time.monotonic() - began:.0f} s")
        sys.stderr.flush()
    if shown:
        sys.stderr.write(_CLEAR)
        sys.stderr.flush()
