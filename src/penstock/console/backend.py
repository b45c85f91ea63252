"""What the console needs of a cluster: a Protocol with a real form (`client_backend`) and a fake one
(`fake_backend`).

All methods raise `penstock.client.errors.ClientError` with a sentence for people, and nothing else on
purpose.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from penstock.client.metadata import ClusterInfo, TopicDetail, TopicInfo
from penstock.client.paging import Message, Newest, Page, Start
from penstock.client.sending import NewRecord, Produced


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

    async def produce(self, topic: str, record: NewRecord) -> Produced: ...

    async def create_topic(
        self, name: str, partitions: int | None, replication_factor: int | None, configs: Mapping[str, str]
    ) -> None: ...

    async def delete_topic(self, name: str) -> None: ...

    async def close(self) -> None: ...
