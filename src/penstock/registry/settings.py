"""Settings of the registry, under the names of Confluent's."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from penstock.schemas.levels import Level
from penstock.settings.errors import invalid


@dataclass(frozen=True, slots=True)
class RegistrySettings:
    bootstrap_servers: str
    topic: str = "_schemas"
    replication_factor: int = 3
    """At most; fewer where there are fewer brokers."""
    timeout_s: float = 10.0
    """How long a write may take."""
    init_timeout_s: float = 60.0
    """How long replaying everything may take at start."""
    default_level: str = "BACKWARD"
    mode_mutability: bool = True
    client: Mapping[str, str] = field(default_factory=dict)
    """Settings of the Kafka client."""


def read_settings(bootstrap_servers: str, texts: Mapping[str, str]) -> RegistrySettings:
    """Names that begin with `kafkastore.` and are not the registry's own are those of its Kafka client."""
    left = dict(texts)
    level = left.pop("schema.compatibility.level", left.pop("avro.compatibility.level", "BACKWARD")).upper()
    if level not in Level.__members__:
        raise invalid("schema.compatibility.level", level, "no such level", ", ".join(Level.__members__))
    settings = RegistrySettings(
        left.pop("kafkastore.bootstrap.servers", bootstrap_servers),
        left.pop("kafkastore.topic", "_schemas"),
        _whole(left, "kafkastore.topic.replication.factor", 3),
        _whole(left, "kafkastore.timeout.ms", 10_000) / 1000,
        _whole(left, "kafkastore.init.timeout.ms", 60_000) / 1000,
        level,
        left.pop("mode.mutability", "true").lower() == "true",
        {
            name.removeprefix("kafkastore."): left.pop(name)
            for name in list(left)
            if name.startswith("kafkastore.")
        },
    )
    for name, value in left.items():
        raise invalid(
            name, value, "the registry has no such setting", "the names that docs/registry.md lists"
        )
    return settings


def _whole(left: dict[str, str], name: str, default: int) -> int:
    text = left.pop(name, str(default))
    if not (text.isascii() and text.isdecimal() and int(text) > 0):
        raise invalid(name, text, "no whole number above zero", "a number")
    return int(text)
