"""Decisions about access control entries: create, and delete by filter. Pure, with Kafka's sentences."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from penstock.controller.image import Image
from penstock.controller.metadata_records import MetadataRecord
from penstock.controller.security_records import AccessControlEntryRecord, RemoveAccessControlEntryRecord
from penstock.protocol.errors import ErrorCode, KafkaError
from penstock.security.acls import Acl, AclFilter, PatternType, Permission
from penstock.security.operations import CLUSTER_NAME, Operation, ResourceType
from penstock.security.principals import parse_principal

MOST_RECORDS: Final = 10_000
"""Of one request, as Kafka has it."""


def check_new(acl: Acl) -> None:
    """KafkaError for an entry that means nothing."""
    if acl.resource is ResourceType.CLUSTER and acl.name != CLUSTER_NAME:
        raise _invalid(f"The only valid name for the CLUSTER resource is {CLUSTER_NAME}")
    if not acl.name:
        raise _invalid("Invalid empty resource name")
    if acl.resource is ResourceType.ANY:
        raise _invalid(f"Invalid resourceType {acl.resource.name}")
    if acl.pattern not in (PatternType.LITERAL, PatternType.PREFIXED):
        raise _invalid(f"Invalid patternType {acl.pattern.name}")
    if acl.operation is Operation.ANY:
        raise _invalid(f"Invalid operation {acl.operation.name}")
    if acl.permission is Permission.ANY:
        raise _invalid(f"Invalid permissionType {acl.permission.name}")
    try:
        parse_principal(acl.principal)
    except ValueError:
        raise _invalid(f"Could not parse principal from `{acl.principal}`") from None


def decide_create(image: Image, wanted: Sequence[Acl], new_id: Callable[[], bytes]) -> list[MetadataRecord]:
    """The records for entries that are there not yet. They have been checked."""
    present = set(image.acls.values())
    records: list[MetadataRecord] = []
    for acl in wanted:
        if acl not in present:
            present.add(acl)
            records.append(AccessControlEntryRecord(new_id(), acl))
    if len(records) > MOST_RECORDS:
        raise _too_many("create")
    return records


def decide_delete(image: Image, wanted: Sequence[AclFilter]) -> tuple[list[MetadataRecord], list[list[Acl]]]:
    """The records, and for each filter the entries that it matches; one entry may be matched by several."""
    matched = [[(acl_id, acl) for acl_id, acl in image.acls.items() if one.matches(acl)] for one in wanted]
    gone = dict.fromkeys(acl_id for found in matched for acl_id, _ in found)
    if len(gone) > MOST_RECORDS:
        raise _too_many("delete")
    records: list[MetadataRecord] = [RemoveAccessControlEntryRecord(acl_id) for acl_id in gone]
    return records, [[acl for _, acl in found] for found in matched]


def _too_many(what: str) -> KafkaError:
    return _invalid(f"Cannot {what} more than {MOST_RECORDS} acls in a single {what} operation.")


def _invalid(message: str) -> KafkaError:
    return KafkaError(ErrorCode.INVALID_REQUEST, message)
