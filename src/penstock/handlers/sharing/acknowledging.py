"""What members of a share group say of their records: in ShareFetch, and in ShareAcknowledge."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from penstock.coordinator.promise import Promise, failed
from penstock.handlers.parts import ShareDataParts
from penstock.handlers.request import Request
from penstock.protocol.errors import ErrorCode, KafkaError
from penstock.protocol.messages import id_bytes
from penstock.replication.partition import Partition
from penstock.security.operations import Operation, ResourceType
from penstock.share.deliveries import Acknowledgement
from penstock.share.sessions import Place, SessionKey
from penstock.share.state import SharePartitionKey


class Said(NamedTuple):
    """Acknowledgements for one partition."""

    place: Place
    acknowledgements: Sequence[Acknowledgement]


def said(topics: Iterable[Any]) -> list[Said]:
    """The acknowledgements of a request, for partitions that have any."""
    return [
        Said(
            (id_bytes(topic.topic_id), item.partition_index),
            [
                Acknowledgement(batch.first_offset, batch.last_offset, batch.acknowledge_types)
                for batch in item.acknowledgement_batches
            ],
        )
        for topic in topics
        for item in topic.partitions
        if item.acknowledgement_batches
    ]


def led_partition(request: Request, broker: ShareDataParts, place: Place) -> Partition:
    """The partition, if this broker leads it and the principal may read it; KafkaError otherwise."""
    topic_id, index = place
    name = broker.controller.image.names.get(topic_id)
    if name is None:
        raise KafkaError(ErrorCode.UNKNOWN_TOPIC_ID, "No topic has this id.")
    if not request.may(broker, Operation.READ, ResourceType.TOPIC, name):
        raise KafkaError(ErrorCode.TOPIC_AUTHORIZATION_FAILED, f"Not authorized to read {name}.")
    partition = broker.partitions.get(name, index)
    partition.check_leads()
    return partition


def acknowledge(
    request: Request, broker: ShareDataParts, session: SessionKey, each: Said, lock_ms: int
) -> Promise[None]:
    """Done when it is durable. Records that a partition does not know are nobody's."""
    try:
        led_partition(request, broker, each.place)
    except KafkaError as error:
        return failed(error)
    served = broker.share.served.present(SharePartitionKey(session.group_id, *each.place))
    if served is None:
        return failed(
            KafkaError(ErrorCode.INVALID_RECORD_STATE, "This broker has delivered none of these records.")
        )
    now = broker.clock.monotonic()
    return served.acknowledge(session.member_id, each.acknowledgements, now, now + lock_ms / 1000)


def release(broker: ShareDataParts, session: SessionKey, places: Iterable[Place]) -> list[Promise[None]]:
    """The session is closed: what its member has goes back."""
    promises = []
    for place in places:
        served = broker.share.served.present(SharePartitionKey(session.group_id, *place))
        if served is not None:
            promises.append(served.release_member(session.member_id))
    return promises
