"""What a flow does beside copying: topics, configurations, ACLs and quotas kept alike, groups translated,
heartbeats. Each duty has its interval; one that fails is counted, logged and tried at its next turn."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

from penstock.client.api.admin.access import (
    AclBindingFilter,
    ClientQuotaAlteration,
    ClientQuotaEntity,
)
from penstock.client.api.admin.configs import ConfigResource
from penstock.client.api.admin.topics import NewPartitions, NewTopic
from penstock.client.api.exceptions import KafkaException
from penstock.mirror.checkpoints import Checkpoints
from penstock.mirror.counting import FlowCounts
from penstock.mirror.layouts import Checkpoint, Heartbeat, OffsetSync
from penstock.mirror.policies import HEARTBEATS
from penstock.mirror.settings import FlowSettings
from penstock.mirror.sides import SECONDS, Side, Tail
from penstock.mirror.topics import config_changes, creation_config, missing, target_acls
from penstock.mirror.translation import OffsetSyncs
from penstock.protocol.topic_partition import TopicPartition

log = logging.getLogger(__name__)

REPLICATION: Final = 2
INTERNAL_REPLICATION: Final = 3
TICK_SECONDS: Final = 0.2
OWN_GROUPS: Final = "__penstock-mirror-"
"""Groups in which instances of a mirror find each other; they are never mirrored."""


class TopicDuties:
    """Topics of the target as those of the source."""

    def __init__(self, flow: FlowSettings, source: Side, target: Side, counts: FlowCounts) -> None:
        self._flow = flow
        self._source = source
        self._target = target
        self._counts = counts
        self._told_no_acls = False

    def refresh(self) -> None:
        """Create what is missing on the target: topics and partitions."""
        selection = self._flow.selection
        growth = missing(self._source.partitions(), self._target.partitions(), selection)
        self._create(growth.new)
        self._widen(growth.wider)

    def _create(self, new: dict[str, int]) -> None:
        if not new:
            return
        selection = self._flow.selection
        configs = self._source.configs(sorted(new))
        replication = self._flow.whole("replication.factor", REPLICATION, least=-1)
        wanted = [
            NewTopic(
                selection.target_topic(name),
                new[name],
                None if replication == -1 else replication,
                configs=creation_config(configs[name], selection),
            )
            for name in sorted(configs)
        ]
        made = self._target.admin.create_topics(wanted, timeout=SECONDS).values()
        for topic in wanted:
            try:
                made[topic.name].result(SECONDS)
                self._target.wait_for(topic.name, topic.num_partitions or 1)
                log.info("%s: created %s with %s partitions", self._flow, topic.name, topic.num_partitions)
            except KafkaException as error:
                if type(error).__name__ != "TopicExistsException":
                    self._counts.failed("creating topics")
                    log.warning("%s: could not create topic %s: %s", self._flow, topic.name, error)

    def _widen(self, wider: dict[str, int]) -> None:
        if not wider:
            return
        selection = self._flow.selection
        wanted = {selection.target_topic(name): NewPartitions(count) for name, count in wider.items()}
        for name, future in self._target.admin.create_partitions(wanted, timeout=SECONDS).values().items():
            try:
                future.result(SECONDS)
                log.info("%s: %s has %d partitions now", self._flow, name, wanted[name].total_count)
            except KafkaException as error:
                self._counts.failed("creating partitions")
                log.warning("%s: could not add partitions to %s: %s", self._flow, name, error)

    def _mirrored(self) -> list[str]:
        """Topics of the source that the target has, too."""
        selection, there = self._flow.selection, self._target.partitions()
        taken = [name for name in self._source.partitions() if selection.takes_topic(name)]
        return sorted(name for name in taken if selection.target_topic(name) in there)

    def sync_configs(self) -> None:
        selection = self._flow.selection
        changes = {
            ConfigResource("TOPIC", selection.target_topic(name)): config_changes(entries, selection)
            for name, entries in self._source.configs(self._mirrored()).items()
        }
        altered = self._target.admin.incremental_alter_configs(changes, timeout=SECONDS).values()
        for resource, future in altered.items():
            try:
                future.result(SECONDS)
            except KafkaException as error:
                self._counts.failed("syncing configurations")
                log.warning("%s: could not configure %s: %s", self._flow, resource.name, error)

    def sync_acls(self) -> None:
        try:
            wanted = AclBindingFilter("TOPIC")
            acls = self._source.admin.describe_acls(wanted, timeout=SECONDS).result(SECONDS)
        except KafkaException as error:
            if type(error).__name__ != "SecurityDisabledException":
                raise
            if not self._told_no_acls:
                log.info(
                    "%s: %s has no authorizer, so there are no ACLs to sync", self._flow, self._flow.source
                )
            self._told_no_acls = True
            return
        wanted_acls = target_acls(acls, self._flow.selection)
        if not wanted_acls:
            return
        for acl, future in self._target.admin.create_acls(wanted_acls, timeout=SECONDS).values().items():
            try:
                future.result(SECONDS)
            except KafkaException as error:
                self._counts.failed("syncing ACLs")
                log.warning("%s: could not create the ACL %s: %s", self._flow, acl, error)

    def sync_quotas(self) -> None:
        """What MirrorMaker 2 does not do, and only where `sync.quotas.enabled` says so: quotas of users and
        client ids are set on the target as on the source. None is taken away."""
        there = self._target.admin.describe_client_quotas(timeout=SECONDS).result(SECONDS)
        changes = []
        entity: ClientQuotaEntity
        for entity, quotas in (
            self._source.admin.describe_client_quotas(timeout=SECONDS).result(SECONDS).items()
        ):
            known = there.get(entity, {})
            different = {name: value for name, value in quotas.items() if known.get(name) != value}
            if different:
                changes.append(ClientQuotaAlteration(entity, different))
        if changes:
            self._target.admin.alter_client_quotas(changes, timeout=SECONDS).result(SECONDS)

    def look_at_ends(self) -> None:
        """Where the mirrored partitions of the source end, for the lag."""
        partitions = self._source.partitions()
        places = [TopicPartition(name, n) for name in self._mirrored() for n in range(partitions[name])]
        self._counts.ends(self._source.ends(places, read_committed=self._flow.read_committed))


class GroupDuties:
    """Groups of the source, and where they go on at the target."""

    def __init__(self, flow: FlowSettings, source: Side, target: Side, counts: FlowCounts) -> None:
        self._flow = flow
        self._source = source
        self._target = target
        self._counts = counts
        self._checkpoints = Checkpoints()
        self._groups: list[str] = []
        self._syncs: OffsetSyncs | None = None
        syncs_on = target if flow.offset_syncs_on_target else source
        self._tail = Tail(syncs_on, flow.offset_syncs_topic)

    def refresh(self, listed: Sequence[str] | None = None) -> None:
        """Which groups are mirrored: those that the filter takes and that have read a mirrored topic. Of
        `listed`, where the caller has listed the groups already."""
        selection = self._flow.selection
        found = []
        for group in self._source.groups() if listed is None else listed:
            if not selection.takes_group(group) or group.startswith(OWN_GROUPS):
                continue
            if any(selection.filters_topic(place.topic) for place in self._source.group_offsets(group)):
                found.append(group)
        if sorted(found) != self._groups:
            log.info("%s: %d groups are mirrored", self._flow, len(found))
        self._groups = sorted(found)

    @property
    def known(self) -> tuple[str, ...]:
        """The groups that are mirrored."""
        return tuple(self._groups)

    def _load(self) -> OffsetSyncs:
        """The checkpoints and syncs of earlier runs."""
        if self._syncs is None:
            replicas = self._flow.whole("checkpoints.topic.replication.factor", INTERNAL_REPLICATION)
            self._target.ensure_compacted(self._flow.checkpoints_topic, 1, replicas)
            known = [
                Checkpoint.read(*each) for each in Tail(self._target, self._flow.checkpoints_topic).poll()
            ]
            self._checkpoints.take(each for each in known if each is not None)
            syncs = OffsetSyncs()
            self._take_syncs(syncs)
            syncs.started()
            self._syncs = syncs
        return self._syncs

    def _take_syncs(self, syncs: OffsetSyncs) -> None:
        for key, value in self._tail.poll():
            sync = OffsetSync.read(key, value)
            if sync is not None:
                syncs.take(sync)

    def emit_checkpoints(self) -> None:
        syncs = self._load()
        # First where groups are, then the syncs: a sync that is older than the offset is never too far.
        committed = {group: self._source.group_offsets(group) for group in self._groups}
        self._take_syncs(syncs)
        for group, offsets in committed.items():
            decided = self._checkpoints.decide(group, offsets, syncs, self._flow.selection)
            self._target.send(self._flow.checkpoints_topic, [(each.key(), each.value()) for each in decided])
            self._checkpoints.take(decided)
            self._counts.checkpoints += len(decided)

    def sync_offsets(self) -> None:
        """Commit the translated offsets of groups that have no members on the target."""
        self._load()
        for group in self._groups:
            state = self._target.group_state(group)
            if state not in ("Empty", "Dead"):
                continue
            known = None if state == "Dead" else self._target.group_offsets(group)
            wanted = self._checkpoints.to_commit(group, known)
            try:
                if wanted:
                    self._target.commit_group(group, wanted)
            except KafkaException as error:  # a member has come in the meantime, or a topic is gone
                log.warning("%s: the offsets of group %s are not synced: %s", self._flow, group, error)


class HeartbeatDuty:
    """Shows on the target that the flow is alive."""

    def __init__(self, flow: FlowSettings, target: Side) -> None:
        self._flow = flow
        self._target = target
        self._ready = False

    def beat(self) -> None:
        if not self._ready:
            replicas = self._flow.whole("heartbeats.topic.replication.factor", INTERNAL_REPLICATION)
            self._target.ensure_compacted(HEARTBEATS, 1, replicas)
            self._ready = True
        now_ms = time.time_ns() // 1_000_000
        heartbeat = Heartbeat(self._flow.source, self._flow.target, now_ms)
        self._target.send(HEARTBEATS, [(heartbeat.key(), heartbeat.value())])


@dataclass
class Duty:
    """Something to do now and then."""

    name: str
    interval_seconds: float
    work: Callable[[], None]
    due: float = field(default=0.0)


class DutyThread(threading.Thread):
    """Does the duties that are due, one after the other, until it is told to end."""

    def __init__(self, name: str, duties: Sequence[Duty], counts: FlowCounts) -> None:
        super().__init__(name=name, daemon=True)
        self._duties = list(duties)
        self._counts = counts
        self._ending = threading.Event()

    def run(self) -> None:
        while not self._ending.wait(TICK_SECONDS):
            for duty in self._duties:
                if time.monotonic() >= duty.due and not self._ending.is_set():
                    self._do(duty)
                    duty.due = time.monotonic() + duty.interval_seconds

    def _do(self, duty: Duty) -> None:
        try:
            duty.work()
        except Exception as error:  # whatever it is, the flow goes on
            self._counts.failed(duty.name)
            log.warning("%s: %s failed: %s", self.name, duty.name, error)

    def end(self) -> None:
        self._ending.set()
