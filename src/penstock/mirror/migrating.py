"""A cluster moved to another: planned, mirrored under the same names, compared, and cut over.

The mirror of a migration is an ordinary flow with `IdentityReplicationPolicy`. What a mirror leaves alone on
purpose, a migration takes along: all ACLs as they are, and quotas. Schemas move with the topic `_schemas`.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final, NamedTuple

from penstock.client.api.admin.access import AclBinding, AclBindingFilter
from penstock.client.api.exceptions import KafkaException
from penstock.mirror.comparing import Difference, compare
from penstock.mirror.counting import FlowCounts
from penstock.mirror.duties import OWN_GROUPS, GroupDuties, TopicDuties
from penstock.mirror.inspecting import progress
from penstock.mirror.policies import PACKAGE
from penstock.mirror.settings import FlowSettings, MirrorSettings
from penstock.mirror.sides import SECONDS, Side
from penstock.protocol.topic_partition import TopicPartition
from penstock.settings.errors import SettingError

SOURCE, TARGET = "source", "target"
SCHEMAS: Final = "_schemas"
SETTINGS: Final = {
    "clusters": f"{SOURCE}, {TARGET}",
    f"{SOURCE}->{TARGET}.enabled": "true",
    "emit.heartbeats.enabled": "false",
    "heartbeats.replication.enabled": "false",
    "replication.policy.class": f"{PACKAGE}IdentityReplicationPolicy",
    "replication.factor": "-1",
    "refresh.topics.interval.seconds": "5",
    "refresh.groups.interval.seconds": "5",
    "sync.topic.configs.interval.seconds": "30",
    "sync.topic.acls.enabled": "false",
    "emit.checkpoints.interval.seconds": "5",
    "sync.group.offsets.enabled": "true",
    "sync.group.offsets.interval.seconds": "5",
    "sync.quotas.enabled": "true",
}
"""What the file of a migration holds beside the addresses. It is an mm2.properties."""


class MigrationPlan(NamedTuple):
    topics: dict[str, int]
    """What is to be moved, with its partitions."""
    groups: tuple[str, ...]
    acls: int
    has_schemas: bool
    conflicts: tuple[str, ...]
    """Topics that are on the target already and were not put there by this migration."""
    remarks: tuple[str, ...]
    groups_complete: bool
    """Whether nothing says that groups are missing in `groups`."""


class CutOver(NamedTuple):
    """Whether clients may move now."""

    differences: tuple[Difference, ...]
    """Every partition, with whether both sides agree."""
    moving: tuple[str, ...]
    """Partitions of the source that are still written to."""
    busy_groups: tuple[str, ...]
    """Groups that still have members on the source."""
    doubts: tuple[str, ...] = ()
    """Why groups of the source may be missing."""

    @property
    def obstacles(self) -> list[str]:
        found = [f"the groups of the source are not all known: {doubt}" for doubt in self.doubts]
        found += [f"{place} of the source is still written to" for place in self.moving]
        found += [f"group {group!r} still has members on the source" for group in self.busy_groups]
        found += [
            f"{each.topic}-{each.partition} differs: {each.source_records} records on the source, "
            f"{each.target_records} on the target"
            for each in self.differences
            if not each.same
        ]
        return found


def write_file(path: Path, source: Mapping[str, str], target: Mapping[str, str], **filters: str) -> None:
    """The file of a migration; `source` and `target` are settings of clients."""
    texts = dict(SETTINGS)
    for alias, client in ((SOURCE, source), (TARGET, target)):
        texts |= {f"{alias}.{name}": text for name, text in client.items()}
    texts |= {name: text for name, text in filters.items() if text}
    lines = [f"{name} = {text}" for name, text in texts.items()]
    path.write_text(
        "# A migration: penstock migrate start|status|cut-over --config FILE\n" + "\n".join(lines) + "\n"
    )
    path.chmod(0o600)  # it may hold passwords


def read_file(texts: Mapping[str, str]) -> FlowSettings:
    flow = MirrorSettings(texts).flow(SOURCE, TARGET)
    if not flow.enabled:
        message = f"this is no file of a migration: {SOURCE}->{TARGET} is not enabled"
        raise SettingError(message, setting=f"{SOURCE}->{TARGET}.enabled", value=None, allowed="true")
    return flow.checked()


def plan(flow: FlowSettings, source: Side, target: Side) -> MigrationPlan:
    topics = _moved(flow, source)
    there, moved = target.partitions(), {place.topic for place in progress(flow, target)}
    conflicts = sorted(name for name in topics if name in there and name not in moved)
    groups, doubts = _groups(flow, source)
    acls = _acls(source)
    remarks = [f"The list of groups may be incomplete: {doubt}. Plan again." for doubt in doubts]
    remarks += ["Passwords of SCRAM users cannot be read from a cluster: create the users anew."]
    if acls is None:
        remarks.append("The source has no authorizer, so there are no ACLs.")
    elif acls and _acls(target) is None:
        remarks.append("The target has no authorizer: its ACLs cannot be created. Set one first.")
    if SCHEMAS in topics:
        remarks.append(f"Stop the old Schema Registry before the cut-over; Penstock's reads {SCHEMAS}.")
    return MigrationPlan(
        topics,
        groups,
        len(acls or ()),
        SCHEMAS in topics,
        tuple(conflicts),
        tuple(remarks),
        groups_complete=not doubts,
    )


def _groups(flow: FlowSettings, source: Side) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The groups to move, and why some may be missing."""
    listed = source.all_groups()
    wanted = (g for g in listed.names if flow.selection.takes_group(g) and not g.startswith(OWN_GROUPS))
    return tuple(wanted), listed.doubts


