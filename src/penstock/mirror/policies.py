"""How a topic of one cluster is called on another: MirrorMaker 2's replication policies.

`DefaultReplicationPolicy` puts the alias of the source before the name (`A.orders`). The name then says where
a topic came from, hop by hop, and so no record runs in a circle. `IdentityReplicationPolicy` keeps the name.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from penstock.settings.errors import SettingError

CLASS: Final = "replication.policy.class"
SEPARATOR: Final = "replication.policy.separator"
INTERNAL_SEPARATOR: Final = "replication.policy.internal.topic.separator.enabled"
PACKAGE: Final = "org.apache.kafka.connect.mirror."
HEARTBEATS: Final = "heartbeats"


@dataclass(frozen=True)
class ReplicationPolicy:
    """Kafka's `DefaultReplicationPolicy`."""

    separator: str = "."
    internal_separator: str = "."
    """What stands in the names of internal topics; the same as `separator` unless it was switched off."""

    def remote_topic(self, source_alias: str, topic: str) -> str:
        """The name on the target of a topic of the source."""
        return f"{source_alias}{self.separator}{topic}"

    def topic_source(self, topic: str) -> str | None:
        """The alias of the cluster that a topic was mirrored from; None for one that is at home here."""
        # As Java's split, which drops empty parts at the end: `A.` has one part and is no remote topic.
        alias, found, rest = topic.partition(self.separator)
        return alias if found and rest.replace(self.separator, "") else None

    def upstream_topic(self, topic: str) -> str | None:
        """The name of a remote topic on its source; None for a topic that is at home here."""
        source = self.topic_source(topic)
        return None if source is None else topic[len(source) + len(self.separator) :]

    def original_topic(self, topic: str) -> str:
        """The name without the aliases of all hops."""
        upstream = self.upstream_topic(topic)
        return topic if upstream is None or upstream == topic else self.original_topic(upstream)

    @property
    def _suffix(self) -> str:
        return f"{self.internal_separator}internal"

    def offset_syncs_topic(self, alias: str) -> str:
        return f"mm2-offset-syncs{self.internal_separator}{alias}{self._suffix}"

    def checkpoints_topic(self, alias: str) -> str:
        return f"{alias}{self.internal_separator}checkpoints{self._suffix}"

    def is_heartbeats_topic(self, topic: str) -> bool:
        return self.original_topic(topic) == HEARTBEATS

    def is_internal_topic(self, topic: str) -> bool:
        own = topic.startswith("mm2") and topic.endswith(self._suffix)
        return own or topic.endswith(self.checkpoints_topic("")) or topic.startswith(("__", "."))

    def sources(self, topic: str) -> list[str]:
        """The clusters that a topic passed, the nearest first."""
        found: list[str] = []
        at: str | None = topic
        while at is not None and (source := self.topic_source(at)) is not None and source not in found:
            found.append(source)
            at = self.upstream_topic(at)
        return found

    def is_cycle(self, topic: str, target_alias: str) -> bool:
        """Whether a topic of the source was mirrored from the target already, by any number of hops."""
        source, upstream = self.topic_source(topic), self.upstream_topic(topic)
        if source is None:
            return False
        if source == target_alias:
            return True
        return upstream is not None and upstream != topic and self.is_cycle(upstream, target_alias)


@dataclass(frozen=True)
class IdentityReplicationPolicy(ReplicationPolicy):
    """Names stay as they are, but those of heartbeats. It cannot tell that two flows run in a circle."""

    source_alias: str | None = None

    def remote_topic(self, source_alias: str, topic: str) -> str:
        return super().remote_topic(source_alias, topic) if _like_heartbeats(topic) else topic

    def topic_source(self, topic: str) -> str | None:
        return super().topic_source(topic) if _like_heartbeats(topic) else self.source_alias

    def upstream_topic(self, topic: str) -> str | None:
        return super().upstream_topic(topic) if _like_heartbeats(topic) else topic


def _like_heartbeats(topic: str) -> bool:
    return topic.endswith(HEARTBEATS)


def policy_from(config: Mapping[str, str]) -> ReplicationPolicy:
    """The policy that the settings of a flow name. SettingError for a class that is not one of Kafka's."""
    separator = config.get(SEPARATOR, ".")
    with_separator = config.get(INTERNAL_SEPARATOR, "true").strip().lower() == "true"
    internal = separator if with_separator else "."
    chosen = config.get(CLASS, "").strip() or f"{PACKAGE}DefaultReplicationPolicy"
    if chosen == f"{PACKAGE}DefaultReplicationPolicy":
        return ReplicationPolicy(separator, internal)
    if chosen == f"{PACKAGE}IdentityReplicationPolicy":
        return IdentityReplicationPolicy(separator, internal, config.get("source.cluster.alias"))
    message = f"{CLASS} is {chosen}, and Java's classes do not run here"
    allowed = f"{PACKAGE}DefaultReplicationPolicy, {PACKAGE}IdentityReplicationPolicy"
    raise SettingError(message, setting=CLASS, value=chosen, allowed=allowed)
