"""`Configs`: settings of topics, brokers and the whole cluster; asked, set, taken back.

Thin over `admin.Admin`, whose deadline and errors it shares. Called by `Admin` itself and by the REST Proxy.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

from penstock.client.cluster_defaults import SOURCES, ClusterDefaults
from penstock.client.direct import Direct, check
from penstock.client.errors import InvalidValue
from penstock.client.librdkafka import admin_binding
from penstock.client.metadata import ConfigEntry, ConfigSynonym
from penstock.protocol.apis import Api

if TYPE_CHECKING:
    from penstock.client.admin import Admin

OPERATIONS = ("SET", "DELETE", "APPEND", "SUBTRACT")


class Owner(NamedTuple):
    """Whose settings they are."""

    kind: str
    """TOPIC or BROKER."""
    name: str
    """A topic, a broker's id, or nothing for the defaults of all brokers."""

    @classmethod
    def topic(cls, name: str) -> Owner:
        return cls("TOPIC", name)

    @classmethod
    def broker(cls, node_id: int) -> Owner:
        return cls("BROKER", str(node_id))

    @classmethod
    def cluster(cls) -> Owner:
        return cls("BROKER", "")

    def __str__(self) -> str:
        return f"{self.kind.lower()} {self.name!r}" if self.name else "the cluster"


class Alteration(NamedTuple):
    """One change of one setting; `operation` is one of OPERATIONS."""

    name: str
    value: str | None
    operation: str = "SET"


class Configs:
    def __init__(self, admin: Admin) -> None:
        self._admin = admin
        self._binding = admin_binding()

    def describe(self, owner: Owner) -> list[ConfigEntry]:
        """Every setting by name, defaults included."""
        if owner == Owner.cluster():
            return self._defaults().describe()
        resource = self._resource(owner)
        futures = self._admin.client.describe_configs([resource], request_timeout=self._admin.timeout_s)
        entries = self._admin.result(futures[resource], f"read the settings of {owner}", _topic(owner))
        return [_config_entry(entry) for _, entry in sorted(entries.items())]

    def of_new_topic(self) -> list[ConfigEntry]:
        """What a topic would have that were created now without settings of its own. The broker is asked to
        create one, and not to do it."""
        name = f"penstock-defaults-{uuid.uuid4()}"
        topic = {"name": name, "num_partitions": 1, "replication_factor": 1, "assignments": [], "configs": []}
        fields = {"topics": [topic], "timeout": int(self._admin.timeout_s * 1000), "validate_only": True}
        answer = Direct(self._admin.connection).ask(Api.CREATE_TOPICS, fields, (5, 7))
        (result,) = answer.topics
        check(result, "read the settings of new topics")
        return sorted((_entry_of_new(found) for found in result.configs or ()), key=lambda each: each.name)

    def alter(self, owner: Owner, changes: Iterable[Alteration], *, validate_only: bool = False) -> None:
        """All of the changes or none; what is not named stays as it is."""
        wanted = [_checked(change) for change in changes]
        if not wanted:
            return
        if owner == Owner.cluster():
            self._defaults().alter(wanted, validate_only=validate_only)
            return
        resource = self._resource(owner, [self._entry(change) for change in wanted])
        futures = self._admin.client.incremental_alter_configs(
            [resource], request_timeout=self._admin.timeout_s, validate_only=validate_only
        )
        self._admin.result(futures[resource], f"change the settings of {owner}", _topic(owner))

    def _resource(self, owner: Owner, entries: list[Any] | None = None) -> Any:
        kind = self._binding.ConfigResource
        return kind(kind.Type[owner.kind], owner.name, incremental_configs=entries)

    def _defaults(self) -> ClusterDefaults:
        return ClusterDefaults(self._admin.connection)

    def _entry(self, change: Alteration) -> Any:
        operation = self._binding.AlterConfigOpType[change.operation]
        return self._binding.ConfigEntry(change.name, change.value, incremental_operation=operation)


def _checked(change: Alteration) -> Alteration:
    """The change, with a value wherever one is needed: no value is an empty one."""
    if change.operation not in OPERATIONS:
        raise InvalidValue(
            f"{change.operation!r:.80} is no operation on a setting. Use one of {', '.join(OPERATIONS)}."
        )
    return change if change.operation == "DELETE" else change._replace(value=change.value or "")


def _topic(owner: Owner) -> str | None:
    return owner.name if owner.kind == "TOPIC" else None


def _entry_of_new(found: Any) -> ConfigEntry:
    source = SOURCES.get(int(found.config_source), "UNKNOWN_CONFIG")
    is_default = source == "DEFAULT_CONFIG"
    return ConfigEntry(found.name, found.value, is_default, found.is_sensitive, source, found.read_only)


def _config_entry(entry: Any) -> ConfigEntry:
    return ConfigEntry(
        entry.name,
        entry.value,
        bool(entry.is_default),
        bool(entry.is_sensitive),
        _source(entry),
        bool(entry.is_read_only),
        tuple(ConfigSynonym(s.name, s.value, _source(s)) for s in (entry.synonyms or {}).values()),
    )


def _source(entry: Any) -> str:
    return admin_binding().ConfigSource(entry.source).name if entry.source is not None else "UNKNOWN_CONFIG"
