"""`mm2.properties` as Kafka reads it: clusters, the flows between them, and what holds for each flow.

A flow's settings are those of the whole file that MirrorMaker 2's connectors know, then those of its clusters
(`A.bootstrap.servers`), then its own (`A->B.topics`), the later the stronger.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from penstock.mirror.filters import Selection
from penstock.security.client_settings import ClientSettings, ClientSettingsError
from penstock.settings.errors import SettingError

SYNC_QUOTAS: Final = "sync.quotas.enabled"
ENABLED: Final = "enabled"
HEARTBEATS_ENABLED: Final = "emit.heartbeats.enabled"
SOURCE_CONNECTOR: Final = "org.apache.kafka.connect.mirror.MirrorSourceConnector"
_CLIENT_KINDS: Final = ("consumer", "producer", "admin")
_OF_CLIENTS: Final = ("ssl.", "sasl.")
_NAMES: Final = """
    admin.timeout.ms checkpoints.topic.replication.factor config.action.reload config.properties.exclude
    config.property.filter.class config.providers connector.class connector.plugin.version
    consumer.poll.timeout.ms emit.checkpoints.enabled emit.checkpoints.interval.seconds
    emit.heartbeats.enabled emit.heartbeats.interval.seconds emit.offset-syncs.enabled enabled
    errors.log.enable errors.log.include.messages errors.retry.delay.max.ms errors.retry.timeout
    errors.tolerance forwarding.admin.class group.filter.class groups groups.exclude header.converter
    header.converter.plugin.version heartbeats.replication.enabled heartbeats.topic.replication.factor
    key.converter key.converter.plugin.version metric.reporters name offset-syncs.topic.location
    offset-syncs.topic.replication.factor offset.lag.max predicates refresh.groups.enabled
    refresh.groups.interval.seconds refresh.topics.enabled refresh.topics.interval.seconds replication.factor
    replication.policy.class replication.policy.internal.topic.separator.enabled replication.policy.separator
    security.protocol source.cluster.alias sync.group.offsets.enabled sync.group.offsets.interval.seconds
    sync.topic.acls.enabled sync.topic.acls.interval.seconds sync.topic.configs.enabled
    sync.topic.configs.interval.seconds target.cluster.alias tasks.max tasks.max.enforce topic.filter.class
    topics topics.exclude transforms value.converter value.converter.plugin.version
    """
_CONNECTOR_SETTINGS: Final = frozenset(_NAMES.split())
"""What MirrorMaker 2's three connectors know; other settings of the whole file do not reach a flow."""
OWN_SETTINGS: Final[tuple[str, ...]] = (
    "max.offsets.per.batch",
    "sync.quotas.enabled",
    "transaction.timeout.ms",
)
"""What only we know."""


def _is_client_setting(name: str) -> bool:
    return name in ("bootstrap.servers", "security.protocol") or name.startswith(_OF_CLIENTS)


@dataclass(frozen=True)
class Intervals:
    """How often each duty of a flow is done, in seconds; None when it is switched off."""

    topics: float | None
    configs: float | None
    acls: float | None
    groups: float | None
    checkpoints: float | None
    group_offsets: float | None
    heartbeats: float | None


