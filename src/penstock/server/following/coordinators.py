"""Coordinators in a node: they learn which shards are theirs, get their time, and can look at topics."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from threading import Event, Thread
from typing import Any, Final

from penstock.clock import Clock
from penstock.controller.controller import Controller
from penstock.controller.image import GROUP_RESOURCE, Image, TopicState
from penstock.controller.topics import INTERNAL_TOPICS
from penstock.coordinator.coordinator import Coordinator, CoordinatorKind
from penstock.coordinator.runtime import Runtime
from penstock.groups.topics import TopicInfo
from penstock.replication.partitions import Partitions
from penstock.server.following.shard_log import PartitionShardLog

_NO_DEADLINE_SECONDS: Final = 60.0
_PAUSE_SECONDS: Final = 1.0
_TIME_TO_HEAR_SECONDS: Final = 1.0

_log = logging.getLogger(__name__)


class ImageTopics:
    """The topics of the controller's present image, as groups see them."""

    def __init__(self, controller: Controller) -> None:
        self._controller = controller

    @property
    def version(self) -> object:
        return self._controller.image.topics

    def find(self, name: str) -> TopicInfo | None:
        image = self._controller.image
        topic = image.topics.get(name)
        if topic is None:
            return None
        return TopicInfo(name, topic.topic_id, len(topic.partitions), _racks(image, topic))

    def name_of(self, topic_id: bytes) -> str | None:
        return self._controller.image.names.get(topic_id)

    def names(self) -> Iterable[str]:
        return (name for name in self._controller.image.topics if name not in INTERNAL_TOPICS)

    def group_config(self, group_id: str) -> Mapping[str, str]:
        return self._controller.image.config(GROUP_RESOURCE, group_id)


def _racks(image: Image, topic: TopicState) -> tuple[frozenset[str], ...]:
    """For each partition, the racks of the brokers that have a replica of it."""
    racks = {number: broker.rack for number, broker in image.brokers.items() if broker.rack is not None}
    if not racks:
        return ()
    return tuple(
        frozenset(racks[replica] for replica in partition.replicas if replica in racks)
        for partition in topic.partitions
    )


class CoordinatorFollower:
    """Called by the controller after each committed step, behind the one that makes the logs."""

    def __init__(
        self,
        node_id: int,
        partitions: Partitions,
        coordinators: Mapping[CoordinatorKind, Coordinator],
    ) -> None:
        self._node_id = node_id
        self._partitions = partitions
        self._coordinators = tuple(coordinators.values())

    def follow(self, old: Image, new: Image) -> None:
        for coordinator in self._coordinators:
            topic = coordinator.topic
            if old.topics.get(topic) is not new.topics.get(topic):
                self._follow_shards(coordinator.runtime, topic, old, new)
        gone = {
            name: state.topic_id
            for name, state in old.topics.items()
            if name not in new.topics or new.topics[name].topic_id != state.topic_id
        }
        if gone:
            for coordinator in self._coordinators:
                coordinator.topics_deleted(gone)

    def _follow_shards(self, runtime: Runtime[Any], topic: str, old: Image, new: Image) -> None:
        before, now = old.topics.get(topic), new.topics.get(topic)
        if before is not None and (now is None or now.topic_id != before.topic_id):
            for index in range(len(before.partitions)):
                runtime.resign(index)
        for index, state in enumerate(() if now is None else now.partitions):
            partition = self._partitions.find(topic, index)
            if state.leader == self._node_id and partition is not None:
                runtime.elect(index, PartitionShardLog(partition, state.leader_epoch), state.leader_epoch)
            else:
                runtime.resign(index)


class CoordinatorDriver:
    """The threads that coordinators do not have: one runs timers when they are due, one loads shards."""

    def __init__(self, runtime: Runtime[Any], clock: Clock) -> None:
        self._runtime = runtime
        self._clock = clock
        self._stopped = False
        self._earlier = Event()
        self._to_load = Event()
        runtime.on_earlier_deadline(self._earlier.set)
        runtime.on_load_wanted(self._to_load.set)
        self._threads = [
            Thread(target=self._run_timers, name="coordinator-timers", daemon=True),
            Thread(target=self._run_loads, name="coordinator-loader", daemon=True),
        ]

    def start(self) -> None:
        self._to_load.set()
        for thread in self._threads:
            thread.start()

    def close(self) -> None:
        self._stopped = True
        self._earlier.set()
        self._to_load.set()
        for thread in self._threads:
            thread.join()

    def _run_timers(self) -> None:
        while not self._stopped:
            self._earlier.clear()
            deadline = self._runtime.next_deadline()
            now = self._clock.monotonic()
            if deadline is not None and deadline <= now:
                self._runtime.advance(now)
                continue
            seconds = _NO_DEADLINE_SECONDS if deadline is None else deadline - now
            self._earlier.wait(seconds)
            overslept = self._clock.monotonic() - now - seconds
            if overslept > _PAUSE_SECONDS:
                # Nobody sleeps a second too long on a machine that runs: the process was stopped, or starved.
                # Heartbeats that came meanwhile wait in the sockets and are to be heard first.
                self._runtime.postpone(overslept + _TIME_TO_HEAR_SECONDS)

    def _run_loads(self) -> None:
        while not self._stopped:
            self._to_load.wait()
            self._to_load.clear()
            while self._runtime.load_next():
                if self._stopped:
                    return
