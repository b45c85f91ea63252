"""The topics of the cluster as groups need to know them. Wired to the controller's image by `server`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple, Protocol


class TopicInfo(NamedTuple):
    """A topic at one moment. `racks[i]` are the racks of the brokers that have a replica of partition i. The
    tuple is empty when no broker has a rack."""

    name: str
    topic_id: bytes
    partitions: int
    racks: tuple[frozenset[str], ...] = ()


class Topics(Protocol):
    """The present topics."""

    @property
    def version(self) -> object:
        """Another object whenever any topic may have changed."""
        ...

    def find(self, name: str) -> TopicInfo | None: ...

    def name_of(self, topic_id: bytes) -> str | None: ...

    def names(self) -> Iterable[str]:
        """All but the internal ones."""
        ...

    def group_config(self, group_id: str) -> Mapping[str, str]:
        """What a group has set for itself."""
        ...
