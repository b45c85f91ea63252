"""An id for every HTTP request: the client's `X-Request-Id`, or a new one. Log lines of the request carry it
(`log_context` puts it there), and the answer returns it. Requests that take long are logged.
"""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Final

from penstock.settings.log_context import CURRENT_REQUEST

REQUEST_ID: Final = "X-Request-Id"
SLOW_S: Final = float(os.environ.get("PENSTOCK_SLOW_REQUEST_SECONDS", "2"))
"""A request that took longer is logged as a warning."""
_SAFE: Final = re.compile(r"[A-Za-z0-9._:-]{1,128}")
_log = logging.getLogger("penstock.web.requests")


@contextmanager
def request_id(headers: Mapping[str, str]) -> Iterator[str]:
    """The id of the request while it is served. What a client sends is taken if it is short and plain."""
    given = headers.get(REQUEST_ID, "")
    number = given if _SAFE.fullmatch(given) else os.urandom(8).hex()
    token = CURRENT_REQUEST.set(number)
    try:
        yield number
    finally:
        CURRENT_REQUEST.reset(token)


def note_request(method: str, path: str, status: int, seconds: float) -> None:
    """A line in the log: at level debug, or as a warning when it was slow."""
    level = logging.WARNING if seconds >= SLOW_S else logging.DEBUG
    _log.log(level, "%s %s answered %d in %.0f ms", method, path, status, seconds * 1000)
