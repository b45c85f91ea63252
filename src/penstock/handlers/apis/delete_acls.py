"""DeleteAcls, v1-v3: remove the access control entries that filters match, all of them together."""

from __future__ import annotations

from typing import Any, Final

from penstock.controller.acls import decide_delete
from penstock.controller.controller import Decision
from penstock.controller.image import Image
from penstock.handlers.acl_messages import check_enabled, entry_fields, pattern_fields, read_filter
from penstock.handlers.parts import ControllerParts
from penstock.handlers.promised import CONTROLLER_SECONDS, decided, reply_when_done
from penstock.handlers.reply import Reply, Wait
from penstock.handlers.request import Request
from penstock.protocol.apis import Api
from penstock.protocol.errors import ErrorCode, KafkaError
from penstock.protocol.messages import encode_response, read_request
from penstock.security.access import Access
from penstock.security.acls import Acl, AclFilter
from penstock.security.operations import Operation, ResourceType

VERSIONS: Final = (1, 3)
ACCESS: Final = (Access(Operation.ALTER, ResourceType.CLUSTER),)


def handle(request: Request, broker: ControllerParts) -> Reply | Wait:
    wanted = read_request(Api.DELETE_ACLS, request.version, request.reader)
    read = [_read(request, broker, item) for item in wanted.filters]
    filters = [one for one in read if isinstance(one, AclFilter)]

    def decide(image: Image) -> Decision[list[list[Acl]]]:
        return decide_delete(image, filters)

    promises = [broker.controller.submit(decide)] if filters else []

    def encode() -> bytes:
        results = [_result(one if isinstance(one, KafkaError) else None, ()) for one in read]
        places = [index for index, one in enumerate(read) if isinstance(one, AclFilter)]
        try:
            for promise in promises:
                found = decided(promise)
                for index, matched in zip(places, found, strict=True):
                    results[index] = _result(None, matched)
        except KafkaError as error:
            for index in places:
                results[index] = _result(error, ())
        fields = {"throttle_time": 0, "filter_results": results}
        return encode_response(Api.DELETE_ACLS, request.version, fields)

    return reply_when_done(broker, promises, encode, seconds=CONTROLLER_SECONDS)


def _read(request: Request, broker: ControllerParts, wanted: Any) -> AclFilter | KafkaError:
    try:
        if not request.may(broker, Operation.ALTER, ResourceType.CLUSTER):
            raise KafkaError(ErrorCode.CLUSTER_AUTHORIZATION_FAILED, "Cluster authorization failed.")
        check_enabled(broker)
        return read_filter(wanted)
    except KafkaError as error:
        return error


def _result(refusal: KafkaError | None, matched: list[Acl] | tuple[()]) -> dict[str, Any]:
    nothing = {"error_code": ErrorCode.NONE, "error_message": None}
    said = nothing if refusal is None else {"error_code": refusal.code, "error_message": refusal.message}
    return {
        **said,
        "matching_acls": [{**nothing, **pattern_fields(acl), **entry_fields(acl)} for acl in matched],
    }
