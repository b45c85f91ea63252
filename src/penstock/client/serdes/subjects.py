"""Which subject a record's schema is under: Confluent's strategies, or a function of yours."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from penstock.client.api import plugins
from penstock.client.api.exceptions import SerializationException

Strategy = Callable[[str, bool, str | None], str]
"""Topic, whether it is the key, and the full name of the record; None where the schema has no name."""


def topic_name(topic: str, is_key: bool, record: str | None) -> str:
    return f"{topic}-{'key' if is_key else 'value'}"


def record_name(topic: str, is_key: bool, record: str | None) -> str:
    return _needed(topic, record)


def topic_record_name(topic: str, is_key: bool, record: str | None) -> str:
    return f"{topic}-{_needed(topic, record)}"


_BY_NAME: Final[dict[str, Strategy]] = {
    "TopicNameStrategy": topic_name,
    "RecordNameStrategy": record_name,
    "TopicRecordNameStrategy": topic_record_name,
}
BY_JAVA_NAME: Final[dict[str, Any]] = {
    f"{prefix}{name}": strategy
    for prefix in ("", "io.confluent.kafka.serializers.subject.")
    for name, strategy in _BY_NAME.items()
}


def strategy_of(setting: str, given: Any) -> Strategy:
    """A function, a name of Confluent's, or an object with `subject_name(topic, is_key, record)`."""
    if given is None:
        return topic_name
    made = BY_JAVA_NAME[given] if isinstance(given, str) and given in BY_JAVA_NAME else None
    made = made or plugins.plugin(setting, given, {})
    strategy: Strategy = getattr(made, "subject_name", made)
    return strategy


def _needed(topic: str, record: str | None) -> str:
    if not record:
        raise SerializationException(
            f"The schema of a record for topic {topic!r} has no name, and the subject is made of it. Name "
            "the record (a JSON schema has its name in title), or use TopicNameStrategy."
        )
    return record
