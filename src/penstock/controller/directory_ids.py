"""The ids of log directories that Kafka has reserved (KIP-858), and which directories can be relied upon.
Pure; asked by the image and by the decisions."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final


def _reserved(number: int) -> bytes:
    return number.to_bytes(16, "big")


MIGRATING: Final = _reserved(0)
"""It is not known which directory holds the replica: on a node that is alone, or before it was asked."""
UNASSIGNED: Final = _reserved(1)
"""The broker has several directories, and will say which one it took."""
LOST: Final = _reserved(2)
"""The broker cannot say which directory holds the replica: it is one that fails."""

_RESERVED: Final = 100


def is_reserved(directory: bytes) -> bool:
    """Whether it names no directory."""
    return directory < _reserved(_RESERVED)


def is_online(directory: bytes, online: Collection[bytes]) -> bool:
    """Whether a replica in this directory can be served, by what its broker says of its directories. A
    broker that has named none has all of them online."""
    if directory in (MIGRATING, UNASSIGNED):
        return True
    return directory != LOST and (not online or directory in online)


def default_directory(online: Collection[bytes]) -> bytes:
    """Where a new replica will be on a broker with these directories, as far as it is known before."""
    if not online:
        return MIGRATING
    return next(iter(online)) if len(online) == 1 else UNASSIGNED


def known(directories: tuple[bytes, ...]) -> tuple[bytes, ...]:
    """The same, but nothing when nothing is known of any."""
    return () if all(directory == MIGRATING for directory in directories) else directories
