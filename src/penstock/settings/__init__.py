"""Settings of broker and topics under Kafka's names: definitions, defaults, checks, and where they come from.

Other packages import from here. The tables are `TopicSettings` and `BrokerSettings`; nothing in this package
opens a socket, and only `sources` reads a file.
"""

from penstock.settings.broker import BROKER_ID, BrokerSettings, broker_definitions
from penstock.settings.definition import Definition
from penstock.settings.dynamic import check_dynamic, is_dynamic, overlay
from penstock.settings.errors import SettingError
from penstock.settings.group import check_group_overrides, group_definitions
from penstock.settings.inert import inert_definitions, why_inert
from penstock.settings.kinds import SettingType
from penstock.settings.listeners import Listener
from penstock.settings.topic import TopicSettings, topic_definitions, validate_topic_overrides

__all__ = [
    "BROKER_ID",
    "BrokerSettings",
    "Definition",
    "Listener",
    "SettingError",
    "SettingType",
    "TopicSettings",
    "broker_definitions",
    "check_dynamic",
    "check_group_overrides",
    "group_definitions",
    "inert_definitions",
    "is_dynamic",
    "overlay",
    "topic_definitions",
    "validate_topic_overrides",
    "why_inert",
]