@dataclass(frozen=True)
class FlowSettings:
    """One direction between two clusters."""

    source: str
    target: str
    config: Mapping[str, str]
    """As MirrorMaker 2's `connectorBaseConfig`."""

    def __str__(self) -> str:
        return f"{self.source}->{self.target}"

    @property
    def enabled(self) -> bool:
        return self.flag(ENABLED, default=False)

    @cached_property
    def selection(self) -> Selection:
        return Selection.of(self.config)

    @cached_property
    def intervals(self) -> Intervals:
        return Intervals(
            self._interval("refresh.topics", 600),
            self._interval("sync.topic.configs", 600),
            self._interval("sync.topic.acls", 600),
            self._interval("refresh.groups", 600),
            self._interval("emit.checkpoints", 60) if self.emits_offset_syncs else None,
            self._interval("sync.group.offsets", 60, enabled=False),
            self._interval("emit.heartbeats", 1),
        )

    @property
    def emits_offset_syncs(self) -> bool:
        return self.flag("emit.offset-syncs.enabled", default=True)

    @property
    def offset_syncs_on_target(self) -> bool:
        location = self.config.get("offset-syncs.topic.location", "source").strip()
        if location not in ("source", "target"):
            name = "offset-syncs.topic.location"
            raise SettingError(
                f"{name} is {location!r}", setting=name, value=location, allowed="source, target"
            )
        return location == "target"

    @property
    def offset_syncs_topic(self) -> str:
        policy = self.selection.policy
        return policy.offset_syncs_topic(self.source if self.offset_syncs_on_target else self.target)

    @property
    def checkpoints_topic(self) -> str:
        return self.selection.policy.checkpoints_topic(self.source)

    @property
    def offsets_topic(self) -> str:
        """Where progress stands, on the target: the topic of source offsets of MirrorMaker 2's worker."""
        return self.config.get("offset.storage.topic", f"mm2-offsets.{self.source}.internal")

    @property
    def transactional_id(self) -> str:
        return f"penstock-mirror-{self}"

    @property
    def read_committed(self) -> bool:
        """Only committed records, unless the source's consumer is told otherwise."""
        return self._client_texts("source", "consumer").get("isolation.level") != "read_uncommitted"

    @property
    def from_end(self) -> bool:
        """Whether partitions that were never copied begin at their end."""
        return self._client_texts("source", "consumer").get("auto.offset.reset", "earliest") == "latest"

    @property
    def codec(self) -> str | None:
        """The codec that the target's producer is told to use; None to keep each batch as it is."""
        return self._client_texts("target", "producer").get("compression.type")

    @cached_property
    def source_client(self) -> ClientSettings:
        return self._client("source", "consumer")

    @cached_property
    def target_client(self) -> ClientSettings:
        return self._client("target", "producer")

    def admin_texts(self, side: str) -> dict[str, str]:
        """The settings of an admin client of `source` or `target`."""
        given = self._client_texts(side, "admin")
        return {name: value for name, value in given.items() if _is_client_setting(name)}

    def whole(self, name: str, default: int, least: int = 1) -> int:
        text = self.config.get(name)
        try:
            value = default if text is None else int(text)
        except ValueError:
            value = least - 1
        if value < least:
            allowed = f"a whole number, at least {least}"
            raise SettingError(f"{name} is {text!r}", setting=name, value=text, allowed=allowed)
        return value

    def flag(self, name: str, *, default: bool) -> bool:
        text = self.config.get(name, str(default)).strip().lower()
        if text not in ("true", "false"):
            raise SettingError(f"{name} is {text!r}", setting=name, value=text, allowed="true, false")
        return text == "true"

    def checked(self) -> FlowSettings:
        """The same; SettingError now for what would fail later."""
        _ = self.selection, self.intervals, self.offset_syncs_on_target
        _ = self.source_client, self.target_client
        for name in ("offset.lag.max", "replication.factor", *OWN_SETTINGS[:1]):
            self.whole(name, 1, least=-1 if name == "replication.factor" else 0)
        if self.config.get("transforms", "").strip():
            message = "transforms are not applied by a mirror: copies are the bytes that were there"
            raise SettingError(message, setting="transforms", value=self.config["transforms"], allowed="")
        return self

    def _interval(self, duty: str, seconds: int, *, enabled: bool = True) -> float | None:
        if not self.flag(f"{duty}.enabled", default=enabled):
            return None
        return float(self.whole(f"{duty}.interval.seconds", seconds, least=0)) or 0.2

    def _client_texts(self, side: str, kind: str) -> dict[str, str]:
        """MirrorMaker 2's order: the cluster's settings, those of all its clients of this kind."""
        found = {
            name: text
            for name, text in _with_prefix(self.config, f"{side}.cluster.").items()
            if _is_client_setting(name)
        }
        for prefix in (f"{kind}.", f"{side}.{kind}."):
            found |= _with_prefix(self.config, prefix)
        return found

    def _client(self, side: str, kind: str) -> ClientSettings:
        texts = self._client_texts(side, kind)
        alias = self.source if side == "source" else self.target
        if not texts.get("bootstrap.servers", "").strip():
            name = f"{alias}.bootstrap.servers"
            raise SettingError(f"{name} is missing", setting=name, value=None, allowed="HOST:PORT,…")
        try:
            return ClientSettings.from_properties(texts, client_id=f"{self}|penstock-mirror")
        except ClientSettingsError as error:
            name = f"{alias}.security.protocol"
            raise SettingError(f"cluster {alias}: {error}", setting=name, value=None, allowed="") from None


