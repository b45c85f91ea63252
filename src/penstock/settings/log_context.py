"""The request that a thread or a task serves, for its log lines. Empty outside of requests."""

from __future__ import annotations

from contextvars import ContextVar
from typing import Final

CURRENT_REQUEST: Final[ContextVar[str]] = ContextVar("penstock_request", default="")
