"""Settings as DescribeConfigs and CreateTopics show them: value, where it comes from, what it falls back
on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import IntEnum
from itertools import dropwhile
from typing import Any, Final

from penstock.controller.configs import ALL_BROKERS
from penstock.controller.image import BROKER_RESOURCE, GROUP_RESOURCE
from penstock.handlers.parts import ReadsConfigs
from penstock.settings import (
    BROKER_ID,
    Definition,
    TopicSettings,
    broker_definitions,
    group_definitions,
    inert_definitions,
    topic_definitions,
)

UNKNOWN_TYPE: Final = 0


class ConfigSource(IntEnum):
    """Kafka's codes for where a value comes from."""

    TOPIC = 1
    DYNAMIC_BROKER = 2
    DYNAMIC_DEFAULT_BROKER = 3
    STATIC_BROKER = 4
    DEFAULT = 5
    GROUP = 8


Synonym = dict[str, Any]


class ConfigEntries:
    """The settings of one broker and its topics at one moment."""

    def __init__(self, broker: ReadsConfigs) -> None:
        image = broker.controller.image
        self._image = image
        self._settings = broker.settings
        node_id = broker.settings.node_id
        own = image.config(BROKER_RESOURCE, str(node_id))
        self._all_brokers = image.config(BROKER_RESOURCE, ALL_BROKERS)
        self._sources: tuple[tuple[ConfigSource, Mapping[str, str]], ...] = (
            (ConfigSource.DYNAMIC_BROKER, own),
            (ConfigSource.DYNAMIC_DEFAULT_BROKER, self._all_brokers),
            (ConfigSource.STATIC_BROKER, {**broker.static_settings.given, BROKER_ID: str(node_id)}),
        )

    def topic(self, name: str) -> list[dict[str, Any]]:
        """Every setting of an existing topic."""
        return self.topic_with(self._image.topic_config(name))

    def topic_with(self, overrides: Mapping[str, str]) -> list[dict[str, Any]]:
        """Every setting that a topic with these overrides has, or would have."""
        settings = TopicSettings.from_overrides(overrides, self._settings.topic_defaults)
        return [self._topic_entry(row, settings, overrides) for row in topic_definitions().values()]

    def new_topic(self, overrides: Mapping[str, str]) -> list[dict[str, Any]]:
        """The same for a topic that was just created. As in Kafka, its overrides are shown as they were
        written, and not as they are understood: `delete,delete` here is `delete` when it is described."""
        entries = self.topic_with(overrides)
        return [{**entry, "value": overrides.get(entry["name"], entry["value"])} for entry in entries]

    def group(self, name: str) -> list[dict[str, Any]]:
        """Every setting of a group. A default is the broker's setting, which Kafka does not name."""
        overrides = self._image.config(GROUP_RESOURCE, name)
        entries = []
        for row in group_definitions().values():
            if row.name in overrides:
                synonym = _synonym(row.name, overrides[row.name], ConfigSource.GROUP)
            else:
                default = self._settings.text(row.synonyms[0]) if row.synonyms else row.default_text
                synonym = _synonym(row.name, default, ConfigSource.DEFAULT)
            entries.append(_entry(row, synonym["value"], [synonym]))
        return entries

    def broker(self) -> list[dict[str, Any]]:
        """Every setting of this broker, with those that Kafka can change while it runs and that have no
        effect here, and what was set that is unknown here."""
        known = [
            _entry(row, self._settings.text(row.name), self._synonyms(row.name, row.synonyms or (row.name,)))
            for row in broker_definitions().values()
        ]
        inert = []
        for row in inert_definitions().values():
            synonyms = self._synonyms(row.name, (row.name,))
            inert.append(_entry(row, synonyms[0]["value"], synonyms))
        set_by_somebody = {name for _, texts in self._sources[:2] for name in texts}
        unknown = sorted(set_by_somebody - broker_definitions().keys() - inert_definitions().keys())
        return known + inert + [self._unknown_entry(name) for name in unknown]

    def all_brokers(self) -> list[dict[str, Any]]:
        """What was set for all brokers."""
        entries = []
        for name, text in sorted(self._all_brokers.items()):
            row = _definition(name)
            if row is None:
                entry = self._unknown_entry(name)
            else:
                entry = _entry(row, text, [_synonym(row.name, text, ConfigSource.DYNAMIC_DEFAULT_BROKER)])
            entry["config_source"] = ConfigSource.DYNAMIC_DEFAULT_BROKER
            entry["synonyms"] = [
                item for item in entry["synonyms"] if item["source"] is ConfigSource.DYNAMIC_DEFAULT_BROKER
            ]
            entries.append(entry)
        return entries

    def _topic_entry(
        self, row: Definition, settings: TopicSettings, overrides: Mapping[str, str]
    ) -> dict[str, Any]:
        text = settings.text(row.name)
        synonyms = self._synonyms(row.synonyms[0], row.synonyms) if row.synonyms else []
        if row.name in overrides:
            synonyms.insert(0, _synonym(row.name, text, ConfigSource.TOPIC))
        return _entry(row, text, synonyms)

    def _synonyms(self, described: str, names: Sequence[str]) -> list[Synonym]:
        """Where these broker settings have values, strongest first. As in Kafka, the list begins with the
        setting that is described: while `log.retention.ms` is not set, it does not name `log.retention.hours`
        either, though that one gives the value."""
        found = [
            _synonym(name, texts[name], source)
            for source, texts in self._sources
            for name in names
            if name in texts
        ]
        for name in names:
            row = _definition(name)
            if row is not None and row.default_text is not None:
                found.append(_synonym(name, row.default_text, ConfigSource.DEFAULT))
        return list(dropwhile(lambda synonym: synonym["name"] != described, found))

    def _unknown_entry(self, name: str) -> dict[str, Any]:
        """A setting that nobody here knows might be a secret, so it is never shown."""
        synonyms = [
            _synonym(name, None, source) for source, texts in self._sources[:2] if texts.get(name) is not None
        ]
        return {
            "name": name,
            "value": None,
            "read_only": True,
            "config_source": synonyms[0]["source"],
            "is_sensitive": True,
            "synonyms": synonyms,
            "config_type": UNKNOWN_TYPE,
            "documentation": None,
        }


def _definition(name: str) -> Definition | None:
    return broker_definitions().get(name) or inert_definitions().get(name)


def _synonym(name: str, text: str | None, source: ConfigSource) -> Synonym:
    return {"name": name, "value": text, "source": source}


def _entry(row: Definition, text: str | None, synonyms: list[Synonym]) -> dict[str, Any]:
    return {
        "name": row.name,
        "value": None if row.sensitive else text,
        "read_only": row.read_only,
        "config_source": synonyms[0]["source"] if synonyms else ConfigSource.DEFAULT,
        "is_sensitive": row.sensitive,
        "synonyms": [{**item, "value": None} for item in synonyms] if row.sensitive else synonyms,
        "config_type": row.type,
        "documentation": row.doc,
    }
