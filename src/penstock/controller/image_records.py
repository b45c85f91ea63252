"""An image as the shortest list of records that gives it: what a snapshot of the metadata holds."""

from __future__ import annotations

from collections.abc import Iterator

from penstock.controller.broker_records import RegisterBrokerRecord
from penstock.controller.image import Image
from penstock.controller.metadata_records import (
    ClientQuotaRecord,
    ConfigRecord,
    FeatureLevelRecord,
    MetadataRecord,
    PartitionRecord,
    ProducerIdsRecord,
    TopicRecord,
)
from penstock.controller.security_records import AccessControlEntryRecord

NO_BROKER = -1


def records_of(image: Image) -> Iterator[MetadataRecord]:
    """Replaying these on an empty image gives `image`."""
    for topic in image.topics.values():
        yield TopicRecord(topic.name, topic.topic_id)
        for index, state in enumerate(topic.partitions):
            yield PartitionRecord(
                index,
                topic.topic_id,
                state.replicas,
                state.isr,
                state.leader,
                state.leader_epoch,
                state.partition_epoch,
                state.elr,
                state.last_known_elr,
                state.removing,
                state.adding,
                state.directories,
            )
    for (resource_type, name), config in image.configs.items():
        for key, value in config.items():
            yield ConfigRecord(resource_type, name, key, value)
    for entity, quotas in image.quotas.items():
        for key, quota in quotas.items():
            yield ClientQuotaRecord(entity, key, quota, remove=False)
    for broker in image.brokers.values():
        yield RegisterBrokerRecord(
            broker.broker_id,
            broker.incarnation_id,
            broker.broker_epoch,
            broker.endpoints,
            broker.rack,
            broker.fenced,
            broker.in_controlled_shutdown,
            broker.directories,
        )
    for name, level in image.features.items():
        yield FeatureLevelRecord(name, level)
    for acl_id, acl in image.acls.items():
        yield AccessControlEntryRecord(acl_id, acl)
    yield from image.passwords.values()
    yield from image.tokens.values()
    if image.next_producer_id:
        yield ProducerIdsRecord(NO_BROKER, -1, image.next_producer_id)
