"""Builds the metadata of a node: its log, the quorum, the controller; and what other parts ask of it."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Mapping

from penstock.controller.controller import METADATA_TOPIC, METADATA_TOPIC_ID, Controller
from penstock.controller.image import GROUP_RESOURCE
from penstock.controller.metadata_records import MetadataRecord
from penstock.controller.quorum import Quorum
from penstock.controller.snapshot_content import BOOTSTRAP_FILE, bootstrap_records
from penstock.handlers.cluster_nodes import reached
from penstock.protocol.primitives import MalformedMessage
from penstock.raft.timeouts import Timeouts
from penstock.server.composition.ground import Ground
from penstock.settings import BrokerSettings, TopicSettings
from penstock.storage.errors import Corruption
from penstock.storage.log import Log
from penstock.storage.logs import Logs
from penstock.wire.connection import Address


def build_controller(ground: Ground, logs: Logs) -> Controller:
    settings = ground.settings
    quorum = Quorum(
        _metadata_log(logs),
        ground.disk,
        ground.clock,
        ground.random,
        settings.node_id,
        voters=frozenset(settings.voters),
        timeouts=_timeouts(settings),
        snapshot_after_bytes=settings.metadata_log_max_record_bytes_between_snapshots,
    )
    return Controller(quorum, _bootstrap(ground))


def _bootstrap(ground: Ground) -> list[MetadataRecord]:
    """What `kafka-storage format` has left for a new cluster; nothing where it was not used."""
    for directory in ground.settings.log_dirs:
        path = os.path.join(directory, BOOTSTRAP_FILE)
        try:
            return bootstrap_records(ground.disk.read_bytes(path))
        except FileNotFoundError:
            continue
        except (MalformedMessage, ValueError) as error:
            raise Corruption(path, 0, f"no records of metadata: {error}") from error
    return []


def _metadata_log(logs: Logs) -> Log:
    # A creation of thousands of partitions is one batch, and must stay one: it is decided as one.
    # Nothing of it expires by age: it goes when a snapshot holds what it says.
    settings = dataclasses.replace(
        TopicSettings(), max_message_bytes=2**31 - 1, retention_ms=-1, retention_bytes=-1
    )
    logs.open_logs(lambda _: settings, only=METADATA_TOPIC)
    return logs.get_or_create(METADATA_TOPIC, 0, METADATA_TOPIC_ID, settings)


def _timeouts(settings: BrokerSettings) -> Timeouts:
    return Timeouts(
        election_timeout_ms=settings.controller_quorum_election_timeout_ms,
        fetch_timeout_ms=settings.controller_quorum_fetch_timeout_ms,
        election_backoff_max_ms=settings.controller_quorum_election_backoff_max_ms,
        request_timeout_ms=settings.controller_quorum_request_timeout_ms,
        retry_backoff_ms=settings.controller_quorum_retry_backoff_ms,
    )


class Questions:
    """What parts of a node ask of the metadata, as it is at the time."""

    def __init__(self, controller: Controller, inter_broker_listener: str | None) -> None:
        """`inter_broker_listener` is None for a node that is no broker."""
        self._controller = controller
        self._listener = inter_broker_listener

    def partition_count(self, topic: str) -> int | None:
        state = self._controller.image.topics.get(topic)
        return None if state is None else len(state.partitions)

    def exists(self, topic: str, index: int) -> bool:
        return 0 <= index < (self.partition_count(topic) or 0)

    def leader_of(self, topic: str, index: int) -> int | None:
        """The broker that leads a partition; None when it has no leader or does not exist."""
        if not self.exists(topic, index):
            return None
        leader = self._controller.image.topics[topic].partitions[index].leader
        return leader if leader >= 0 else None

    def group_config(self, group_id: str) -> Mapping[str, str]:
        """What a group has set for itself."""
        return self._controller.image.config(GROUP_RESOURCE, group_id)

    def may_join(self, node: int, epoch: int) -> bool:
        """Whether this life of a broker may be in an ISR."""
        broker = self._controller.image.brokers.get(node)
        return broker is not None and broker.is_active and epoch == broker.broker_epoch

    def address_of(self, node_id: int) -> Address | None:
        """Where another broker listens for this one."""
        state = self._controller.image.brokers.get(node_id)
        if state is None or self._listener is None:
            return None
        node = reached(state, self._listener)
        return None if node is None else Address(node.host, node.port)

    def why_stray(self, topic: str, index: int) -> str:
        """Why a log that this broker has is not its own."""
        if not self.exists(topic, index):
            return "the metadata has no such partition"
        replicas = self._controller.image.topics[topic].partitions[index].replicas
        return f"its replicas are on other brokers now ({', '.join(map(str, replicas))})"
