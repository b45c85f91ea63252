"""Builds the coordinators of a broker: of groups, transactions and share partitions, and the way to those of
others."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from penstock.coordinator.coordinator import Coordinator, CoordinatorKind
from penstock.groups.coordinator import GroupCoordinator
from penstock.groups.settings import GroupSettings
from penstock.groups.topics import Topics
from penstock.handlers.parts import ShareParts
from penstock.records.codecs import Codec
from penstock.replication.partitions import Partitions
from penstock.server.cluster.cluster_markers import Asks, ClusterMarkers
from penstock.server.cluster.local_markers import LocalMarkers
from penstock.server.cluster.share_states_anywhere import ShareStatesAnywhere
from penstock.server.cluster.transactions_anywhere import TransactionsAnywhere
from penstock.server.composition.ground import Ground
from penstock.server.composition.metadata import Questions
from penstock.share.coordinator import SHARE_TOPIC, ShareCoordinator
from penstock.share.served_partitions import ServedPartitions
from penstock.share.sessions import ShareSessions
from penstock.share.settings import ShareSettings
from penstock.transactions.coordinator import TRANSACTIONS_TOPIC, TransactionCoordinator
from penstock.transactions.settings import TransactionSettings


class Coordinators(NamedTuple):
    groups: GroupCoordinator
    transactions: TransactionCoordinator
    verifier: TransactionsAnywhere
    """Asks the coordinator of a transaction, wherever it is."""
    share: ShareCoordinator
    share_states: ShareStatesAnywhere
    """Asks the coordinator of a share partition, wherever it is."""

    @property
    def by_kind(self) -> Mapping[CoordinatorKind, Coordinator]:
        """Every coordinator of this broker."""
        return {
            CoordinatorKind.GROUP: self.groups,
            CoordinatorKind.TRANSACTION: self.transactions,
            CoordinatorKind.SHARE: self.share,
        }


def build_coordinators(
    ground: Ground,
    questions: Questions,
    topics: Topics,
    partitions: Partitions,
    peers: Asks,
    next_producer_id: Callable[[], int],
) -> Coordinators:
    settings, node_id = ground.settings, ground.settings.node_id
    groups = GroupCoordinator(GroupSettings.of(settings), ground.clock, topics, ground.new_member_suffix)
    local = LocalMarkers(partitions, groups, questions.exists)
    transactions = TransactionCoordinator(
        TransactionSettings.of(settings),
        ground.clock,
        lambda: questions.partition_count(TRANSACTIONS_TOPIC),
        next_producer_id,
        ClusterMarkers(node_id, local, peers, questions.leader_of),
    )
    verifier = TransactionsAnywhere(node_id, transactions, peers, questions.leader_of)
    share = ShareCoordinator(
        ground.clock,
        lambda: questions.partition_count(SHARE_TOPIC),
        Codec(settings.share_coordinator_state_topic_compression_codec),
    )
    states = ShareStatesAnywhere(node_id, share, peers, questions.leader_of)
    return Coordinators(groups, transactions, verifier, share, states)


def build_share(ground: Ground, questions: Questions, coordinators: Coordinators) -> ShareParts:
    settings = ShareSettings.of(ground.settings)
    states = coordinators.share_states
    served = ServedPartitions(settings, ground.clock, states, questions.group_config)
    return ShareParts(coordinators.share, states, served, ShareSessions(settings.most_sessions))
