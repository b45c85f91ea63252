"""FindCoordinator, v0-v6: the broker that coordinates a group, a transactional id or a share partition. It is
the leader of the partition to which the name belongs. Coordinators of share partitions are for brokers."""

from __future__ import annotations

from typing import Any, Final

from penstock.controller.image import TopicState
from penstock.coordinator.coordinator import CoordinatorKind
from penstock.handlers.cluster_nodes import reached
from penstock.handlers.nodes_only import refused_node
from penstock.handlers.parts import CoordinatorParts, Permits
from penstock.handlers.reply import Reply
from penstock.handlers.request import Request
from penstock.handlers.topic_creation import ensure_internal_topic
from penstock.handlers.transactional import refused_id
from penstock.protocol.apis import Api
from penstock.protocol.errors import ErrorCode, KafkaError
from penstock.protocol.messages import encode_response, read_request
from penstock.protocol.metadata import Node
from penstock.security.access import Access, Refusal
from penstock.security.operations import Operation, ResourceType

VERSIONS: Final = (0, 6)
ACCESS: Final = (
    Access(Operation.DESCRIBE, ResourceType.GROUP, Refusal.EACH, when="of a group"),
    Access(Operation.DESCRIBE, ResourceType.TRANSACTIONAL_ID, Refusal.EACH, when="of a transaction"),
    Access(Operation.CLUSTER_ACTION, ResourceType.CLUSTER, when="of a share partition"),
)
_KINDS: Final = {int(kind): kind for kind in CoordinatorKind}
BATCHED_FROM: Final = 4
SHARE_FROM: Final = 6


def handle(request: Request, broker: CoordinatorParts) -> Reply:
    wanted = read_request(Api.FIND_COORDINATOR, request.version, request.reader)
    kind = getattr(wanted, "key_type", CoordinatorKind.GROUP)
    keys = wanted.coordinator_keys if request.version >= BATCHED_FROM else [wanted.key]
    found = [_find(request, broker, kind, key) for key in keys]
    fields = {"coordinators": found} if request.version >= BATCHED_FROM else found[0]
    return Reply([encode_response(Api.FIND_COORDINATOR, request.version, {"throttle_time": 0, **fields})])


def _find(request: Request, broker: CoordinatorParts, kind: int, key: str) -> dict[str, Any]:
    try:
        known = _KINDS.get(kind)
        if known is None:
            raise KafkaError(
                ErrorCode.INVALID_REQUEST, f"Coordinators of type {kind} are not served by this broker yet."
            )
        _check_may_see(request, broker, known, key)
        topic = ensure_internal_topic(broker, known)
        node = _leader(request, broker, topic, broker.coordinators[known].shard_of(key))
    except KafkaError as error:
        return _answer(key, -1, "", -1, error.code, error.message)
    return _answer(key, node.node_id, node.host, node.port, ErrorCode.NONE, None)


def _check_may_see(request: Request, broker: Permits, kind: CoordinatorKind, key: str) -> None:
    refusal: KafkaError | None = None
    if kind is CoordinatorKind.TRANSACTION:
        refusal = refused_id(request, broker, Operation.DESCRIBE, key)
    elif kind is CoordinatorKind.SHARE:
        refusal = refused_node(request, broker)
        if refusal is None and request.version < SHARE_FROM:
            refusal = KafkaError(
                ErrorCode.INVALID_REQUEST, f"Share partitions are known from v{SHARE_FROM} on."
            )
    elif not request.may(broker, Operation.DESCRIBE, ResourceType.GROUP, key):
        refusal = KafkaError(ErrorCode.GROUP_AUTHORIZATION_FAILED, f"Not authorized to see the group {key}.")
    if refusal is not None:
        raise refusal


def _leader(request: Request, broker: CoordinatorParts, topic: TopicState, shard: int) -> Node:
    leader = broker.controller.image.brokers.get(topic.partitions[shard].leader)
    node = None if leader is None or leader.fenced else reached(leader, request.listener)
    if node is None:
        raise KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE, "The coordinator is not available.")
    return node


def _answer(
    key: str, node_id: int, host: str, port: int, code: ErrorCode, message: str | None
) -> dict[str, Any]:
    return {
        "key": key,
        "node_id": node_id,
        "host": host,
        "port": port,
        "error_code": code,
        "error_message": message,
    }
