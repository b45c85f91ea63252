"""Brings the partitions of this broker in line with the metadata: logs are made, renewed in their settings,
and removed."""

from __future__ import annotations

import logging

from penstock.controller.image import Image, TopicState
from penstock.handlers.broker import Broker
from penstock.replication.partition import Partition
from penstock.settings import TopicSettings
from penstock.storage.errors import NoSpace, StorageError
from penstock.storage.logs import Logs

_log = logging.getLogger(__name__)


class MetadataFollower:
    """Called by the controller after each committed step, one at a time."""

    def __init__(self, broker: Broker, logs: Logs) -> None:
        self._broker = broker
        self._node_id = broker.settings.node_id
        self._logs = logs
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
        for name, topic in new.topics.items():
            if old.topics.get(name) is not topic:
                self._bring(topic, self._settings(new, name))
            elif other_defaults or new.topic_config(name) is not old.topic_config(name):
                self._renew(topic, self._settings(new, name))

    def _settings(self, image: Image, name: str) -> TopicSettings:
        return TopicSettings.from_overrides(image.topic_config(name), self._defaults)

    def _bring(self, topic: TopicState, settings: TopicSettings) -> None:
        for index, state in enumerate(topic.partitions):
            if self._node_id not in state.replicas or self._partitions.find(topic.name, index) is not None:
                continue
            try:
                log = self._logs.get_or_create(topic.name, index, topic.topic_id, settings)
            except StorageError as error:
                if not self._partitions.is_offline(topic.name, index):
                    _log.error("%s-%d cannot be served: %s", topic.name, index, error)
                self.waits_for_space |= isinstance(error, NoSpace)
                self._partitions.add_unopened(topic.name, index)
                continue
            self._partitions.add(Partition(topic.name, topic.topic_id, index, log, state.leader_epoch))

    def _renew(self, topic: TopicState, settings: TopicSettings) -> None:
        for index in range(len(topic.partitions)):
            partition = self._partitions.find(topic.name, index)
            if partition is not None:
                with partition.lock:
                    partition.log.reconfigure(settings)

    def _remove(self, topic: TopicState) -> None:
        for index in range(len(topic.partitions)):
            if self._partitions.remove(topic.name, index) is not None:
                self._logs.delete(topic.name, index)
        _log.info("topic %s is deleted", topic.name)
