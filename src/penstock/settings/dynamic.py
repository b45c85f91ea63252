"""Broker settings that change while the broker runs: which may, and what the broker then works with.

They come from the metadata, in two layers: those of all brokers, and above them those of one broker. What was
given at start lies below both. The controller checks a change with `check_dynamic` before it is committed;
the broker follows with `overlay`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from penstock.settings.broker import BrokerSettings, broker_definitions
from penstock.settings.errors import SettingError
from penstock.settings.inert import inert_definitions, why_inert

_AT_LEAST_ONE: Final = ("max.connections", "max.connection.creation.rate")


def is_dynamic(name: str) -> bool:
    """Whether a running broker works with another value when it is given one."""
    row = broker_definitions().get(name)
    return row is not None and not row.read_only


def overlay(static: BrokerSettings, *layers: Mapping[str, str]) -> BrokerSettings:
    """The settings that a broker works with; later layers are stronger. Raises SettingError."""
    texts = {name: text for layer in layers for name, text in layer.items() if is_dynamic(name)}
    return static.overridden(texts) if texts else static


def check_dynamic(static: BrokerSettings, layers: tuple[Mapping[str, str], ...]) -> None:
    """Raises SettingError, with Kafka's sentence, when a broker could not be given these settings."""
    fixed = [name for layer in layers for name in layer if _is_fixed(name)]
    if fixed:
        message = f"Cannot update these configs dynamically: Set({', '.join(fixed)})"
        raise SettingError(message, setting=fixed[0], value=None, allowed="settings that are not read-only")
    overlay(static, *layers)
    for layer in layers:
        _check_limits(layer)
        for name, row in inert_definitions().items():
            if name in layer:
                row.parse(layer[name])


def _is_fixed(name: str) -> bool:
    row = broker_definitions().get(name)
    if row is not None:
        return row.read_only
    return why_inert(name) is not None and name not in inert_definitions()


def _check_limits(layer: Mapping[str, str]) -> None:
    for name in _AT_LEAST_ONE:
        if name in layer and int(layer[name]) <= 0:
            message = f"Invalid {name} {layer[name]}"
            raise SettingError(message, setting=name, value=layer[name], allowed="a whole number from 1 on")
