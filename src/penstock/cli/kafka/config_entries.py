"""Settings of topics, brokers and other resources, as a broker describes them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from penstock.cli.kafka.asking import Asker, check

TOPIC: Final = 2
BROKER: Final = 4
BROKER_LOGGER: Final = 8
CLIENT_METRICS: Final = 16
GROUP: Final = 32

SET: Final = 0
DELETE: Final = 1
"""Operations of a change."""

SOURCES: Final = {
    0: "UNKNOWN",
    1: "DYNAMIC_TOPIC_CONFIG",
    2: "DYNAMIC_BROKER_CONFIG",
    3: "DYNAMIC_DEFAULT_BROKER_CONFIG",
    4: "STATIC_BROKER_CONFIG",
    5: "DEFAULT_CONFIG",
    6: "DYNAMIC_BROKER_LOGGER_CONFIG",
    7: "DYNAMIC_CLIENT_METRICS_CONFIG",
    8: "DYNAMIC_GROUP_CONFIG",
}


class Entry(NamedTuple):
    """One setting. `synonyms` are where its value could come from: source, name and value of each."""

    name: str
    value: str | None
    source: str
    sensitive: bool
    synonyms: tuple[tuple[str, str, str | None], ...]

    @property
    def is_default(self) -> bool:
        return self.source == "DEFAULT_CONFIG"


def described_configs(asker: Asker, kind: int, names: Sequence[str]) -> dict[str, list[Entry]]:
    """All settings of the resources, in the broker's order. One broker must be asked for its own."""
    from penstock.protocol.apis import Api

    resources = [{"resource_type": kind, "resource_name": name, "configuration_keys": None} for name in names]
    fields = {"resources": resources, "include_synonyms": True, "include_documentation": False}
    if kind in (BROKER, BROKER_LOGGER) and names[0]:
        asker.brokers()
        answer = asker.broker(int(names[0]), Api.DESCRIBE_CONFIGS, fields, (1, 4))
    else:
        answer = asker.any(Api.DESCRIBE_CONFIGS, fields, (1, 4))
    found = {}
    for result in answer.results:
        check(result)
        found[result.resource_name] = [_entry(config) for config in result.configs]
    return found


def alter_configs(asker: Asker, kind: int, name: str, changes: Sequence[Mapping[str, Any]]) -> None:
    """Changes settings of one resource, each by its operation. One broker must be asked for its own."""
    from penstock.protocol.apis import Api

    resource = {"resource_type": kind, "resource_name": name, "configs": changes}
    fields = {"resources": [resource], "validate_only": False}
    if kind in (BROKER, BROKER_LOGGER) and name:
        asker.brokers()
        answer = asker.broker(int(name), Api.INCREMENTAL_ALTER_CONFIGS, fields, (0, 1))
    else:
        answer = asker.any(Api.INCREMENTAL_ALTER_CONFIGS, fields, (0, 1))
    for response in answer.responses:
        check(response)


def _entry(config: Any) -> Entry:
    synonyms = tuple((SOURCES[one.source], one.name, one.value) for one in config.synonyms)
    return Entry(config.name, config.value, SOURCES[config.config_source], config.is_sensitive, synonyms)
