"""Settings of topics, brokers and groups: described, changed, and whose there are."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from concurrent.futures import Future
from enum import IntEnum
from typing import Any, NamedTuple

from penstock.client.api.admin.asking import Asking, check, failure
from penstock.client.api.admin.results import Keyed
from penstock.protocol.apis import Api
from penstock.wire.deadline import Deadline


class ResourceKind(IntEnum):
    """Java's `ConfigResource.Type`."""

    UNKNOWN = 0
    TOPIC = 2
    BROKER = 4
    BROKER_LOGGER = 8
    CLIENT_METRICS = 16
    GROUP = 32


class ConfigResource(NamedTuple):
    """Whose settings they are: `ConfigResource("TOPIC", "orders")`. A broker without a name is the default of
    all brokers."""

    type: str
    name: str


class ConfigEntry(NamedTuple):
    name: str
    value: str | None
    source: str = "UNKNOWN"
    is_sensitive: bool = False
    is_read_only: bool = False
    synonyms: tuple[tuple[str, str | None, str], ...] = ()
    """Name, value and source, the one that counts first."""
    documentation: str | None = None

    @property
    def is_default(self) -> bool:
        return self.source == "DEFAULT_CONFIG"


class AlterConfigOp(NamedTuple):
    """`AlterConfigOp("retention.ms", "1000")`, or DELETE, APPEND, SUBTRACT."""

    name: str
    value: str | None = None
    op_type: str = "SET"


_OPERATIONS = ("SET", "DELETE", "APPEND", "SUBTRACT")
_SOURCES = {
    1: "DYNAMIC_TOPIC_CONFIG",
    2: "DYNAMIC_BROKER_CONFIG",
    3: "DYNAMIC_DEFAULT_BROKER_CONFIG",
    4: "STATIC_BROKER_CONFIG",
    5: "DEFAULT_CONFIG",
    6: "DYNAMIC_BROKER_LOGGER_CONFIG",
    7: "DYNAMIC_CLIENT_METRICS_CONFIG",
    8: "DYNAMIC_GROUP_CONFIG",
}
Config = dict[str, ConfigEntry]


class DescribeConfigsResult(Keyed[ConfigResource, Config]): ...


class AlterConfigsResult(Keyed[ConfigResource, None]): ...


class Configs(Asking):
    def describe_configs(
        self,
        resources: Collection[ConfigResource],
        *,
        include_synonyms: bool = False,
        include_documentation: bool = False,
        timeout: float | None = None,
    ) -> DescribeConfigsResult:
        asked = [ConfigResource(*each) for each in resources]

        def work(deadline: Deadline) -> Mapping[ConfigResource, Any]:
            found: dict[ConfigResource, Any] = {}
            for node_id, wanted in _by_broker(asked).items():
                fields = {
                    "resources": [
                        {
                            "resource_type": _kind(each),
                            "resource_name": each.name,
                            "configuration_keys": None,
                        }
                        for each in wanted
                    ],
                    "include_synonyms": include_synonyms,
                    "include_documentation": include_documentation,
                }
                if node_id is not None:
                    self._cluster.brokers(deadline)
                answer = self._ask(Api.DESCRIBE_CONFIGS, fields, (1, 4), deadline, node_id)
                for part in answer.results:
                    owner = ConfigResource(ResourceKind(part.resource_type).name, part.resource_name)
                    found[owner] = failure(part, f"read the settings of {owner}") or _config(part.configs)
            return found

        return self._each(DescribeConfigsResult(asked), "describe configs", work, timeout)

    def incremental_alter_configs(
        self,
        configs: Mapping[ConfigResource, Iterable[AlterConfigOp]],
        *,
        validate_only: bool = False,
        timeout: float | None = None,
    ) -> AlterConfigsResult:
        """All changes of a resource or none; what is not named stays."""
        asked = {ConfigResource(*owner): list(changes) for owner, changes in configs.items()}

        def work(deadline: Deadline) -> Mapping[ConfigResource, Any]:
            found: dict[ConfigResource, Any] = {}
            for node_id, wanted in _by_broker(asked).items():
                fields = {
                    "resources": [
                        {
                            "resource_type": _kind(each),
                            "resource_name": each.name,
                            "configs": [_change(change) for change in asked[each]],
                        }
                        for each in wanted
                    ],
                    "validate_only": validate_only,
                }
                if node_id is not None:
                    self._cluster.brokers(deadline)
                answer = self._ask(
                    *(Api.INCREMENTAL_ALTER_CONFIGS, fields, (0, 1), deadline, node_id),
                    codes=lambda each: [part.error_code for part in each.responses],
                )
                for part in answer.responses:
                    owner = ConfigResource(ResourceKind(part.resource_type).name, part.resource_name)
                    found[owner] = failure(part, f"change the settings of {owner}")
            return found

        return self._each(AlterConfigsResult(asked), "alter configs", work, timeout)

    def list_config_resources(
        self, types: Collection[str] = (), *, timeout: float | None = None
    ) -> Future[list[ConfigResource]]:
        """Of these types, or of all."""

        def work(deadline: Deadline) -> list[ConfigResource]:
            fields = {"resource_types": [ResourceKind[each] for each in types]}
            answer = self._ask(Api.LIST_CONFIG_RESOURCES, fields, (1 if types else 0, 1), deadline)
            check(answer, "list config resources")
            return [
                ConfigResource(ResourceKind(getattr(each, "resource_type", 16)).name, each.resource_name)
                for each in answer.config_resources
            ]

        return self._one("list config resources", work, timeout)

    def list_client_metrics_resources(self, *, timeout: float | None = None) -> Future[list[ConfigResource]]:
        """The older name of a part of `list_config_resources`."""
        return self.list_config_resources(("CLIENT_METRICS",), timeout=timeout)


def _by_broker(owners: Iterable[ConfigResource]) -> dict[int | None, list[ConfigResource]]:
    """A broker answers for its own settings; any broker answers for the others."""
    grouped: dict[int | None, list[ConfigResource]] = {}
    for each in owners:
        own = each.type in ("BROKER", "BROKER_LOGGER") and each.name
        grouped.setdefault(int(each.name) if own else None, []).append(each)
    return grouped


def _kind(owner: ConfigResource) -> int:
    return int(ResourceKind[owner.type])


def _change(change: AlterConfigOp) -> dict[str, Any]:
    return {
        "name": change.name,
        "config_operation": _OPERATIONS.index(change.op_type),
        "value": change.value,
    }


def _config(parts: Sequence[Any]) -> Config:
    return {
        each.name: ConfigEntry(
            each.name,
            each.value,
            _SOURCES.get(each.config_source, "UNKNOWN"),
            each.is_sensitive,
            each.read_only,
            tuple((one.name, one.value, _SOURCES.get(one.source, "UNKNOWN")) for one in each.synonyms),
            getattr(each, "documentation", None),
        )
        for each in parts
    }
