"""For tests, ours and our users': a broker inside the process, a pytest fixture, and the parts of the
simulator."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from penstock.testing.broker import Broker

__all__ = ["Broker"]


def __getattr__(name: str) -> Any:
    """`Broker` is imported when it is asked for: pytest loads this package in every run, with or without a
    broker."""
    if name == "Broker":
        from penstock.testing.broker import Broker

        return Broker
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
