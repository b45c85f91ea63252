"""How topics of a source are made: Kafka's groups of settings (`topic.creation.…`). Pure.

`topic.creation.default.partitions` and `….replication.factor` switch it on. Each name in
`topic.creation.groups` has patterns (`include`, `exclude`) and settings of its own; counts that a group does
not name are those of the default group. The first group that includes a topic counts.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final, NamedTuple, Self

from penstock.connect.errors import ConfigError
from penstock.connect.transforms.java_regex import compiled

PREFIX: Final = "topic.creation."
DEFAULT: Final = "default"
PARTITIONS, REPLICAS = "partitions", "replication.factor"
_OWN: Final = frozenset({"include", "exclude", PARTITIONS, REPLICAS})


class NewTopic(NamedTuple):
    """None stands for the broker's own default."""

    partitions: int | None
    replicas: int | None
    configs: Mapping[str, str]


class _Group(NamedTuple):
    include: tuple[re.Pattern[str], ...]
    exclude: tuple[re.Pattern[str], ...]
    topic: NewTopic

    def has(self, name: str) -> bool:
        wanted = any(each.fullmatch(name) for each in self.include)
        return wanted and not any(each.fullmatch(name) for each in self.exclude)


class TopicRules(NamedTuple):
    groups: tuple[_Group, ...]

    @classmethod
    def of(cls, config: Mapping[str, str]) -> Self | None:
        """None if the connector leaves topics to the broker. ConfigError for what means nothing."""
        default = _settings(config, DEFAULT)
        if PARTITIONS not in default or REPLICAS not in default:
            return None
        names = [each.strip() for each in config.get(f"{PREFIX}groups", "").split(",") if each.strip()]
        groups = [_group(config, name, default) for name in names]
        everything = _Group((re.compile(".*", re.DOTALL),), (), _topic(DEFAULT, default))
        return cls((*groups, everything))

    def topic(self, name: str) -> NewTopic:
        return next(each.topic for each in self.groups if each.has(name))


def _settings(config: Mapping[str, str], group: str) -> dict[str, str]:
    prefix = f"{PREFIX}{group}."
    return {name.removeprefix(prefix): value for name, value in config.items() if name.startswith(prefix)}


def _group(config: Mapping[str, str], name: str, default: Mapping[str, str]) -> _Group:
    own = _settings(config, name)
    include, exclude = (_patterns(name, own, each) for each in ("include", "exclude"))
    if not include:
        raise ConfigError(f"{PREFIX}{name}.include", None, "a group of topics needs at least one pattern")
    counts = {each: default[each] for each in (PARTITIONS, REPLICAS)}
    return _Group(include, exclude, _topic(name, {**counts, **own}))


def _patterns(group: str, own: Mapping[str, str], setting: str) -> tuple[re.Pattern[str], ...]:
    texts = [each.strip() for each in own.get(setting, "").split(",") if each.strip()]
    return tuple(compiled(f"{PREFIX}{group}.{setting}", each) for each in texts)


def _topic(group: str, own: Mapping[str, str]) -> NewTopic:
    configs = {name: value for name, value in own.items() if name not in _OWN}
    return NewTopic(_count(group, own, PARTITIONS), _count(group, own, REPLICAS), configs)


def _count(group: str, own: Mapping[str, str], setting: str) -> int | None:
    try:
        count = int(own[setting])
    except ValueError:
        count = 0
    if count == -1:
        return None
    if count < 1:
        raise ConfigError(f"{PREFIX}{group}.{setting}", own[setting], "Value must be -1 or larger than 0")
    return count
