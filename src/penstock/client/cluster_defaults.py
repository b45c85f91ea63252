"""Defaults of all brokers (`kafka-configs --entity-default`), asked and changed by our own connection.

The binding refuses a broker without a name, which is how Kafka names the defaults. Called by `configs` alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from penstock.client.errors import INVALID, BrokerRefused, BrokerUnreachable, ClientError, InvalidValue
from penstock.client.metadata import ConfigEntry, ConfigSynonym
from penstock.protocol.apis import Api
from penstock.protocol.errors import ErrorCode
from penstock.wire.cluster import Cluster
from penstock.wire.deadline import Deadline
from penstock.wire.errors import WireError

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
    def __init__(self, bootstrap_servers: str, timeout_s: float) -> None:
        self._bootstrap_servers = bootstrap_servers
        self._timeout_s = timeout_s

    def describe(self) -> list[ConfigEntry]:
        fields = {
            "resources": [{"resource_type": BROKER, "resource_name": "", "configuration_keys": None}],
            "include_synonyms": True,
            "include_documentation": False,
        }
        answer = self._ask(Api.DESCRIBE_CONFIGS, fields, (1, 4))
        (result,) = answer.results
        self._check(result, "read the settings of the cluster")
        return sorted((_entry(found) for found in result.configs), key=lambda entry: entry.name)

    def alter(self, changes: Sequence[Change], *, validate_only: bool) -> None:
        configs = [
            {"name": name, "config_operation": OPERATION_NUMBERS[operation], "value": value}
            for name, value, operation in changes
        ]
        resource = {"resource_type": BROKER, "resource_name": "", "configs": configs}
        fields = {"resources": [resource], "validate_only": validate_only}
        answer = self._ask(Api.INCREMENTAL_ALTER_CONFIGS, fields, (0, 1))
        (response,) = answer.responses
        self._check(response, "change the settings of the cluster")

    def _ask(self, api: Api, fields: dict[str, Any], versions: tuple[int, int]) -> Any:
        cluster = Cluster(self._bootstrap_servers)
        deadline = Deadline(self._timeout_s)
        try:
            with cluster.any_connection(deadline) as connection:
                return connection.call(api, fields, deadline, oldest=versions[0], newest=versions[1])
        except WireError as error:
            raise BrokerUnreachable(self._bootstrap_servers, self._timeout_s, str(error)) from error
        finally:
            cluster.close()

    def _check(self, result: Any, doing: str) -> None:
        name = ErrorCode(int(result.error_code)).name
        if name != "NONE":
            raise _refusal(name, doing, (result.error_message or "").strip().removesuffix("."))


def _refusal(name: str, doing: str, detail: str) -> ClientError:
    if name in INVALID:
        return InvalidValue(f"Could not {doing}: {detail or name}. {INVALID[name]}")
    return BrokerRefused(f"Could not {doing}: {detail or 'the broker refused'} ({name}).", name)


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
