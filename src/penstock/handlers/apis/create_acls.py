"""CreateAcls, v1-v3: add access control entries. Those that are not refused are committed together. An entry
that is there already is no mistake."""

from __future__ import annotations

from typing import Any, Final

from penstock.controller.acls import check_new, decide_create
from penstock.controller.controller import Decision
from penstock.controller.image import Image
from penstock.handlers.acl_messages import check_enabled, read_acl
from penstock.handlers.parts import ControllerParts
from penstock.handlers.promised import CONTROLLER_SECONDS, decided, reply_when_done
from penstock.handlers.reply import Reply, Wait
from penstock.handlers.request import Request
from penstock.protocol.apis import Api
from penstock.protocol.errors import ErrorCode, KafkaError
from penstock.protocol.messages import encode_response, read_request
from penstock.security.access import Access
from penstock.security.acls import Acl
from penstock.security.operations import Operation, ResourceType

VERSIONS: Final = (1, 3)
ACCESS: Final = (Access(Operation.ALTER, ResourceType.CLUSTER),)


def handle(request: Request, broker: ControllerParts) -> Reply | Wait:
    wanted = read_request(Api.CREATE_ACLS, request.version, request.reader)
    read = [_read(request, broker, item) for item in wanted.creations]
    new = [acl for acl in read if isinstance(acl, Acl)]

    def decide(image: Image) -> Decision[None]:
        return decide_create(image, new, broker.new_topic_id), None

    promises = [broker.controller.submit(decide)] if new else []

    def encode() -> bytes:
        refusal: KafkaError | None = None
        try:
            for promise in promises:
                decided(promise)
        except KafkaError as error:
            refusal = error
        results = [_result(refusal if isinstance(one, Acl) else one) for one in read]
        return encode_response(Api.CREATE_ACLS, request.version, {"throttle_time": 0, "results": results})

    return reply_when_done(broker, promises, encode, seconds=CONTROLLER_SECONDS)


def _read(request: Request, broker: ControllerParts, wanted: Any) -> Acl | KafkaError:
    try:
        if not request.may(broker, Operation.ALTER, ResourceType.CLUSTER):
            raise KafkaError(ErrorCode.CLUSTER_AUTHORIZATION_FAILED, "Cluster authorization failed.")
        check_enabled(broker)
        acl = read_acl(wanted)
        check_new(acl)
        return acl
    except KafkaError as error:
        return error


def _result(refusal: KafkaError | None) -> dict[str, Any]:
    if refusal is None:
        return {"error_code": ErrorCode.NONE, "error_message": None}
    return {"error_code": refusal.code, "error_message": refusal.message}
