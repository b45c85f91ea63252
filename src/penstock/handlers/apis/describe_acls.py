"""DescribeAcls, v1-v3: the access control entries that a filter matches, as this broker knows them."""

from __future__ import annotations

from typing import Any, Final

from penstock.handlers.acl_messages import check_enabled, entry_fields, pattern_fields, read_filter
from penstock.handlers.parts import MetadataParts
from penstock.handlers.reply import Reply
from penstock.handlers.request import Request
from penstock.protocol.apis import Api
from penstock.protocol.errors import ErrorCode, KafkaError
from penstock.protocol.messages import encode_response, read_request
from penstock.security.access import Access
from penstock.security.acls import Acl, PatternType
from penstock.security.operations import Operation, ResourceType

VERSIONS: Final = (1, 3)
ACCESS: Final = (Access(Operation.DESCRIBE, ResourceType.CLUSTER),)


def handle(request: Request, broker: MetadataParts) -> Reply:
    wanted = read_request(Api.DESCRIBE_ACLS, request.version, request.reader)
    fields: dict[str, Any] = {
        "throttle_time": 0,
        "error_code": ErrorCode.NONE,
        "error_message": None,
        "resources": (),
    }
    try:
        if not request.may(broker, Operation.DESCRIBE, ResourceType.CLUSTER):
            raise KafkaError(ErrorCode.CLUSTER_AUTHORIZATION_FAILED, "Cluster authorization failed.")
        check_enabled(broker)
        matches = read_filter(wanted).matches
        fields["resources"] = _resources(
            [acl for acl in broker.controller.image.acls.values() if matches(acl)]
        )
    except KafkaError as error:
        fields |= {"error_code": error.code, "error_message": error.message}
    return Reply([encode_response(Api.DESCRIBE_ACLS, request.version, fields)])


def _resources(acls: list[Acl]) -> list[dict[str, Any]]:
    by_pattern: dict[tuple[ResourceType, PatternType, str], list[Acl]] = {}
    for acl in acls:
        by_pattern.setdefault((acl.resource, acl.pattern, acl.name), []).append(acl)
    return [
        {**pattern_fields(same[0]), "acls": [entry_fields(acl) for acl in same]}
        for same in by_pattern.values()
    ]
