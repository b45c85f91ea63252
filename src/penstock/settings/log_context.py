"""The request that a thread or a task serves, for its log lines. False outside of requests: what is set here
is written out as text, and only where a line is logged."""

from __future__ import annotations

from contextvars import ContextVar
from typing import Final

CURRENT_REQUEST: Final[ContextVar[object]] = ContextVar("penstock_request", default="")
