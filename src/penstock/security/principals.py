"""The name behind a request, as Kafka writes it: `User:alice`."""

from __future__ import annotations

from typing import Final, NamedTuple

USER: Final = "User"


class Principal(NamedTuple):
    """Who sent a request. `kind` is `User` for everybody who authenticates."""

    kind: str
    name: str

    def __str__(self) -> str:
        return f"{self.kind}:{self.name}"


class TokenPrincipal(Principal):
    """A principal that was proved by a delegation token. It is equal to the same principal proved otherwise,
    as in Kafka; the only difference is that it may not manage tokens."""

    __slots__ = ()


ANONYMOUS: Final = Principal(USER, "ANONYMOUS")
"""Everybody on a listener that asks for no proof."""

THIS_NODE: Final = Principal("Node", "this")
"""The broker's own requests to its own controller, which never leave the process. Authorizers compare by
identity (`is`), so that no client can pretend to be it."""


def user(name: str) -> Principal:
    return Principal(USER, name)


def parse_principal(text: str) -> Principal:
    """`User:alice` as a principal. ValueError for a text of another form."""
    kind, colon, name = text.strip().partition(":")
    if not (kind and colon and name):
        raise ValueError(f"{text!r} is not a principal such as User:alice")
    return Principal(kind, name)
