"""AlterClientQuotas, v0-v1: sets and removes quotas of users, client ids and addresses. The changes that are
not refused are committed together."""

from __future__ import annotations

from typing import Any, Final

from penstock.controller.controller import Decision
from penstock.controller.image import Image
from penstock.controller.metadata_records import MetadataRecord
from penstock.controller.quotas import QuotaChange, decide_quotas
from penstock.handlers.config_changes import bounded
from penstock.handlers.parts import ControllerParts
from penstock.handlers.promised import CONTROLLER_SECONDS, decided, reply_when_done
from penstock.handlers.reply import Reply, Wait
from penstock.handlers.request import Request
from penstock.protocol.apis import Api
from penstock.protocol.errors import ErrorCode, KafkaError
from penstock.protocol.messages import encode_response, read_request
from penstock.security.access import Access
from penstock.security.operations import Operation, ResourceType

VERSIONS: Final = (0, 1)
ACCESS: Final = (Access(Operation.ALTER_CONFIGS, ResourceType.CLUSTER),)


def handle(request: Request, broker: ControllerParts) -> Reply | Wait:
    wanted = read_request(Api.ALTER_CLIENT_QUOTAS, request.version, request.reader)

    def decide(image: Image) -> Decision[list[dict[str, Any]]]:
        records: list[MetadataRecord] = []
        results = []
        seen: set[frozenset[tuple[str, str | None]]] = set()
        for entry in wanted.entries:
            parts = [(part.entity_type, part.entity_name) for part in entry.entity]
            refusal: KafkaError | None = None
            try:
                _check(request, broker, frozenset(parts), seen)
                changes = [QuotaChange(op.key, None if op.remove else op.value) for op in entry.ops]
                records += bounded(decide_quotas(image, parts, changes), len(records))
            except KafkaError as error:
                refusal = error
            results.append(_result(parts, refusal))
        return ([] if wanted.validate_only else records), results

    promise = broker.controller.submit(decide)

    def encode() -> bytes:
        try:
            results = decided(promise)
        except KafkaError as error:
            results = [
                _result([(part.entity_type, part.entity_name) for part in entry.entity], error)
                for entry in wanted.entries
            ]
        fields = {"throttle_time": 0, "entries": results}
        return encode_response(Api.ALTER_CLIENT_QUOTAS, request.version, fields)

    return reply_when_done(broker, [promise], encode, seconds=CONTROLLER_SECONDS)


def _check(
    request: Request,
    broker: ControllerParts,
    entity: frozenset[tuple[str, str | None]],
    seen: set[frozenset[tuple[str, str | None]]],
) -> None:
    if not request.may(broker, Operation.ALTER_CONFIGS, ResourceType.CLUSTER):
        raise KafkaError(ErrorCode.CLUSTER_AUTHORIZATION_FAILED, "Cluster authorization failed.")
    if entity in seen:
        raise KafkaError(ErrorCode.INVALID_REQUEST, "Ignoring duplicate entity")
    seen.add(entity)


def _result(parts: list[tuple[str, str | None]], refusal: KafkaError | None) -> dict[str, Any]:
    return {
        "error_code": refusal.code if refusal else ErrorCode.NONE,
        "error_message": refusal.message if refusal else None,
        "entity": [{"entity_type": kind, "entity_name": name} for kind, name in parts],
    }
