"""Which replica a consumer should read from: one in its own rack (KIP-392), where `replica.selector.class`
asks for it. Asked by `handlers.apis.fetch` on the leader, of consumers that name their rack."""

from __future__ import annotations

from typing import Final

from penstock.handlers.parts import ReadsMetadata
from penstock.replication.partition import Partition

RACK_AWARE: Final = "org.apache.kafka.common.replica.RackAwareReplicaSelector"


def nearest_replica(broker: ReadsMetadata, partition: Partition, rack: str, offset: int) -> int | None:
    """A follower that is in sync, in `rack`, and has `offset`, the one furthest along first; None when the
    leader should answer itself."""
    settings = broker.settings
    if settings.replica_selector_class != RACK_AWARE or settings.broker_rack == rack:
        return None
    brokers = broker.controller.image.brokers
    with partition.to_read:
        leading = partition.leadership
        if leading is None:
            return None
        near = [
            (follower.end_offset, node)
            for node, follower in leading.followers.items()
            if node in leading.isr
            and node in brokers
            and brokers[node].rack == rack
            and follower.log_start_offset <= offset <= follower.end_offset
        ]
    return max(near)[1] if near else None
