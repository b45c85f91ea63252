"""Defaults of all brokers (`kafka-configs --entity-default`), asked and changed by our own connection.

The binding refuses a broker without a name, which is how Kafka names the defaults. Called by `configs` alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from penstock.client.direct import Direct, check
from penstock.client.librdkafka import Connection
from penstock.client.metadata import ConfigEntry, ConfigSynonym
from penstock.protocol.apis import Api

BROKER: Final = 4
"""The type of resource in both requests."""
SOURCES: Final = {
    1: "DYNAMIC_TOPIC_CONFIG",
    2: "DYNAMIC_BROKER_CONFIG",
    3: "DYNAMIC_DEFAULT_BROKER_CONFIG",
    4: "STATIC_BROKER_CONFIG",
    5: "DEFAULT_CONFIG",
}
OPERATION_NUMBERS: Final = {"SET": 0, "DELETE": 1, "APPEND": 2, "SUBTRACT": 3}

Change = tuple[str, str | None, str]
"""Name, value, operation."""


class ClusterDefaults:
    def __init__(self, connection: Connection) -> None:
        self._direct = Direct(connection)

    def describe(self) -> list[ConfigEntry]:
        fields = {
            "resources": [{"resource_type": BROKER, "resource_name": "", "configuration_keys": None}],
            "include_synonyms": True,
            "include_documentation": False,
        }
        answer = self._direct.ask(Api.DESCRIBE_CONFIGS, fields, (1, 4))
        (result,) = answer.results
        check(result, "read the settings of the cluster")
        return sorted((_entry(found) for found in result.configs), key=lambda entry: entry.name)

    def alter(self, changes: Sequence[Change], *, validate_only: bool) -> None:
        configs = [
            {"name": name, "config_operation": OPERATION_NUMBERS[operation], "value": value}
            for name, value, operation in changes
        ]
        resource = {"resource_type": BROKER, "resource_name": "", "configs": configs}
        fields = {"resources": [resource], "validate_only": validate_only}
        answer = self._direct.ask(Api.INCREMENTAL_ALTER_CONFIGS, fields, (0, 1))
        (response,) = answer.responses
        check(response, "change the settings of the cluster")


def _entry(found: Any) -> ConfigEntry:
    source = SOURCES.get(int(found.config_source), "UNKNOWN_CONFIG")
    synonyms = tuple(
        ConfigSynonym(each.name, each.value, SOURCES.get(int(each.source), "UNKNOWN_CONFIG"))
        for each in found.synonyms
    )
    return ConfigEntry(
        found.name,
        found.value,
        source == "DEFAULT_CONFIG",
        found.is_sensitive,
        source,
        found.read_only,
        synonyms,
    )
