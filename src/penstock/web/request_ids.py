"""An id for every HTTP request: the client's `X-Request-Id`, or a new one. Log lines of the request carry it
(`log_context` puts it there), and the answer returns it. Requests that take long are logged.
"""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Mapping
from contextvars import Token
from types import TracebackType
from typing import Final

from penstock.settings.log_context import CURRENT_REQUEST

REQUEST_ID: Final = "X-Request-Id"
SLOW_S: Final = float(os.environ.get("PENSTOCK_SLOW_REQUEST_SECONDS", "2"))
"""A request that took longer is logged as a warning."""
_SAFE: Final = re.compile(r"[A-Za-z0-9._:-]{1,128}")
_log = logging.getLogger("penstock.web.requests")


class request_id:  # noqa: N801  # used like a function: `with request_id(headers) as number`
    """The id of the request while it is served. What a client sends is taken if it is short and plain."""

    __slots__ = ("_number", "_token")
    _token: Token[object]

    def __init__(self, headers: Mapping[str, str]) -> None:
        given = headers.get(REQUEST_ID, "")
        self._number = given if given and _SAFE.fullmatch(given) else os.urandom(8).hex()

    def __enter__(self) -> str:
        self._token = CURRENT_REQUEST.set(self._number)
        return self._number

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        CURRENT_REQUEST.reset(self._token)


def note_request(method: str, path: str, status: int, seconds: float) -> None:
    """A line in the log: at level debug, or as a warning when it was slow."""
    level = logging.WARNING if seconds >= SLOW_S else logging.DEBUG
    if _log.isEnabledFor(level):
        _log.log(level, "%s %s answered %d in %.0f ms", method, path, status, seconds * 1000)
