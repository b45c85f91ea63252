"""`list_reassignments`: partitions whose replicas are on the move, by our own connection."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from penstock.client.direct import Direct, check
from penstock.protocol.apis import Api

if TYPE_CHECKING:
    from penstock.client.admin import Admin

_VERSIONS: Final = (0, 0)


class Reassignment(NamedTuple):
    topic: str
    partition: int
    adding: tuple[int, ...]
    """Brokers that are to have the partition and do not yet."""
    removing: tuple[int, ...]
    """Brokers that have it and are to give it up."""


def list_reassignments(admin: Admin) -> list[Reassignment]:
    """All of the cluster, by topic and partition."""
    fields = {"timeout": int(admin.timeout_s * 1000), "topics": None}
    answer = Direct(admin.connection).ask(Api.LIST_PARTITION_REASSIGNMENTS, fields, _VERSIONS)
    check(answer, "list reassignments")
    return sorted(
        Reassignment(
            topic.name, each.partition_index, tuple(each.adding_replicas), tuple(each.removing_replicas)
        )
        for topic in answer.topics
        for each in topic.partitions
    )
