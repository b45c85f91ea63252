"""Settings of the registry, under the names of Confluent's."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from penstock.schemas.levels import Level
from penstock.settings.errors import invalid

_SECURITY: Final = "io.confluent.kafka.schemaregistry.security"
_BY_TOPICS: Final = f"{_SECURITY}.authorizer.topicacl.TopicAclAuthorizer"
_BY_ENTRIES: Final = f"{_SECURITY}.authorizer.schemaregistryacl.SchemaRegistryAclAuthorizer"
_EXTENSION: Final = f"{_SECURITY}.SchemaRegistrySecurityResourceExtension"


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
    has_own_entries: bool = False
    """Whether the registry's own access control entries decide, and not those of the cluster on topics."""
    acl_topic: str = ""
    """Where those entries are; beside the schemas when it is empty."""


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
        _has_own_entries(left),
        left.pop("confluent.schema.registry.acl.topic", ""),
    )
    for name, value in left.items():
        raise invalid(
            name, value, "the registry has no such setting", "the names that docs/registry.md lists"
        )
    return settings


def _has_own_entries(left: dict[str, str]) -> bool:
    """Confluent's two authorizers by the names of their classes; the plugin that brings them is built in."""
    name = "confluent.schema.registry.authorizer.class"
    text = left.pop(name, _BY_TOPICS).strip()
    if text not in (_BY_TOPICS, _BY_ENTRIES):
        raise invalid(name, text, "there is no such authorizer", f"{_BY_TOPICS} or {_BY_ENTRIES}")
    for extension in ("resource.extension.class", "schema.registry.resource.extension.class"):
        if left.get(extension, "").strip() == _EXTENSION:
            del left[extension]
    return text == _BY_ENTRIES


def _whole(left: dict[str, str], name: str, default: int) -> int:
    text = left.pop(name, str(default))
    if not (text.isascii() and text.isdecimal() and int(text) > 0):
        raise invalid(name, text, "no whole number above zero", "a number")
    return int(text)
