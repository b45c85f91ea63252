"""The states of share partitions, asked of their coordinator wherever that is: here, or on another broker by
the APIs that only brokers speak (KIP-932)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeVar

from penstock.coordinator.promise import Promise, failed, mapped
from penstock.protocol.apis import Api
from penstock.protocol.errors import ErrorCode, KafkaError
from penstock.server.cluster.cluster_markers import Asks
from penstock.share.coordinator import SHARE_TOPIC, ShareCoordinator
from penstock.share.messages import read_batches, write_batches
from penstock.share.state import PartitionState, SharePartitionKey

VERSIONS: Final = (0, 0)

T = TypeVar("T")


class ShareStatesAnywhere:
    """Speaks `share.states:States`."""

    def __init__(
        self,
        node_id: int,
        local: ShareCoordinator,
        peers: Asks,
        leader_of: Callable[[str, int], int | None],
    ) -> None:
        self._node_id = node_id
        self._local = local
        self._peers = peers
        self._leader_of = leader_of

    def initialise(self, key: SharePartitionKey, state_epoch: int, start_offset: int) -> Promise[None]:
        fields = {"state_epoch": state_epoch, "start_offset": start_offset}
        return self._ask(
            key,
            lambda: self._local.initialise(key, state_epoch, start_offset),
            Api.INITIALIZE_SHARE_GROUP_STATE,
            fields,
            _nothing,
        )

    def read(self, key: SharePartitionKey, leader_epoch: int) -> Promise[PartitionState]:
        def state(row: Any) -> PartitionState:
            batches = read_batches(row.state_batches)
            return PartitionState(row.state_epoch, leader_epoch, row.start_offset, batches)

        return self._ask(
            key,
            lambda: self._local.read(key, leader_epoch),
            Api.READ_SHARE_GROUP_STATE,
            {"leader_epoch": leader_epoch},
            state,
        )

    def write(self, key: SharePartitionKey, state: PartitionState) -> Promise[None]:
        fields = {
            "state_epoch": state.state_epoch,
            "leader_epoch": state.leader_epoch,
            "start_offset": state.start_offset,
            "state_batches": write_batches(state.batches),
        }
        return self._ask(
            key, lambda: self._local.write(key, state), Api.WRITE_SHARE_GROUP_STATE, fields, _nothing
        )

    def delete(self, key: SharePartitionKey) -> Promise[None]:
        return self._ask(key, lambda: self._local.delete(key), Api.DELETE_SHARE_GROUP_STATE, {}, _nothing)

    def summary(self, key: SharePartitionKey) -> Promise[PartitionState]:
        def state(row: Any) -> PartitionState:
            return PartitionState(row.state_epoch, row.leader_epoch, row.start_offset)

        return self._ask(
            key,
            lambda: self._local.summary(key),
            Api.READ_SHARE_GROUP_STATE_SUMMARY,
            {"leader_epoch": -1},
            state,
        )

    def _ask(
        self,
        key: SharePartitionKey,
        here: Callable[[], Promise[T]],
        api: Api,
        fields: dict[str, Any],
        convert: Callable[[Any], T],
    ) -> Promise[T]:
        try:
            leader = self._leader_of(SHARE_TOPIC, self._local.shard_of(key.coordinator_key()))
        except KafkaError as error:
            return failed(error)
        if leader is None:
            return failed(KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE, "The coordinator has no leader."))
        if leader == self._node_id:
            return here()
        topic = {"topic_id": key.topic_id, "partitions": [{"partition": key.partition, **fields}]}
        asked = self._peers.ask(leader, api, VERSIONS, {"group_id": key.group_id, "topics": [topic]})
        return mapped(asked, lambda answer: convert(_row(answer)))


def _row(answer: Any) -> Any:
    """The one partition that was asked for."""
    for topic in answer.results:
        for row in topic.partitions:
            if row.error_code:
                raise KafkaError(ErrorCode(row.error_code), row.error_message or "")
            return row
    raise KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE, "The coordinator's answer is empty.")


def _nothing(_: Any) -> None:
    return None
