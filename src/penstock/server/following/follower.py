"""Brings the partitions of this broker in line with the metadata: logs are made, renewed in their settings,
and removed, and each partition is given its role."""

from __future__ import annotations

import logging
from contextlib import suppress
from functools import partial
from typing import Protocol

from penstock.controller.directory_ids import UNASSIGNED
from penstock.controller.image import Image, PartitionState, TopicState
from penstock.handlers.broker import Broker
from penstock.protocol.topic_partition import TopicPartition
from penstock.replication.partition import Partition
from penstock.replication.surroundings import Surroundings
from penstock.settings import TopicSettings
from penstock.storage.errors import LogDirFailure, NoSpace, StorageError
from penstock.storage.log import Log
from penstock.storage.logs import Logs
from penstock.storage.together import Task, Together, one_by_one

_log = logging.getLogger(__name__)


class Fetchers(Protocol):
    """The threads that fetch for partitions that follow."""

    def follow(self, partition: Partition) -> None:
        """The partition has a leader, and another or of another epoch than before, or none."""
        ...

    def leave(self, partition: Partition) -> None: ...

    def settle(self) -> None:
        """A step of the metadata has been followed."""
        ...


class MetadataFollower:
    """Called by the controller after each committed step, one at a time."""

    def __init__(
        self,
        broker: Broker,
        logs: Logs,
        surroundings: Surroundings,
        fetchers: Fetchers,
        together: Together = one_by_one,
    ) -> None:
        """`together` makes the logs of many new partitions: most of the time is waiting for the disk."""
        self._together = together
        self._broker = broker
        self._node_id = broker.settings.node_id
        self._logs = logs
        self._surroundings = surroundings
        self._fetchers = fetchers
        self._partitions = broker.partitions
        self._defaults = broker.settings.topic_defaults
        self.waits_for_space = False
        """A log could not be made because the disk is full: it is worth following again."""

    def follow(self, old: Image, new: Image) -> None:
        self.waits_for_space = False
        for name, topic in old.topics.items():
            current = new.topics.get(name)
            if current is None or current.topic_id != topic.topic_id:
                self._remove(topic)
        defaults, self._defaults = self._defaults, self._broker.settings.topic_defaults
        other_defaults = defaults != self._defaults
        self._make_logs(old, new)
        for name, topic in new.topics.items():
            before = old.topics.get(name)
            if before is not topic:
                self._bring(before, topic, self._settings(new, name))
            elif other_defaults or new.topic_config(name) is not old.topic_config(name):
                self._renew(topic, self._settings(new, name))
        self._fetchers.settle()

    def _settings(self, image: Image, name: str) -> TopicSettings:
        return TopicSettings.from_overrides(image.topic_config(name), self._defaults)

    def _make_logs(self, old: Image, new: Image) -> None:
        """Make the logs that do not exist yet. If the disk refuses one, `_open` tries it again and reports
        it."""
        tasks: list[Task] = []
        for name, topic in new.topics.items():
            if old.topics.get(name) is topic:
                continue
            settings = self._settings(new, name)
            tasks += [
                partial(self._make_log, topic, index, settings, state.places[self._node_id])
                for index, state in enumerate(topic.partitions)
                if self._node_id in state.replicas and self._logs.get(name, index) is None
            ]
        self._together(tasks)

    def _make_log(self, topic: TopicState, index: int, settings: TopicSettings, place: bytes) -> None:
        with suppress(StorageError):
            self._get_or_create(topic, index, settings, place)

    def _get_or_create(self, topic: TopicState, index: int, settings: TopicSettings, place: bytes) -> Log:
        """`place` is the directory that the metadata names."""
        return self._logs.get_or_create(
            topic.name, index, topic.topic_id, settings, directory_id=place, is_new=place == UNASSIGNED
        )

    def _bring(self, before: TopicState | None, topic: TopicState, settings: TopicSettings) -> None:
        known = () if before is None or before.topic_id != topic.topic_id else before.partitions
        for index, state in enumerate(topic.partitions):
            partition = self._partitions.find(topic.name, index)
            if index < len(known) and known[index] is state and partition is not None:
                continue
            if self._node_id not in state.replicas:
                self._drop(topic.name, index)
                continue
            if partition is None:
                partition = self._open(topic, index, settings, state.places[self._node_id])
            if partition is not None:
                self._assume(partition, state)

    def _assume(self, partition: Partition, state: PartitionState) -> None:
        if partition.assume(state) and not partition.is_offline:
            self._fetchers.follow(partition)

    def _open(self, topic: TopicState, index: int, settings: TopicSettings, place: bytes) -> Partition | None:
        """The partition with its log; None when the disk refuses it."""
        try:
            log = self._get_or_create(topic, index, settings, place)
        except StorageError as error:
            if not self._partitions.is_offline(topic.name, index):
                _log.error("%s-%d cannot be served: %s", topic.name, index, error)
            self.waits_for_space |= isinstance(error, NoSpace)
            self._partitions.add_unopened(topic.name, index, lost=isinstance(error, LogDirFailure))
            return None
        left = log.directory.left_offsets.get(TopicPartition(topic.name, index))
        # What the leader knows to be committed is learnt anew; until then it is what it was.
        committed = 0 if left is None else left.high_watermark
        with log.lock:
            log.high_watermark = min(max(committed, log.log_start_offset), log.log_end_offset)
        partition = Partition(topic.name, topic.topic_id, index, log, self._surroundings)
        self._partitions.add(partition)
        return partition

    def _renew(self, topic: TopicState, settings: TopicSettings) -> None:
        for index in range(len(topic.partitions)):
            partition = self._partitions.find(topic.name, index)
            if partition is not None:
                with partition.lock:
                    partition.log.reconfigure(settings)

    def _remove(self, topic: TopicState) -> None:
        for index in range(len(topic.partitions)):
            self._drop(topic.name, index)
        _log.info("topic %s is deleted", topic.name)

    def _drop(self, topic: str, index: int) -> None:
        """The partition is no longer here."""
        partition = self._partitions.remove(topic, index)
        if partition is not None:
            self._fetchers.leave(partition)
            self._logs.delete(topic, index)
