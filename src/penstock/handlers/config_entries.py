"""Settings as DescribeConfigs and CreateTopics show them: value, where it comes from, what it falls back
on."""

from __future__ import annotations

from enum import IntEnum
from typing import Any

from penstock.handlers.broker import Broker
from penstock.settings import Definition, TopicSettings, broker_definitions, topic_definitions


class ConfigSource(IntEnum):
    """Kafka's codes for where a value comes from."""

    TOPIC = 1
    STATIC_BROKER = 4
    DEFAULT = 5


def topic_entries(broker: Broker, topic: str) -> list[dict[str, Any]]:
    """Every setting of an existing topic."""
    overrides = broker.controller.image.topic_config(topic)
    defaults = broker.settings.topic_defaults
    settings = TopicSettings.from_overrides(dict(overrides), defaults)
    return [_topic_entry(row, settings, overrides.keys(), defaults) for row in topic_definitions().values()]


def broker_entries(broker: Broker) -> list[dict[str, Any]]:
    """Every setting of this broker."""
    entries = []
    for row in broker_definitions().values():
        given = row.name in broker.settings.given
        source = ConfigSource.STATIC_BROKER if given else ConfigSource.DEFAULT
        entries.append(_entry(row, broker.settings.text(row.name), source, []))
    return entries


def _topic_entry(
    row: Definition, settings: TopicSettings, overrides: Any, defaults: TopicSettings
) -> dict[str, Any]:
    inherited = defaults.text(row.name)
    fallback = ConfigSource.DEFAULT if inherited == row.default_text else ConfigSource.STATIC_BROKER
    text = settings.text(row.name)
    synonyms = []
    if row.name in overrides:
        synonyms.append({"name": row.name, "value": text, "source": ConfigSource.TOPIC})
    if row.synonyms:
        synonyms.append({"name": row.synonyms[0], "value": inherited, "source": fallback})
    return _entry(row, text, ConfigSource.TOPIC if row.name in overrides else fallback, synonyms)


def _entry(
    row: Definition, text: str | None, source: ConfigSource, synonyms: list[dict[str, Any]]
) -> dict[str, Any]:
    return {
        "name": row.name,
        "value": None if row.sensitive else text,
        "read_only": row.read_only,
        "config_source": source,
        "is_sensitive": row.sensitive,
        "synonyms": synonyms,
        "config_type": row.type,
        "documentation": row.doc,
    }
