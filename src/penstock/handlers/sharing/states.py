"""The requests of brokers to share coordinators: one shape, five of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from penstock.coordinator.promise import Promise
from penstock.handlers.nodes_only import if_node
from penstock.handlers.parts import ShareDataParts
from penstock.handlers.promised import outcome, reply_when_done
from penstock.handlers.reply import Outcome
from penstock.handlers.request import Request
from penstock.protocol.apis import Api
from penstock.protocol.errors import ErrorCode, KafkaError
from penstock.protocol.messages import encode_response, id_bytes, read_request
from penstock.share.state import SharePartitionKey

T = TypeVar("T")


def handle_states(
    request: Request,
    broker: ShareDataParts,
    api: Api,
    ask: Callable[[SharePartitionKey, Any], Promise[T]],
    answer: Callable[[T | None], Mapping[str, Any]],
) -> Outcome:
    """Ask the coordinator about each partition. `answer` gives the fields of its row; None is for one that
    was refused."""
    wanted = read_request(api, request.version, request.reader)
    asked: list[tuple[bytes, int, Promise[T]]] = []
    for topic in wanted.topics:
        for item in topic.partitions:
            key = SharePartitionKey(wanted.group_id, id_bytes(topic.topic_id), item.partition)
            asked.append((key.topic_id, key.partition, if_node(request, broker, _asking(ask, key, item))))

    def encode() -> bytes:
        rows: dict[bytes, list[dict[str, Any]]] = {}
        for topic_id, partition, promise in asked:
            rows.setdefault(topic_id, []).append({"partition": partition, **_row(promise, answer)})
        results = [{"topic_id": topic_id, "partitions": found} for topic_id, found in rows.items()]
        return encode_response(api, request.version, {"results": results})

    return reply_when_done(broker, [promise for _, _, promise in asked], encode)


def _asking(
    ask: Callable[[SharePartitionKey, Any], Promise[T]], key: SharePartitionKey, item: Any
) -> Callable[[], Promise[T]]:
    return lambda: ask(key, item)


def _row(promise: Promise[T], answer: Callable[[T | None], Mapping[str, Any]]) -> dict[str, Any]:
    try:
        fields = answer(outcome(promise))
    except KafkaError as error:
        return {"error_code": error.code, "error_message": error.message, **answer(None)}
    return {"error_code": ErrorCode.NONE, "error_message": None, **fields}


def no_fields(_: object) -> dict[str, Any]:
    return {}
