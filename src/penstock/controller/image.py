"""What the metadata log says, as immutable values. `replay` is the only way to the next image.

Readers take the reference they find and never lock: an image does not change under them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from itertools import repeat
from typing import Final, assert_never

from penstock.controller.broker_records import (
    BrokerRegistrationChangeRecord,
    Endpoint,
    RegisterBrokerRecord,
    UnregisterBrokerRecord,
)
from penstock.controller.directory_ids import MIGRATING, UNASSIGNED, default_directory, is_online
from penstock.controller.metadata_records import (
    ClientQuotaRecord,
    ConfigRecord,
    FeatureLevelRecord,
    MetadataRecord,
    PartitionRecord,
    ProducerIdsRecord,
    RemoveTopicRecord,
    TopicRecord,
)
from penstock.controller.partition_records import LEADER_UNCHANGED, PartitionChangeRecord
from penstock.controller.security_records import (
    AccessControlEntryRecord,
    DelegationTokenRecord,
    RemoveAccessControlEntryRecord,
    RemoveDelegationTokenRecord,
    RemoveUserScramCredentialRecord,
    UserScramCredentialRecord,
)
from penstock.quotas.entities import Entity
from penstock.security.acls import Acl

TOPIC_RESOURCE: Final = 2
BROKER_RESOURCE: Final = 4
GROUP_RESOURCE: Final = 32
_NOTHING: Final[Mapping[str, str]] = {}


@dataclass(frozen=True, slots=True)
class PartitionState:
    """The replicas and the leader of a partition. `leader` is one of `isr`, or NO_LEADER. `isr` and `elr` are
    subsets of `replicas`, and have no member in common."""

    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    leader: int
    leader_epoch: int
    partition_epoch: int
    elr: tuple[int, ...] = ()
    """Replicas that left a small ISR and have all that is committed: they may lead (KIP-966)."""
    last_known_elr: tuple[int, ...] = ()
    """The last leader, while there is none: it probably has the most, but nothing is guaranteed."""
    removing: tuple[int, ...] = ()
    """Of `replicas`, those that leave when a reassignment is over."""
    adding: tuple[int, ...] = ()
    """Of `replicas`, those that a reassignment has added and that it waits for."""
    directories: tuple[bytes, ...] = ()
    """Which log directory each of `replicas` is in (KIP-858); empty when nothing is known of any."""

    @property
    def places(self) -> dict[int, bytes]:
        """The directory of each replica, by broker."""
        return dict(zip(self.replicas, self.directories or repeat(MIGRATING), strict=False))


@dataclass(frozen=True, slots=True)
class BrokerState:
    """A registered broker. A fenced one leads nothing and is in no ISR."""

    broker_id: int
    incarnation_id: bytes
    broker_epoch: int
    """The offset of its registration in the metadata log: a later life has a larger one."""
    endpoints: tuple[Endpoint, ...]
    rack: str | None
    fenced: bool
    in_controlled_shutdown: bool = False
    directories: tuple[bytes, ...] = ()
    """The ids of its log directories that are online: other ones are other disks."""

    @property
    def is_active(self) -> bool:
        """Whether it may lead and join an ISR."""
        return not self.fenced and not self.in_controlled_shutdown


@dataclass(frozen=True, slots=True)
class TopicState:
    """A topic; `partitions[i]` is partition i, without gaps."""

    name: str
    topic_id: bytes
    partitions: tuple[PartitionState, ...] = ()


@dataclass(frozen=True, slots=True)
class Image:
    """All metadata as of one offset of the metadata log."""

    topics: Mapping[str, TopicState] = field(default_factory=dict)
    names: Mapping[bytes, str] = field(default_factory=dict)  # topic id → name; the inverse of `topics`
    configs: Mapping[tuple[int, str], Mapping[str, str]] = field(default_factory=dict)
    next_producer_id: int = 0
    quotas: dict[Entity, Mapping[str, float]] = field(default_factory=dict)
    brokers: Mapping[int, BrokerState] = field(default_factory=dict)
    features: Mapping[str, int] = field(default_factory=dict)  # levels that were decided
    acls: Mapping[bytes, Acl] = field(default_factory=dict)  # by id; no two are the same
    passwords: Mapping[tuple[str, int], UserScramCredentialRecord] = field(default_factory=dict)
    """What SCRAM checks passwords with, by user and code of the mechanism."""
    tokens: Mapping[str, DelegationTokenRecord] = field(default_factory=dict)  # by id

    def topic(self, name: str, topic_id: bytes) -> TopicState | None:
        """A topic by name, or by id when the name is empty."""
        return self.topics.get(name or self.names.get(topic_id, ""))

    def is_active(self, broker_id: int) -> bool:
        """Whether this broker may lead and join an ISR."""
        broker = self.brokers.get(broker_id)
        return broker is not None and broker.is_active

    def is_online(self, broker_id: int, directory: bytes) -> bool:
        """Whether this directory has not failed, by what its broker says."""
        broker = self.brokers.get(broker_id)
        return broker is None or is_online(directory, broker.directories)

    def default_directory(self, broker_id: int) -> bytes:
        """Where a new replica will be on this broker, as far as it is known before."""
        broker = self.brokers.get(broker_id)
        return UNASSIGNED if broker is None else default_directory(broker.directories)

    def config(self, resource_type: int, name: str) -> Mapping[str, str]:
        """What differs from the defaults."""
        return self.configs.get((resource_type, name), _NOTHING)

    def topic_config(self, name: str) -> Mapping[str, str]:
        """What differs from the defaults."""
        return self.config(TOPIC_RESOURCE, name)


def replay(image: Image, records: Iterable[MetadataRecord]) -> Image:
    """The image after these records. They are one atomic step: no reader sees an image in between."""
    step = _Step(image)
    for record in records:
        step.apply(record)
    return step.image()


def changed(state: PartitionState, record: PartitionChangeRecord) -> PartitionState:
    """A partition after a change."""
    names_leader = record.leader != LEADER_UNCHANGED
    return PartitionState(
        state.replicas if record.replicas is None else record.replicas,
        state.isr if record.isr is None else record.isr,
        record.leader if names_leader else state.leader,
        state.leader_epoch + names_leader,
        state.partition_epoch + 1,
        state.elr if record.elr is None else record.elr,
        state.last_known_elr if record.last_known_elr is None else record.last_known_elr,
        state.removing if record.removing is None else record.removing,
        state.adding if record.adding is None else record.adding,
        _directories(state, record),
    )


def _directories(state: PartitionState, record: PartitionChangeRecord) -> tuple[bytes, ...]:
    if record.directories is not None:
        return record.directories
    if record.replicas is None or not state.directories:
        return state.directories
    places = state.places  # older nodes do not say
    return tuple(places.get(node, MIGRATING) for node in record.replicas)


class _Step:
    """A mutable copy for the time of one `replay`, so that a thousand records do not copy everything a
    thousand times."""

    def __init__(self, image: Image) -> None:
        self._old = image
        self._topics = dict(image.topics)
        self._names = dict(image.names)
        self._configs = dict(image.configs)
        self._partitions: dict[str, list[PartitionState]] = {}
        self._next_producer_id = image.next_producer_id
        self._quotas: dict[Entity, Mapping[str, float]] = image.quotas
        self._brokers = dict(image.brokers)
        self._features = dict(image.features)
        self._acls: Mapping[bytes, Acl] = image.acls
        self._passwords = image.passwords
        self._tokens = image.tokens

    def image(self) -> Image:
        for name, partitions in self._partitions.items():
            self._topics[name] = replace(self._topics[name], partitions=tuple(partitions))
        return Image(
            self._topics,
            self._names,
            self._configs,
            self._next_producer_id,
            self._quotas,
            self._brokers,
            self._features,
            self._acls,
            self._passwords,
            self._tokens,
        )

    def apply(self, record: MetadataRecord) -> None:
        match record:
            case TopicRecord():
                self._topics[record.name] = TopicState(record.name, record.topic_id)
                self._names[record.topic_id] = record.name
            case PartitionRecord():
                self._put_partition(record)
            case ConfigRecord():
                self._put_config(record)
            case RemoveTopicRecord():
                self._remove_topic(record.topic_id)
            case ClientQuotaRecord():
                self._put_quota(record)
            case ProducerIdsRecord():
                self._next_producer_id = record.next_producer_id
            case FeatureLevelRecord():
                self._features[record.name] = record.level
            case PartitionChangeRecord():
                self._change_partition(record)
            case RegisterBrokerRecord():
                self._register(record)
            case BrokerRegistrationChangeRecord():
                self._change_broker(record)
            case UnregisterBrokerRecord():
                del self._brokers[record.broker_id]
            case AccessControlEntryRecord():
                self._mutable_acls()[record.acl_id] = record.acl
            case RemoveAccessControlEntryRecord():
                del self._mutable_acls()[record.acl_id]
            case UserScramCredentialRecord():
                self._passwords = {**self._passwords, (record.name, record.mechanism): record}
            case RemoveUserScramCredentialRecord():
                gone = (record.name, record.mechanism)
                self._passwords = {key: kept for key, kept in self._passwords.items() if key != gone}
            case DelegationTokenRecord():
                self._tokens = {**self._tokens, record.token_id: record}
            case RemoveDelegationTokenRecord():
                self._tokens = {key: kept for key, kept in self._tokens.items() if key != record.token_id}
            case _:
                assert_never(record)  # type: ignore[arg-type]

    def _partitions_of(self, topic_id: bytes) -> list[PartitionState]:
        name = self._names[topic_id]
        if name not in self._partitions:
            self._partitions[name] = list(self._topics[name].partitions)
        return self._partitions[name]

    def _change_partition(self, record: PartitionChangeRecord) -> None:
        partitions = self._partitions_of(record.topic_id)
        partitions[record.partition] = changed(partitions[record.partition], record)

    def _register(self, record: RegisterBrokerRecord) -> None:
        self._brokers[record.broker_id] = BrokerState(
            record.broker_id,
            record.incarnation_id,
            record.broker_epoch,
            record.endpoints,
            record.rack,
            record.fenced,
            record.in_controlled_shutdown,
            record.directories,
        )

    def _change_broker(self, record: BrokerRegistrationChangeRecord) -> None:
        broker = self._brokers[record.broker_id]
        self._brokers[record.broker_id] = replace(
            broker,
            fenced=broker.fenced if record.fenced is None else record.fenced,
            in_controlled_shutdown=broker.in_controlled_shutdown or record.in_controlled_shutdown,
            directories=record.directories or broker.directories,
        )

    def _put_partition(self, record: PartitionRecord) -> None:
        partitions = self._partitions_of(record.topic_id)
        state = PartitionState(
            record.replicas,
            record.isr,
            record.leader,
            record.leader_epoch,
            record.partition_epoch,
            record.elr,
            record.last_known_elr,
            record.removing,
            record.adding,
            record.directories,
        )
        if record.partition == len(partitions):
            partitions.append(state)
        else:
            partitions[record.partition] = state

    def _put_config(self, record: ConfigRecord) -> None:
        key = (record.resource_type, record.resource_name)
        config = dict(self._configs.get(key, {}))
        if record.value is None:
            config.pop(record.name, None)
        else:
            config[record.name] = record.value
        if config:
            self._configs[key] = config
        else:
            self._configs.pop(key, None)

    def _mutable_acls(self) -> dict[bytes, Acl]:
        """A copy, made once a step: readers tell by the identity of the mapping that nothing has changed."""
        if self._acls is self._old.acls:
            self._acls = dict(self._acls)
        assert isinstance(self._acls, dict)
        return self._acls

    def _put_quota(self, record: ClientQuotaRecord) -> None:
        if self._quotas is self._old.quotas:
            self._quotas = dict(self._quotas)
        values = dict(self._quotas.get(record.entity, {}))
        if record.remove:
            values.pop(record.key, None)
        else:
            values[record.key] = record.value
        if values:
            self._quotas[record.entity] = values
        else:
            self._quotas.pop(record.entity, None)

    def _remove_topic(self, topic_id: bytes) -> None:
        name = self._names.pop(topic_id)
        del self._topics[name]
        self._partitions.pop(name, None)
        self._configs.pop((TOPIC_RESOURCE, name), None)
