"""What the console needs of a cluster: a Protocol with a real form (`client_backend`) and a fake one
(`fake_backend`).

All methods raise `penstock.client.errors.ClientError` with a sentence for people, and nothing else on
purpose.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from penstock.client.acls import Acl
from penstock.client.configs import Owner
from penstock.client.metadata import ClusterInfo, ConfigEntry, TopicDetail, TopicInfo
from penstock.client.paging import Message, Newest, Page, Start
from penstock.client.sending import NewRecord, Produced
from penstock.client.targets import Target
from penstock.client.users import User
from penstock.console.cluster_values import (
    Disks,
    GroupsNow,
    HangingTransaction,
    Move,
    Quorum,
    TopicProducer,
    TransactionState,
    WrittenIn,
)
from penstock.console.decoding_records import Decoded
from penstock.console.searching import Search, SearchQuery


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The cluster and all its topics, with offsets, at one moment."""

    cluster: ClusterInfo
    topics: tuple[TopicInfo, ...]

    def topic(self, name: str) -> TopicInfo | None:
        return next((topic for topic in self.topics if topic.name == name), None)


@dataclass(frozen=True, slots=True)
class MessageQuery:
    """Which messages to show; `partition` None means all of them."""

    topic: str
    start: Start = field(default_factory=Newest)
    partition: int | None = None
    limit: int = 50


class TailBatch(NamedTuple):
    """What came since the last poll, oldest first, and how many records were jumped over to stay live."""

    messages: tuple[Message, ...]
    skipped: int


class Tail(Protocol):
    async def poll(self) -> TailBatch:
        """Waits a moment for new records; an empty batch means that none came."""
        ...

    async def close(self) -> None: ...


class Backend(Protocol):
    @property
    def bootstrap_servers(self) -> str: ...

    async def snapshot(self) -> Snapshot: ...

    async def topic(self, name: str) -> TopicDetail: ...

    async def messages(self, query: MessageQuery) -> Page: ...

    async def tail(self, topic: str) -> Tail: ...

    async def search(self, query: SearchQuery) -> Search:
        """Refuses a filter that cannot be read."""
        ...

    async def decoded(self, message: Message, of_key: bool) -> Decoded | None:
        """By the registry's schema, or as a record of an internal topic; None when it is neither."""
        ...

    def decoded_known(self, message: Message, of_key: bool) -> Decoded | None:
        """The same at once, by schemas that are known already."""
        ...

    async def learn(self, messages: Sequence[Message]) -> None:
        """Makes the schemas of these known."""
        ...

    async def encoded(self, subject: str, text: str) -> bytes:
        """JSON as bytes of the subject's latest schema; refuses what does not fit."""
        ...

    async def written_in(self, topic: str, partition: int, offset: int) -> WrittenIn | None:
        """The batch of a record; None when the record is no longer there."""
        ...

    async def producers(self, topic: str) -> list[TopicProducer]:
        """Those that its partitions remember."""
        ...

    async def acls(self) -> list[Acl]: ...

    async def create_acl(self, entry: Acl) -> None: ...

    async def delete_acl(self, entry: Acl) -> None: ...

    async def users(self) -> list[User]:
        """Names with SCRAM credentials."""
        ...

    async def set_password(self, name: str, password: str) -> None:
        """Of a user that is there, or of a new one."""
        ...

    async def delete_user(self, name: str) -> None: ...

    async def produce(self, topic: str, record: NewRecord) -> Produced: ...

    async def create_topic(
        self, name: str, partitions: int | None, replication_factor: int | None, configs: Mapping[str, str]
    ) -> None: ...

    async def delete_topic(self, name: str) -> None: ...

    async def add_partitions(self, name: str, total: int) -> None: ...

    async def empty_topic(self, name: str) -> int:
        """Deletes all records up to the ends; returns how many offsets that were."""
        ...

    async def configs(self, owner: Owner) -> list[ConfigEntry]: ...

    async def alter_configs(self, owner: Owner, changes: Mapping[str, str | None]) -> None:
        """All of them or none; None takes a setting back to its default."""
        ...

    async def disks(self) -> Disks: ...

    async def quorum(self) -> Quorum: ...

    async def groups(self) -> GroupsNow: ...

    async def reset_plan(self, group_id: str, topics: tuple[str, ...], target: Target) -> list[Move]:
        """What a reset would do; without topics, to all that the group has committed."""
        ...

    async def reset_group(self, group_id: str, moves: list[Move]) -> None: ...

    async def delete_group(self, group_id: str) -> None: ...

    async def transactions(self) -> list[TransactionState]: ...

    async def hanging_transactions(self, older_than_ms: int) -> list[HangingTransaction]: ...

    async def abort_transaction(self, transaction: HangingTransaction) -> None: ...

    async def close(self) -> None: ...
