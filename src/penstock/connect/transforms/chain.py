"""The transforms of a connector, in order, each with its predicate: read off the connector's
configuration."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from penstock.connect.data.record import ConnectRecord
from penstock.connect.errors import ConfigError
from penstock.connect.transforms.predicates import Predicate
from penstock.connect.transforms.settings import Settings
from penstock.connect.transforms.table import predicate, transform
from penstock.connect.transforms.transform import Transform


@dataclass(frozen=True)
class Step:
    name: str
    transform: Transform
    predicate: Predicate | None = None
    negate: bool = False

    def apply(self, record: ConnectRecord) -> ConnectRecord | None:
        if self.predicate is not None and self.predicate.test(record) == self.negate:
            return record
        return self.transform.apply(record)


@dataclass(frozen=True)
class TransformChain:
    steps: tuple[Step, ...] = ()

    @classmethod
    def of(cls, config: Mapping[str, Any]) -> Self:
        """From `transforms=a,b`, `transforms.a.type=…`, `transforms.a.predicate=p`, `predicates=p`, …"""
        predicates = {
            name: predicate(f"predicates.{name}.type", *_typed(config, f"predicates.{name}."))
            for name in _names(config, "predicates")
        }
        return cls(tuple(_step(config, name, predicates) for name in _names(config, "transforms")))

    def apply(self, record: ConnectRecord) -> ConnectRecord | None:
        """None where a transform has dropped it."""
        current: ConnectRecord | None = record
        for step in self.steps:
            if current is None:
                return None
            current = step.apply(current)
        return current


def _step(config: Mapping[str, Any], name: str, predicates: Mapping[str, Predicate]) -> Step:
    prefix = f"transforms.{name}."
    kind, settings = _typed(config, prefix)
    wanted = settings.text("predicate")
    if wanted is not None and wanted not in predicates:
        raise ConfigError(
            f"{prefix}predicate", wanted, "No such predicate: it must be one of those in 'predicates'."
        )
    negate = settings.flag("negate", False)
    if negate and wanted is None:
        raise ConfigError(f"{prefix}negate", "true", "there is no config 'predicate' to negate.")
    return Step(name, transform(f"{prefix}type", kind, settings), predicates.get(wanted or ""), negate)


def _names(config: Mapping[str, Any], setting: str) -> list[str]:
    names = Settings(config).texts(setting)
    if len(set(names)) != len(names):
        raise ConfigError(setting, config[setting], "Duplicate alias provided.")
    return names


def _typed(config: Mapping[str, Any], prefix: str) -> tuple[str, Settings]:
    settings = Settings(
        {name.removeprefix(prefix): value for name, value in config.items() if name.startswith(prefix)}
    )
    kind = settings.text("type")
    if kind is None:
        raise ConfigError(f"{prefix}type", None, "Not a Transformation: give the class of each alias.")
    return kind, settings
