"""Builds the storage of a node: its log directories."""

from __future__ import annotations

from penstock.server.composition.ground import Ground
from penstock.settings.errors import invalid
from penstock.storage.logs import Logs
from penstock.storage.meta import read_meta


def build_logs(ground: Ground) -> Logs:
    """The log directories, locked and inspected; no log is open yet."""
    settings, disk = ground.settings, ground.disk
    if not (settings.is_alone or settings.cluster_id or any(read_meta(disk, at) for at in settings.log_dirs)):
        # Nodes that each made up a name would never find together.
        why = "an empty directory of a cluster's node is given the cluster's name"
        raise invalid("cluster.id", None, why, "one name, the same for all nodes")
    logs = Logs(
        disk,
        settings.log_dirs,
        ground.clock,
        random=ground.random,
        node_id=settings.node_id,
        cluster_id=settings.cluster_id,
        retention_check_interval_ms=settings.log_retention_check_interval_ms,
        checkpoint_interval_ms=settings.replica_high_watermark_checkpoint_interval_ms,
        producer_expiration_ms=settings.producer_id_expiration_ms,
        verifying=settings.transaction_partition_verification_enable,
        together=ground.together,
    )
    logs.open_directories()
    return logs
