"""The cluster itself: its nodes, its features, the quorum of its metadata, its voters."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from concurrent.futures import Future
from typing import Any, Final, NamedTuple

from penstock.client.api.admin.asking import Asking, check, failure
from penstock.client.api.admin.replicas import milliseconds
from penstock.client.api.admin.results import Keyed, mapped
from penstock.protocol.apis import Api
from penstock.wire.deadline import Deadline

UPGRADES: Final = {"UPGRADE": 1, "SAFE_DOWNGRADE": 2, "UNSAFE_DOWNGRADE": 3}
_METADATA_TOPIC: Final = "__cluster_metadata"


class Node(NamedTuple):
    id: int
    host: str
    port: int
    rack: str | None = None
    is_fenced: bool = False


class ClusterDescription(NamedTuple):
    cluster_id: str
    controller: Node | None
    nodes: tuple[Node, ...]


class FeatureUpdate(NamedTuple):
    max_version_level: int
    upgrade_type: str = "UPGRADE"


class VersionRange(NamedTuple):
    min_version: int
    max_version: int


class FeatureMetadata(NamedTuple):
    finalized_features: dict[str, VersionRange]
    finalized_features_epoch: int | None
    supported_features: dict[str, VersionRange]


class ReplicaState(NamedTuple):
    replica_id: int
    replica_directory_id: uuid.UUID | None
    log_end_offset: int
    last_fetch_timestamp: int | None
    last_caught_up_timestamp: int | None


class QuorumInfo(NamedTuple):
    leader_id: int
    leader_epoch: int
    high_watermark: int
    voters: tuple[ReplicaState, ...]
    observers: tuple[ReplicaState, ...]


class RaftVoterEndpoint(NamedTuple):
    name: str
    host: str
    port: int


class UpdateFeaturesResult(Keyed[str, None]): ...


class DescribeClusterResult:
    def __init__(self, found: Future[ClusterDescription]) -> None:
        self._found = found

    def nodes(self) -> Future[tuple[Node, ...]]:
        return mapped(self._found, lambda found: found.nodes)

    def controller(self) -> Future[Node | None]:
        """A broker that passes on what is the controller's; where controllers have nodes of their own, not
        one of them."""
        return mapped(self._found, lambda found: found.controller)

    def cluster_id(self) -> Future[str]:
        return mapped(self._found, lambda found: found.cluster_id)


class ClusterCalls(Asking):
    def describe_cluster(
        self, *, include_fenced_brokers: bool = False, timeout: float | None = None
    ) -> DescribeClusterResult:
        def work(deadline: Deadline) -> ClusterDescription:
            fields = {
                "include_cluster_authorized_operations": False,
                "endpoint_type": 1,
                "include_fenced_brokers": include_fenced_brokers,
            }
            oldest = 2 if include_fenced_brokers else 0
            answer = self._ask(Api.DESCRIBE_CLUSTER, fields, (oldest, 2), deadline)
            check(answer, "describe the cluster")
            nodes = tuple(
                Node(each.broker_id, each.host, each.port, each.rack, getattr(each, "is_fenced", False))
                for each in sorted(answer.brokers, key=lambda each: int(each.broker_id))
            )
            controller = next((each for each in nodes if each.id == answer.controller_id), None)
            return ClusterDescription(answer.cluster_id, controller, nodes)

        return DescribeClusterResult(self._one("describe the cluster", work, timeout))

    def describe_features(self, *, timeout: float | None = None) -> Future[FeatureMetadata]:
        def work(deadline: Deadline) -> FeatureMetadata:
            fields = {"client_software_name": "penstock", "client_software_version": "1"}
            answer = self._ask(Api.API_VERSIONS, fields, (3, 4), deadline)
            check(answer, "describe features")
            epoch = answer.finalized_features_epoch
            return FeatureMetadata(
                {
                    each.name: VersionRange(each.min_version_level, each.max_version_level)
                    for each in answer.finalized_features
                },
                epoch if epoch >= 0 else None,
                {
                    each.name: VersionRange(each.min_version, each.max_version)
                    for each in answer.supported_features
                },
            )

        return self._one("describe features", work, timeout)

    def update_features(
        self,
        feature_updates: Mapping[str, FeatureUpdate],
        *,
        validate_only: bool = False,
        timeout: float | None = None,
    ) -> UpdateFeaturesResult:
        def work(deadline: Deadline) -> Mapping[str, Any]:
            fields = {
                "timeout": milliseconds(deadline),
                "feature_updates": [
                    {
                        "feature": name,
                        "max_version_level": each.max_version_level,
                        "upgrade_type": UPGRADES[each.upgrade_type],
                    }
                    for name, each in feature_updates.items()
                ],
                "validate_only": validate_only,
            }
            answer = self._ask(Api.UPDATE_FEATURES, fields, (1, 2), deadline)
            check(answer, "update features")
            parts = {each.feature: each for each in getattr(answer, "results", None) or ()}
            return {
                name: failure(parts[name], f"update {name}") if name in parts else None
                for name in feature_updates
            }

        return self._each(UpdateFeaturesResult(feature_updates), "update features", work, timeout)

    def describe_metadata_quorum(self, *, timeout: float | None = None) -> Future[QuorumInfo]:
        def work(deadline: Deadline) -> QuorumInfo:
            fields = {"topics": [{"topic_name": _METADATA_TOPIC, "partitions": [{"partition_index": 0}]}]}
            answer = self._ask(Api.DESCRIBE_QUORUM, fields, (0, 2), deadline)
            check(answer, "describe the quorum")
            (part,) = answer.topics[0].partitions
            check(part, "describe the quorum")
            return QuorumInfo(
                part.leader_id,
                part.leader_epoch,
                part.high_watermark,
                tuple(_replica(each) for each in part.current_voters),
                tuple(_replica(each) for each in part.observers),
            )

        return self._one("describe the quorum", work, timeout)

    def unregister_broker(self, broker_id: int, *, timeout: float | None = None) -> Future[None]:
        """The cluster forgets a broker that will not come back."""

        def work(deadline: Deadline) -> None:
            answer = self._ask(Api.UNREGISTER_BROKER, {"broker_id": broker_id}, (0, 0), deadline)
            check(answer, f"unregister broker {broker_id}")

        return self._one("unregister a broker", work, timeout)

    def add_raft_voter(
        self,
        voter_id: int,
        voter_directory_id: uuid.UUID,
        endpoints: list[RaftVoterEndpoint],
        *,
        cluster_id: str | None = None,
        timeout: float | None = None,
    ) -> Future[None]:
        def work(deadline: Deadline) -> None:
            fields = {
                "cluster_id": cluster_id,
                "timeout": milliseconds(deadline),
                "voter_id": voter_id,
                "voter_directory_id": voter_directory_id.bytes,
                "listeners": [
                    {"name": each.name, "host": each.host, "port": each.port} for each in endpoints
                ],
                "ack_when_committed": True,
            }
            answer = self._ask(Api.ADD_RAFT_VOTER, fields, (0, 1), deadline)
            check(answer, f"add voter {voter_id}")

        return self._one("add a voter", work, timeout)

    def remove_raft_voter(
        self,
        voter_id: int,
        voter_directory_id: uuid.UUID,
        *,
        cluster_id: str | None = None,
        timeout: float | None = None,
    ) -> Future[None]:
        def work(deadline: Deadline) -> None:
            fields = {
                "cluster_id": cluster_id,
                "voter_id": voter_id,
                "voter_directory_id": voter_directory_id.bytes,
            }
            answer = self._ask(Api.REMOVE_RAFT_VOTER, fields, (0, 0), deadline)
            check(answer, f"remove voter {voter_id}")

        return self._one("remove a voter", work, timeout)


def _replica(part: Any) -> ReplicaState:
    return ReplicaState(
        part.replica_id,
        getattr(part, "replica_directory_id", None),
        part.log_end_offset,
        _known(getattr(part, "last_fetch_timestamp", -1)),
        _known(getattr(part, "last_caught_up_timestamp", -1)),
    )


def _known(timestamp_ms: int) -> int | None:
    return timestamp_ms if timestamp_ms >= 0 else None
