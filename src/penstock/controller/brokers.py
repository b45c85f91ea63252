"""Decisions about brokers: register, fence and unfence, stop in an orderly way, forget. Pure: records out.

Who has been heard of lately is no metadata: `Sessions` is kept by the active controller alone, and begins
anew with it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from penstock.controller.alter_partition import check_broker
from penstock.controller.broker_records import (
    BrokerRegistrationChangeRecord,
    Endpoint,
    RegisterBrokerRecord,
    UnregisterBrokerRecord,
)
from penstock.controller.directories import decide_offline
from penstock.controller.directory_ids import is_reserved
from penstock.controller.image import BrokerState, Image, PartitionState, replay
from penstock.controller.metadata_records import MetadataRecord
from penstock.controller.partition_changes import decide_change
from penstock.controller.rules import RulesOf
from penstock.protocol.errors import ErrorCode, KafkaError


@dataclass(frozen=True, slots=True)
class Registration:
    """A broker's process introduces itself."""

    broker_id: int
    cluster_id: str
    incarnation_id: bytes
    endpoints: tuple[Endpoint, ...]
    rack: str | None = None
    previous_broker_epoch: int = -1
    """The epoch under which it stopped cleanly: another than the registered one means that it did not
    (KIP-966)."""
    directories: tuple[bytes, ...] = ()
    """The ids of its log directories. None of them known means that its disk is another one."""


@dataclass(frozen=True, slots=True)
class Heartbeat:
    """A broker's process is alive."""

    broker_id: int
    broker_epoch: int
    metadata_offset: int
    """The last offset of the metadata log that it has followed."""
    wants_fence: bool = False
    wants_shutdown: bool = False
    offline_directories: frozenset[bytes] = frozenset()
    """The ids of its log directories that have failed since it began this life."""


@dataclass(frozen=True, slots=True)
class HeartbeatAnswer:
    """What a heartbeat is answered: is the broker fenced, has it caught up, may it stop?"""

    fenced: bool
    caught_up: bool
    may_stop: bool


class Sessions:
    """When each broker was last heard of, on the clock of deadlines, and how far it had followed then."""

    def __init__(self, timeout_ms: float) -> None:
        self._timeout_ms = timeout_ms
        self._heard: dict[int, float] = {}
        self._followed: dict[int, int] = {}
        self._leaving: dict[int, int] = {}  # brokers that stop, and where that stands in the metadata

    def touch(self, broker_id: int, now_ms: float) -> None:
        self._heard[broker_id] = now_ms

    def beat(self, beat: Heartbeat, now_ms: float, next_offset: int) -> None:
        """A heartbeat has come; what is decided of it will stand at `next_offset`."""
        self.touch(beat.broker_id, now_ms)
        self._followed[beat.broker_id] = beat.metadata_offset
        if beat.wants_shutdown:
            self._leaving.setdefault(beat.broker_id, next_offset)
        else:
            self._leaving.pop(beat.broker_id, None)

    def know_who_leaves(self, image: Image, broker_id: int) -> bool:
        """Whether all brokers that stay have followed the metadata up to where this one began to leave, so
        that each of its partitions is led elsewhere, and they know it."""
        since = self._leaving.get(broker_id, -1)
        staying = (other for other in image.brokers.values() if other.is_active)
        return all(
            self._followed.get(other.broker_id, -1) >= since
            for other in staying
            if other.broker_id != broker_id
        )

    def clear(self) -> None:
        """Every broker's session begins anew now."""
        self._heard.clear()
        self._followed.clear()
        self._leaving.clear()

    def extend(self, missed_ms: float, now_ms: float) -> None:
        """No broker could be heard for so long: that time does not count."""
        self._heard = {broker: min(heard + missed_ms, now_ms) for broker, heard in self._heard.items()}

    def is_live(self, broker_id: int, now_ms: float) -> bool:
        heard = self._heard.get(broker_id)
        return heard is not None and now_ms - heard < self._timeout_ms

    def expired(self, image: Image, now_ms: float) -> list[int]:
        """Unfenced brokers that have been silent for too long. One that was never heard of by this controller
        has its time from the first look on."""
        unfenced = [broker.broker_id for broker in image.brokers.values() if not broker.fenced]
        for broker_id in unfenced:
            self._heard.setdefault(broker_id, now_ms)
        return [broker_id for broker_id in unfenced if not self.is_live(broker_id, now_ms)]


def decide_register(
    image: Image,
    wish: Registration,
    cluster_id: str,
    next_offset: int,
    rules_of: RulesOf,
    *,
    is_live: bool,
    fenced: bool = True,
) -> tuple[list[MetadataRecord], int]:
    """The records, and the broker's epoch: the offset at which its registration will stand. `is_live` is
    whether the process that has the id now was heard of lately."""
    if wish.cluster_id != cluster_id:
        message = f"the broker belongs to cluster {wish.cluster_id}, and this is {cluster_id}"
        raise KafkaError(ErrorCode.INCONSISTENT_CLUSTER_ID, message)
    known = image.brokers.get(wish.broker_id)
    if known is not None and known.incarnation_id == wish.incarnation_id:
        return [], known.broker_epoch  # it asks again: the answer was lost
    if known is not None and is_live and not known.in_controlled_shutdown:
        message = f"another broker is registered with the id {wish.broker_id}, and alive"
        raise KafkaError(ErrorCode.DUPLICATE_BROKER_REGISTRATION, message)
    register = RegisterBrokerRecord(
        wish.broker_id,
        wish.incarnation_id,
        next_offset,
        wish.endpoints,
        wish.rack,
        fenced,
        directories=wish.directories,
    )
    after = replay(image, [register])
    clean = not fenced or known is None or known.broker_epoch == wish.previous_broker_epoch
    lost = frozenset() if clean else frozenset({wish.broker_id})
    had = frozenset() if known is None else frozenset(known.directories)
    emptied = frozenset({wish.broker_id}) if had and had.isdisjoint(wish.directories) else frozenset()
    return [register, *_changes(after, wish.broker_id, rules_of, lost, emptied)], next_offset


