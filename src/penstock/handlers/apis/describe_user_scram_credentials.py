"""DescribeUserScramCredentials, v0: which users have a password for which mechanism (KIP-554). Nothing of the
password is told but the number of iterations."""

from __future__ import annotations

from collections import Counter
from typing import Any, Final

from penstock.controller.image import Image
from penstock.handlers.parts import MetadataParts
from penstock.handlers.reply import Reply
from penstock.handlers.request import Request
from penstock.protocol.apis import Api
from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages import encode_response, read_request
from penstock.security.access import Access
from penstock.security.operations import Operation, ResourceType

VERSIONS: Final = (0, 0)
ACCESS: Final = (Access(Operation.DESCRIBE, ResourceType.CLUSTER),)


def handle(request: Request, broker: MetadataParts) -> Reply:
    wanted = read_request(Api.DESCRIBE_USER_SCRAM_CREDENTIALS, request.version, request.reader)
    fields: dict[str, Any] = {
        "throttle_time": 0,
        "error_code": ErrorCode.NONE,
        "error_message": None,
        "results": (),
    }
    if request.may(broker, Operation.DESCRIBE, ResourceType.CLUSTER):
        names = [user.name for user in wanted.users or ()]
        fields["results"] = _results(broker.controller.image, names)
    else:
        code, message = ErrorCode.CLUSTER_AUTHORIZATION_FAILED, "Cluster authorization failed."
        fields |= {"error_code": code, "error_message": message}
    return Reply([encode_response(Api.DESCRIBE_USER_SCRAM_CREDENTIALS, request.version, fields)])


def _results(image: Image, names: list[str]) -> list[dict[str, Any]]:
    known: dict[str, list[dict[str, int]]] = {}
    for (name, mechanism), kept in sorted(image.passwords.items()):
        known.setdefault(name, []).append({"mechanism": mechanism, "iterations": kept.iterations})
    times = Counter(names or list(known))
    return [_result(name, known.get(name), times[name] > 1) for name in times]


def _result(name: str, found: list[dict[str, int]] | None, is_repeated: bool) -> dict[str, Any]:
    code, message = ErrorCode.NONE, None
    if is_repeated:
        code, message = (
            ErrorCode.DUPLICATE_RESOURCE,
            f"Cannot describe SCRAM credentials for the same user twice in a single request: {name}",
        )
    elif found is None:
        code, message = (
            ErrorCode.RESOURCE_NOT_FOUND,
            f"Attempt to describe a user credential that does not exist: {name}",
        )
    told = found if code is ErrorCode.NONE else ()
    return {"user": name, "error_code": code, "error_message": message, "credential_infos": told}
