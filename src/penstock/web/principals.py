"""How a service learns which principal asks: the hook through which every request passes before its body is
read."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from starlette.requests import Request

from penstock.security.principals import ANONYMOUS, Principal

Authenticate = Callable[[Request], Awaitable[Principal]]
"""Returns the principal, or raises HttpError 401 or 403. It sees the head of the request, never its body."""


async def allow_all(_request: Request) -> Principal:
    """Every request is let in, without a password."""
    return ANONYMOUS
