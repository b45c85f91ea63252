"""Which log directory each replica of this broker is in, beside what the controller knows of it (KIP-858).

Nothing is remembered of what was told: what the metadata says is compared with what is so, and the difference
is told until there is none. `server.cluster.broker_life` says it to the controller.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any, Final, NamedTuple

from penstock.controller.controller import Controller
from penstock.controller.directory_ids import LOST, is_online
from penstock.controller.image import Image
from penstock.replication.partitions import Partitions
from penstock.storage.logs import Logs

MOST_AT_ONCE: Final = 500
"""Replicas of one request: the controller decides it in one go, and its quorum waits meanwhile."""


class Untold(NamedTuple):
    """The controller does not know that this replica is in this directory."""

    directory_id: bytes
    topic_id: bytes
    partition: int


class ReplicaDirectories:
    """Asked by one thread."""

    def __init__(self, node_id: int, logs: Logs, partitions: Partitions, controller: Controller) -> None:
        self._node_id = node_id
        self._logs = logs
        self._partitions = partitions
        self._controller = controller
        self._settled: tuple[Image, int] | None = None

    @property
    def online(self) -> tuple[bytes, ...]:
        """The ids of the directories that serve."""
        return self._logs.directory_ids

    @property
    def offline(self) -> tuple[bytes, ...]:
        """The ids of those that have failed."""
        return self._logs.failed_ids

    def untold(self) -> list[Untold]:
        """What is to be said now; the rest of it is for the next time."""
        image = self._controller.image
        looked_at = (image, len(self._partitions))
        if self._settled is not None and self._settled[0] is image and self._settled[1] == looked_at[1]:
            return []
        found = list(islice(self._differences(image), MOST_AT_ONCE))
        self._settled = None if found else looked_at
        return found

    def _differences(self, image: Image) -> Iterator[Untold]:
        for topic in image.topics.values():
            for index, state in enumerate(topic.partitions):
                if self._node_id in state.replicas:
                    told = state.places[self._node_id]
                    place = self._place(topic.name, topic.topic_id, index, told)
                    if place is not None and place != told:
                        yield Untold(place, topic.topic_id, index)

    def _place(self, topic: str, topic_id: bytes, index: int, told: bytes) -> bytes | None:
        """Where the replica is; None when it is not there yet, or when there is nothing to say of it."""
        partition = self._partitions.find(topic, index)
        if partition is not None:
            return partition.log.directory.directory_id if partition.topic_id == topic_id else None
        # In a directory that could not be opened. If it is none of those that serve, the controller knows.
        believed_online = is_online(told, self.online)
        return LOST if believed_online and self._partitions.is_lost(topic, index) else None


def by_directory(untold: Iterable[Untold]) -> list[dict[str, Any]]:
    """As AssignReplicasToDirs has it: partitions by topic by directory."""
    tree: dict[bytes, dict[bytes, list[int]]] = {}
    for directory_id, topic_id, partition in untold:
        tree.setdefault(directory_id, {}).setdefault(topic_id, []).append(partition)
    return [
        {
            "id_": directory_id,
            "topics": [
                {"topic_id": topic_id, "partitions": [{"partition_index": index} for index in indexes]}
                for topic_id, indexes in topics.items()
            ],
        }
        for directory_id, topics in tree.items()
    ]
