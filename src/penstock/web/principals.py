"""Who asks: the hook through which every request of every service passes before its body is read."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final

from starlette.requests import Request


@dataclass(frozen=True, slots=True)
class Principal:
    """Who sent a request; written as Kafka writes it, such as `User:alice`."""

    name: str
    kind: str = "User"

    def __str__(self) -> str:
        return f"{self.kind}:{self.name}"


ANONYMOUS: Final = Principal("ANONYMOUS")

Authenticate = Callable[[Request], Awaitable[Principal]]
"""Says who asks, or raises HttpError 401 or 403. It sees the head of the request, never its body."""


async def allow_all(_request: Request) -> Principal:
    """Nobody is asked for a password."""
    return ANONYMOUS
