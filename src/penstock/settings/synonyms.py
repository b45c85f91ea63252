"""Broker settings that give topics their defaults: `log.retention.hours` for `retention.ms`, and so on.

A topic setting names its broker settings, strongest first; where several are given, only the strongest
counts. Those in hours or minutes become milliseconds.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, Final

from penstock.settings import kinds
from penstock.settings.definition import Definition, field_name
from penstock.settings.errors import invalid
from penstock.settings.topic import TopicSettings, topic_definitions

_UNITS_MS: Final = {"hours": 3_600_000, "minutes": 60_000}
_UNLIMITED: Final = -1


@cache
def synonym_definitions() -> Mapping[str, Definition]:
    """The rows of these broker settings, made from the rows of the topic settings that they stand for."""
    rows: dict[str, Definition] = {}
    for topic_row in topic_definitions().values():
        for name in topic_row.synonyms:
            if (
                name != "log.flush.scheduler.interval.ms"
            ):  # a broker setting of its own, which flush.ms falls back on
                rows[name] = _row(name, topic_row)
    return rows


def _row(name: str, topic_row: Definition) -> Definition:
    unit_ms = _unit_ms(name)
    several = len(topic_row.synonyms) > 1
    doc = f"Default of the topic setting {topic_row.name}. {topic_row.doc}"
    if unit_ms == 1:
        default = None if several else topic_row.default
        return Definition(name, topic_row.kind, default, doc, read_only=False, synonyms=topic_row.synonyms)
    default = topic_row.default // unit_ms if name.endswith("hours") else None
    return Definition(name, kinds.int_(), default, doc, read_only=True, synonyms=topic_row.synonyms)


def derive_topic_defaults(texts: Mapping[str, str]) -> TopicSettings:
    """What a topic has that says nothing else, on a broker with these settings."""
    found: dict[str, Any] = {}
    for topic_row in topic_definitions().values():
        name = next((name for name in topic_row.synonyms if name in texts), None)
        if name is not None:
            found[field_name(topic_row.name)] = _value(name, texts[name], topic_row)
    return TopicSettings(**found)


def synonym_text(row: Definition, given: Mapping[str, str], topic_defaults: TopicSettings) -> str | None:
    """The value of one of these settings; one of several for the same topic setting keeps its own."""
    if len(row.synonyms) > 1:
        text = given.get(row.name)
        return row.default_text if text is None else row.render(row.parse(text))
    topic_row = next(found for found in topic_definitions().values() if row.name in found.synonyms)
    return topic_defaults.text(topic_row.name)


def _value(name: str, text: str, topic_row: Definition) -> Any:
    row = synonym_definitions().get(name, topic_row)
    value = row.parse(text)
    if topic_row.name == "retention.ms":
        return _retention_ms(name, text, value * _unit_ms(name))
    if _unit_ms(name) > 1:
        return topic_row.parse(str(value * _unit_ms(name)))
    return value


def _retention_ms(name: str, text: str, value_ms: int) -> int:
    if value_ms == 0:
        why = f"{name} must be unlimited (-1) or, equal or greater than 1"
        raise invalid(name, text, why, "-1, or a whole number from 1 on")
    return max(value_ms, _UNLIMITED)


def _unit_ms(name: str) -> int:
    return _UNITS_MS.get(name.rpartition(".")[2], 1)
