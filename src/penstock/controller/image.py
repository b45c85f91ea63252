"""What the metadata log says, as immutable values. `replay` is the only way to the next image.

Readers take the reference they find and never lock: an image does not change under them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final, assert_never

from penstock.controller.metadata_records import (
    ClientQuotaRecord,
    ConfigRecord,
    MetadataRecord,
    PartitionRecord,
    ProducerIdsRecord,
    RemoveTopicRecord,
    TopicRecord,
)
from penstock.quotas.entities import Entity

TOPIC_RESOURCE: Final = 2
BROKER_RESOURCE: Final = 4
GROUP_RESOURCE: Final = 32
_NOTHING: Final[Mapping[str, str]] = {}


@dataclass(frozen=True, slots=True)
class PartitionState:
    """Who holds and who leads a partition. `leader` is one of `isr`, or NO_LEADER."""

    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    leader: int
    leader_epoch: int
    partition_epoch: int


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

    def topic(self, name: str, topic_id: bytes) -> TopicState | None:
        """A topic by name, or by id when the name is empty."""
        return self.topics.get(name or self.names.get(topic_id, ""))

    def config(self, resource_type: int, name: str) -> Mapping[str, str]:
        """What differs from the defaults."""
        return self.configs.get((resource_type, name), _NOTHING)

    def topic_config(self, name: str) -> Mapping[str, str]:
        """What differs from the defaults."""
        return self.config(TOPIC_RESOURCE, name)


def replay(image: Image, records: Iterable[MetadataRecord]) -> Image:
    """The image after these records. They are one atomic step: nobody sees the image in between."""
    step = _Step(image)
    for record in records:
        step.apply(record)
    return step.image()


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

    def image(self) -> Image:
        for name, partitions in self._partitions.items():
            self._topics[name] = replace(self._topics[name], partitions=tuple(partitions))
        return Image(self._topics, self._names, self._configs, self._next_producer_id, self._quotas)

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
            case _:
                assert_never(record)  # type: ignore[arg-type]

    def _put_partition(self, record: PartitionRecord) -> None:
        name = self._names[record.topic_id]
        if name not in self._partitions:
            self._partitions[name] = list(self._topics[name].partitions)
        partitions = self._partitions[name]
        state = PartitionState(
            record.replicas, record.isr, record.leader, record.leader_epoch, record.partition_epoch
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
