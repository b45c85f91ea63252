"""Which topics, groups and configurations a flow takes: MirrorMaker 2's filters with their defaults.

Patterns are Java's regular expressions with commas between them; a name must match as a whole.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from penstock.mirror.policies import PACKAGE, ReplicationPolicy, policy_from
from penstock.settings.errors import SettingError

TOPICS: Final = "topics"
TOPICS_EXCLUDE: Final = "topics.exclude"
GROUPS: Final = "groups"
GROUPS_EXCLUDE: Final = "groups.exclude"
CONFIGS_EXCLUDE: Final = "config.properties.exclude"
DEFAULTS: Final = {
    TOPICS: ".*",
    TOPICS_EXCLUDE: r"mm2.*\.internal, .*\.replica, __.*",
    GROUPS: ".*",
    GROUPS_EXCLUDE: "console-consumer-.*, connect-.*, __.*",
    CONFIGS_EXCLUDE: (
        r"follower\.replication\.throttled\.replicas, leader\.replication\.throttled\.replicas, "
        r"message\.timestamp\.difference\.max\.ms, message\.timestamp\.type, "
        r"unclean\.leader\.election\.enable, min\.insync\.replicas"
    ),
}
_OLD_NAMES: Final = {
    TOPICS_EXCLUDE: "topics.blacklist",
    GROUPS_EXCLUDE: "groups.blacklist",
    CONFIGS_EXCLUDE: "config.properties.blacklist",
}
_CLASSES: Final = {
    "topic.filter.class": f"{PACKAGE}DefaultTopicFilter",
    "group.filter.class": f"{PACKAGE}DefaultGroupFilter",
    "config.property.filter.class": f"{PACKAGE}DefaultConfigPropertyFilter",
}


@dataclass(frozen=True)
class Selection:
    """What one flow mirrors. It holds text alone, so it travels to Spark's processes as it is."""

    source: str
    target: str
    policy: ReplicationPolicy
    patterns: tuple[tuple[str, str], ...]
    """The patterns by their settings' names."""
    heartbeats: bool = True
    """Whether heartbeats are mirrored whatever the filter of topics says."""
    defaults_from_source: bool = False

    @classmethod
    def of(cls, config: Mapping[str, str]) -> Selection:
        """From the settings of a flow; SettingError for a pattern or a class that cannot be honoured."""
        for name, known in _CLASSES.items():
            if config.get(name, known).strip() not in ("", known):
                message = f"{name} is {config[name]}, and Java's classes do not run here"
                raise SettingError(message, setting=name, value=config[name], allowed=known)
        patterns = {name: _given(config, name) for name in DEFAULTS}
        for name, text in patterns.items():
            _compiled(name, text)
        return cls(
            config["source.cluster.alias"],
            config["target.cluster.alias"],
            policy_from(config),
            tuple(patterns.items()),
            config.get("heartbeats.replication.enabled", "true").strip().lower() == "true",
            config.get("use.defaults.from", "target").strip() == "source",
        )

    @cached_property
    def _compiled(self) -> dict[str, re.Pattern[str] | None]:
        return {name: _compiled(name, text) for name, text in self.patterns}

    def __getstate__(self) -> dict[str, object]:
        return {name: value for name, value in self.__dict__.items() if name != "_compiled"}

    def _matches(self, name: str, text: str) -> bool:
        pattern = self._compiled[name]
        return pattern is not None and pattern.fullmatch(text) is not None

    def filters_topic(self, topic: str) -> bool:
        """What the filter of topics alone says, which is asked for the offsets of groups."""
        return self._matches(TOPICS, topic) and not self._matches(TOPICS_EXCLUDE, topic)

    def takes_topic(self, topic: str) -> bool:
        """Whether a topic of the source is mirrored."""
        wanted = self.filters_topic(topic) or (self.heartbeats and self.policy.is_heartbeats_topic(topic))
        return (
            wanted
            and not self.policy.is_internal_topic(topic)
            and not self.policy.is_cycle(topic, self.target)
        )

    def may_wait(self, topic: str) -> bool:
        """Whether records of a topic are in no hurry: heartbeats say that a flow is alive, and no more."""
        return self.policy.is_heartbeats_topic(topic)

    def takes_group(self, group: str) -> bool:
        return self._matches(GROUPS, group) and not self._matches(GROUPS_EXCLUDE, group)

    def takes_config(self, name: str) -> bool:
        return not self._matches(CONFIGS_EXCLUDE, name)

    def target_topic(self, topic: str) -> str:
        """The name on the target of a topic of the source."""
        return self.policy.remote_topic(self.source, topic)

    def checkpoint_topic(self, topic: str) -> str:
        """The name on the target of a topic that a group of the source has read. A topic that came from the
        target is at home there under its own name."""
        if self.policy.topic_source(topic) == self.target:
            return self.policy.original_topic(topic)
        return self.target_topic(topic)


def _given(config: Mapping[str, str], name: str) -> str:
    old = _OLD_NAMES.get(name, name)
    return config.get(name, config.get(old, DEFAULTS[name]))


def _compiled(name: str, text: str) -> re.Pattern[str] | None:
    """None when there is no pattern: a blank setting matches nothing."""
    parts = [part.strip() for part in text.split(",") if part.strip()]
    if not parts:
        return None
    try:
        return re.compile("|".join(parts))
    except re.error as error:
        message = f"{name} is not a list of regular expressions: {error}, in {text!r}"
        raise SettingError(message, setting=name, value=text, allowed="regular expressions") from None
