"""What the target must have for the topics of the source: topics, partitions, configurations, ACLs.
Decisions on what both sides have; no I/O. The rules are MirrorMaker 2's."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from penstock.client.api.admin.access import AclBinding
from penstock.client.api.admin.configs import AlterConfigOp, ConfigEntry
from penstock.mirror.filters import Selection

_STATIC: Final = "STATIC_BROKER_CONFIG"
_DEFAULT: Final = "DEFAULT_CONFIG"


class Growth(NamedTuple):
    """What is missing on the target, by the names of the source."""

    new: dict[str, int]
    """Topics to create, with their partitions."""
    wider: dict[str, int]
    """Topics with too few partitions, and how many they must have."""


def missing(source: Mapping[str, int], target: Mapping[str, int], selection: Selection) -> Growth:
    """From the numbers of partitions on both sides. Partitions are never taken away."""
    taken = {name: count for name, count in source.items() if selection.takes_topic(name)}
    there = {name: target.get(selection.target_topic(name)) for name in taken}
    return Growth(
        {name: count for name, count in taken.items() if there[name] is None},
        {
            name: count
            for name, count in taken.items()
            if (known := there[name]) is not None and known < count
        },
    )


def creation_config(entries: Iterable[ConfigEntry], selection: Selection) -> dict[str, str]:
    """The settings with which a topic is created."""
    return {
        entry.name: entry.value
        for entry in _taken(entries, selection)
        if entry.value is not None and (entry.source != _DEFAULT or selection.defaults_from_source)
    }


def config_changes(entries: Iterable[ConfigEntry], selection: Selection) -> list[AlterConfigOp]:
    """What makes the settings of a topic those of its source: set what is set there, unset the rest."""
    changes = []
    for entry in _taken(entries, selection):
        if entry.source == _DEFAULT and not selection.defaults_from_source:
            changes.append(AlterConfigOp(entry.name, entry.value, "DELETE"))
        else:
            changes.append(AlterConfigOp(entry.name, entry.value, "SET"))
    return changes


def _taken(entries: Iterable[ConfigEntry], selection: Selection) -> list[ConfigEntry]:
    return [
        entry
        for entry in entries
        if not entry.is_read_only
        and not entry.is_sensitive
        and entry.source != _STATIC
        and selection.takes_config(entry.name)
    ]


def target_acls(acls: Iterable[AclBinding], selection: Selection) -> list[AclBinding]:
    """The rights on mirrored topics. Nobody but the mirror writes to them: WRITE is left out, and ALL becomes
    READ. Only rules for one topic by its name are taken."""
    found = []
    for acl in acls:
        if acl.resource_type != "TOPIC" or acl.pattern_type != "LITERAL":
            continue
        allows = acl.permission_type == "ALLOW"
        if (allows and acl.operation == "WRITE") or not selection.takes_topic(acl.name):
            continue
        operation = "READ" if allows and acl.operation == "ALL" else acl.operation
        name = selection.target_topic(acl.name)
        found.append(acl._replace(name=name, operation=operation))
    return found
