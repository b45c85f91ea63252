"""Settings of broker and topics under Kafka's names: definitions, defaults, checks, and where they are read from.

Everybody imports from here. The tables are `TopicSettings` and `BrokerSettings`; nothing in this package opens a socket,
and only `sources` reads a file.
"""

from penstock.settings.errors import SettingError
from penstock.settings.topic import TopicSettings, topic_definitions, validate_topic_overrides

__all__ = [
    "SettingError",
    "TopicSettings",
    "topic_definitions",
    "validate_topic_overrides",
]