class MirrorSettings:
    """A whole `mm2.properties`."""

    def __init__(self, texts: Mapping[str, str]) -> None:
        self.texts = dict(texts)
        names = [name.strip() for name in self.texts.get("clusters", "").split(",")]
        self.clusters = tuple(dict.fromkeys(name for name in names if name))
        if not self.clusters:
            message = "clusters names no cluster"
            raise SettingError(message, setting="clusters", value=None, allowed="aliases, such as A, B")

    def flows(self, targets: Sequence[str] | None = None) -> list[FlowSettings]:
        """Every flow that does anything: copies, or emits heartbeats (MirrorMaker 2's `clusterPairs`). With
        `targets` only those to one of them."""
        for alias in targets or ():
            if alias not in self.clusters:
                message = f"{alias!r} is not among the clusters"
                raise SettingError(
                    message, setting="--clusters", value=alias, allowed=", ".join(self.clusters)
                )
        pairs = [(a, b) for a in self.clusters for b in self.clusters if a != b]
        return [self.flow(*pair) for pair in pairs if self._does_anything(*pair, targets)]

    def check_quotas(self) -> None:
        """SettingError when quotas would go in a circle: the other side would undo a change of the one."""
        pairs = {
            (flow.source, flow.target)
            for flow in self.flows()
            if flow.enabled and flow.flag(SYNC_QUOTAS, default=False)
        }
        reached = set(pairs)
        while more := {(a, d) for a, b in reached for c, d in pairs if b == c} - reached:
            reached |= more
        circle = sorted(a for a, b in reached if a == b)
        if circle:
            message = f"{SYNC_QUOTAS} lets quotas go in a circle through {' and '.join(circle)}"
            raise SettingError(
                message, setting=SYNC_QUOTAS, value="true", allowed=f"one direction: A->B.{SYNC_QUOTAS}"
            )

    def flow(self, source: str, target: str) -> FlowSettings:
        texts = self.texts
        config = {name: text for name, text in texts.items() if name in _CONNECTOR_SETTINGS}
        config |= {name: text for name, text in texts.items() if name.startswith(_OF_CLIENTS)}
        for prefix in ("config.providers", "replication.policy"):
            config |= {name: text for name, text in texts.items() if name.startswith(prefix)}
        for side, alias in (("source", source), ("target", target)):
            for name, text in self._cluster(alias).items():
                of_client = name.startswith(_CLIENT_KINDS)
                config[f"{side}.{name}" if of_client else f"{side}.cluster.{name}"] = text
        config.setdefault("name", SOURCE_CONNECTOR.rpartition(".")[2])
        config.setdefault("connector.class", SOURCE_CONNECTOR)
        config.setdefault("source.cluster.alias", source)
        config.setdefault("target.cluster.alias", target)
        config |= _with_prefix(texts, f"{source}->{target}.")
        config.setdefault(ENABLED, "false")
        own = {name: texts[name] for name in (*OWN_SETTINGS, "offset.storage.topic") if name in texts}
        return FlowSettings(source, target, {**own, **config})

    def _cluster(self, alias: str) -> dict[str, str]:
        """What stands under `alias.`, and how all clusters are reached where it does not say otherwise."""
        found = _with_prefix(self.texts, f"{alias}.")
        for known in (dict(found), self.texts):
            for name in filter(_is_client_setting, known):
                for kind in _CLIENT_KINDS:
                    found.setdefault(f"{kind}.{name}", known[name])
        for name in filter(_is_client_setting, self.texts):
            found.setdefault(name, self.texts[name])
        return found

    def _does_anything(self, source: str, target: str, targets: Sequence[str] | None) -> bool:
        if targets and target not in targets:
            return False
        everywhere = self.texts.get(HEARTBEATS_ENABLED, "true")
        heartbeats = self.texts.get(f"{source}->{target}.{HEARTBEATS_ENABLED}", everywhere)
        enabled = self.texts.get(f"{source}->{target}.{ENABLED}", "false")
        return "true" in (enabled.strip().lower(), heartbeats.strip().lower())


def _with_prefix(texts: Mapping[str, str], prefix: str) -> dict[str, str]:
    return {
        name[len(prefix) :]: text
        for name, text in texts.items()
        if name.startswith(prefix) and len(name) > len(prefix)
    }