def decide_heartbeat(
    image: Image, beat: Heartbeat, rules_of: RulesOf, *, others_know: bool = True
) -> tuple[list[MetadataRecord], HeartbeatAnswer]:
    """What a heartbeat changes: an unfenced broker serves, one that wants to stop gives its partitions away
    first, and stops when `others_know` of it. Directories that have failed hold nothing that is in sync; a
    broker that has no other is fenced."""
    broker = check_broker(image, beat.broker_id, beat.broker_epoch)
    has_none = bool(broker.directories) and beat.offline_directories.issuperset(broker.directories)
    if has_none:
        return _decide_beat(image, replace(beat, wants_fence=True), rules_of, others_know=others_know)
    failed = decide_offline(image, broker, beat.offline_directories, rules_of)
    after = replay(image, failed) if failed else image
    records, told = _decide_beat(after, beat, rules_of, others_know=others_know)
    return [*failed, *records], told


def _decide_beat(
    image: Image, beat: Heartbeat, rules_of: RulesOf, *, others_know: bool
) -> tuple[list[MetadataRecord], HeartbeatAnswer]:
    broker = image.brokers[beat.broker_id]
    caught_up = beat.metadata_offset >= broker.broker_epoch
    if beat.wants_shutdown:
        return _decide_shutdown(image, broker, rules_of, caught_up=caught_up, others_know=others_know)
    if beat.wants_fence and not broker.fenced:
        return decide_fence(image, broker, rules_of), HeartbeatAnswer(
            fenced=True, caught_up=caught_up, may_stop=False
        )
    if broker.fenced and not beat.wants_fence and caught_up:
        records = _decide_unfence(image, broker, rules_of)
        return records, HeartbeatAnswer(fenced=False, caught_up=True, may_stop=False)
    return [], HeartbeatAnswer(fenced=broker.fenced, caught_up=caught_up, may_stop=False)


def decide_fence(image: Image, broker: BrokerState, rules_of: RulesOf) -> list[MetadataRecord]:
    """It leads nothing and is in no ISR any more."""
    fence = BrokerRegistrationChangeRecord(broker.broker_id, broker.broker_epoch, fenced=True)
    return [fence, *_without(image, broker.broker_id, rules_of, frozenset())]


def decide_unregister(image: Image, broker_id: int, rules_of: RulesOf) -> list[MetadataRecord]:
    broker = image.brokers.get(broker_id)
    if broker is None:
        raise KafkaError(
            ErrorCode.BROKER_ID_NOT_REGISTERED, f"Broker ID {broker_id} is not currently registered"
        )
    forget = UnregisterBrokerRecord(broker_id, broker.broker_epoch)
    return [*_without(image, broker_id, rules_of, frozenset()), forget]


def _decide_unfence(image: Image, broker: BrokerState, rules_of: RulesOf) -> list[MetadataRecord]:
    """It may lead again: partitions without a leader for which it is good enough get it."""
    unfence = BrokerRegistrationChangeRecord(broker.broker_id, broker.broker_epoch, fenced=False)
    after = {**image.brokers, broker.broker_id: replace(broker, fenced=False)}
    return [unfence, *_changes(replace(image, brokers=after), broker.broker_id, rules_of, frozenset())]


def _decide_shutdown(
    image: Image, broker: BrokerState, rules_of: RulesOf, *, caught_up: bool, others_know: bool
) -> tuple[list[MetadataRecord], HeartbeatAnswer]:
    records: list[MetadataRecord] = []
    if not broker.in_controlled_shutdown:
        records.append(
            BrokerRegistrationChangeRecord(broker.broker_id, broker.broker_epoch, in_controlled_shutdown=True)
        )
        records += _without(image, broker.broker_id, rules_of, frozenset())
    leads = any(state.leader == broker.broker_id for _, _, state in _partitions(image, broker.broker_id))
    may_stop = broker.fenced or (broker.in_controlled_shutdown and not leads and others_know)
    if may_stop and not broker.fenced:
        records = decide_fence(image, broker, rules_of)
    return records, HeartbeatAnswer(fenced=broker.fenced, caught_up=caught_up, may_stop=may_stop)


def _without(
    image: Image, broker_id: int, rules_of: RulesOf, lost: frozenset[int]
) -> Iterator[MetadataRecord]:
    """The changes to every partition when this broker is not there."""
    others = {number: broker for number, broker in image.brokers.items() if number != broker_id}
    return _changes(replace(image, brokers=others), broker_id, rules_of, lost)


def _changes(
    image: Image,
    broker_id: int,
    rules_of: RulesOf,
    lost: frozenset[int],
    emptied: frozenset[int] = frozenset(),
) -> Iterator[MetadataRecord]:
    for topic_name, index, state in _partitions(image, broker_id):
        topic = image.topics[topic_name]
        record = decide_change(
            topic.topic_id,
            index,
            state,
            rules_of(topic_name),
            image.is_active,
            stopped_uncleanly=lost,
            # A directory with a name is known to be there or not; the others are taken together.
            emptied=emptied if is_reserved(state.places[broker_id]) else (),
            is_online=image.is_online,
        )
        if record is not None:
            yield record


def _partitions(image: Image, broker_id: int) -> Iterator[tuple[str, int, PartitionState]]:
    for topic in image.topics.values():
        for index, state in enumerate(topic.partitions):
            if broker_id in state.replicas:
                yield topic.name, index, state
