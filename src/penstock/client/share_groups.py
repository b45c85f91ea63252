"""`ShareGroups`: share groups (KIP-932) for services, with their errors. Called by the REST Proxy and the
console.

librdkafka's administration does not know share groups, so the requests go over our own connection.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from concurrent.futures import Future
from contextlib import contextmanager, nullcontext
from typing import Final, TypeVar

from penstock.client.api.admin.share_groups import ShareGroupDescription
from penstock.client.api.exceptions import ApiException, KafkaException, TimeoutException
from penstock.client.direct_admin import DirectAdmin
from penstock.client.errors import BrokerRefused, BrokerUnreachable, ClientError, GroupNotFound, Unsupported
from penstock.client.librdkafka import Connection
from penstock.protocol.topic_partition import TopicPartition

T = TypeVar("T")

_SHARE: Final = "share"
_NOT_FOUND: Final = "GROUP_ID_NOT_FOUND"


class ShareGroups:
    """Each call has connections of its own: calls are rare. Callers that ask often give an admin to keep."""

    def __init__(self, connection: Connection, kept: DirectAdmin | None = None) -> None:
        self._connection, self._kept = connection, kept

    def describe_all(self) -> list[ShareGroupDescription]:
        """Every share group; one that ends meanwhile is left out."""
        with self._asking("") as admin:
            return _described(admin)

    def describe_all_with_places(self) -> list[tuple[ShareGroupDescription, dict[tuple[str, int], int]]]:
        """Every share group, and where it goes on in each partition that it has read."""
        with self._asking("") as admin:
            groups = _described(admin)
            places = _there(admin.list_share_group_offsets({each.group_id: None for each in groups}).values())
            return [
                (group, {(at.topic, at.partition): info.start_offset for at, info in mine.items()})
                for group in groups
                if (mine := places.get(group.group_id)) is not None
            ]

    def describe(self, group_id: str) -> ShareGroupDescription:
        with self._asking(group_id) as admin:
            return admin.describe_share_groups([group_id]).result()[group_id]

    def partitions(self, group_id: str) -> list[TopicPartition]:
        """Where the group has a place, also while it is empty."""
        with self._asking(group_id) as admin:
            return sorted(admin.list_share_group_offsets(group_id).result()[group_id])

    def set_places(self, group_id: str, places: Mapping[tuple[str, int], int]) -> None:
        """Kafka refuses while the group has members."""
        with self._asking(group_id) as admin:
            wanted = {TopicPartition(*at): offset for at, offset in places.items()}
            admin.alter_share_group_offsets(group_id, wanted).result()

    def delete(self, group_id: str) -> None:
        """Kafka refuses while the group has members."""
        with self._asking(group_id) as admin:
            admin.describe_share_groups([group_id]).result()
            admin.delete_share_groups([group_id]).result()

    @contextmanager
    def _asking(self, group_id: str) -> Iterator[DirectAdmin]:
        with nullcontext(self._kept) if self._kept else DirectAdmin(self._connection) as admin:
            try:
                yield admin
            except KafkaException as error:
                raise self._translated(error, group_id) from error

    def _translated(self, error: KafkaException, group_id: str) -> ClientError:
        if _is_missing(error):
            return GroupNotFound(group_id)
        if isinstance(error, TimeoutException):
            return BrokerUnreachable(self._connection.bootstrap_servers, self._connection.timeout_s)
        name = error.error_name if isinstance(error, ApiException) else ""
        if name == "UNSUPPORTED_VERSION":
            return Unsupported(str(error))
        return BrokerRefused(str(error), name)


def _described(admin: DirectAdmin) -> list[ShareGroupDescription]:
    names = [each.group_id for each in admin.list_groups(types=(_SHARE,)).all().result()]
    return list(_there(admin.describe_share_groups(names).values()).values()) if names else []


def _there(futures: Mapping[str, Future[T]]) -> dict[str, T]:
    """The answers by group, without groups that have ended meanwhile."""
    found = {name: future.exception() for name, future in futures.items()}
    for error in found.values():
        if error is not None and not _is_missing(error):
            raise error
    return {name: futures[name].result() for name, error in found.items() if error is None}


def _is_missing(error: BaseException) -> bool:
    return isinstance(error, ApiException) and error.error_name == _NOT_FOUND
