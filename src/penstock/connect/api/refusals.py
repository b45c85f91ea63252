"""What a connector refuses before it starts: settings of another product's connector that it does not have,
by name, and a library that is not installed.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec
from typing import Any

from penstock.connect.errors import ConnectError

Mistakes = list[tuple[str, str]]
"""The name of a setting and a sentence, for each mistake."""


def unsupported(config: Mapping[str, Any], names: Mapping[str, str]) -> Mistakes:
    """A mistake for each setting that was given and is not supported. A name that ends in `.` or `*` stands
    for all that begin with it; the value says what to do instead."""
    found: Mistakes = []
    for given in config:
        for name, instead in names.items():
            if given == name or (name.endswith((".", "*")) and given.startswith(name.rstrip("*"))):
                found.append((given, f"{given} is not supported here. {instead}".rstrip()))
    return found


def missing(*modules: str) -> Mistakes:
    """A mistake when a library of the connector is not installed."""
    absent = [name for name in modules if find_spec(name) is None]
    if not absent:
        return []
    return [("connector.class", f"{', '.join(absent)} is not installed: pip install 'penstock[connectors]'")]


def require(*modules: str) -> None:
    """ConnectError when a library of the connector is not installed."""
    for _, sentence in missing(*modules):
        raise ConnectError(sentence)