def _moved(flow: FlowSettings, source: Side) -> dict[str, int]:
    """The topics to move, with their partitions. Heartbeats belong to mirrors and never come to an end."""
    selection = flow.selection
    return {
        name: count
        for name, count in source.partitions().items()
        if selection.takes_topic(name) and not selection.policy.is_heartbeats_topic(name)
    }


def _acls(side: Side) -> list[AclBinding] | None:
    """All of them; None where there is no authorizer."""
    try:
        return list(side.admin.describe_acls(AclBindingFilter(), timeout=SECONDS).result(SECONDS))
    except KafkaException as error:
        if type(error).__name__ == "SecurityDisabledException":
            return None
        raise


def move_acls(source: Side, target: Side) -> int:
    """Create the ACLs of the source on the target, as they are; how many were missing."""
    wanted, there = _acls(source), _acls(target)
    missing = [acl for acl in wanted or () if there is not None and acl not in there]
    if missing:
        target.admin.create_acls(missing, timeout=SECONDS).result(SECONDS)
    return len(missing)


def look(flow: FlowSettings, source: Side, target: Side) -> CutOver:
    """Compare both sides. What is written meanwhile shows as a partition that is still moving."""
    pairs = _pairs(flow, source)
    places = [one for one, _, _ in pairs]
    before = source.ends(places)
    there = target.partitions()
    copied = [pair for pair in pairs if pair[1].partition < there.get(pair[1].topic, 0)]
    differences = compare(source, target, copied)
    known = {TopicPartition(each.topic, each.partition) for each in differences}
    differences += [
        Difference(*place, before[place], 0, same=False) for place in places if place not in known
    ]
    after = source.ends(places)
    moving = tuple(str(place) for place in places if after[place] != before[place])
    groups, doubts = _groups(flow, source)
    busy = tuple(group for group in groups if source.group_state(group) not in ("Empty", "Dead"))
    return CutOver(tuple(differences), moving, busy, doubts)


def _pairs(flow: FlowSettings, source: Side) -> list[tuple[TopicPartition, TopicPartition, bool]]:
    selection, topics = flow.selection, _moved(flow, source)
    policies = {
        name: next((each.value or "" for each in entries if each.name == "cleanup.policy"), "")
        for name, entries in source.configs(sorted(topics)).items()
    }
    return [
        (
            TopicPartition(name, number),
            TopicPartition(selection.target_topic(name), number),
            "compact" in policies.get(name, ""),
        )
        for name, count in sorted(topics.items())
        for number in range(count)
    ]


def cut_over(flow: FlowSettings, source: Side, target: Side) -> dict[str, int]:
    """The last configurations, ACLs and offsets; the groups with how many partitions they go on in."""
    counts = FlowCounts(flow.source, flow.target)
    TopicDuties(flow, source, target, counts).sync_configs()
    move_acls(source, target)
    groups = GroupDuties(flow, source, target, counts)
    groups.refresh(source.all_groups().names)
    groups.emit_checkpoints()
    groups.sync_offsets()
    return {group: len(target.group_offsets(group)) for group in groups.known}
