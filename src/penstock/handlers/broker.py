"""The broker as handlers see it: its parts, handed in. Assembled by `server.node`, by real sockets and the
simulator alike."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from penstock.clock import Clock
from penstock.controller.channel import ControllerChannel
from penstock.controller.controller import Controller
from penstock.controller.membership import Membership
from penstock.controller.producer_ids import ProducerIds
from penstock.controller.topics import Defaults
from penstock.coordinator.promise import Promise
from penstock.groups.coordinator import GroupCoordinator
from penstock.handlers.authorize import Authorizer
from penstock.handlers.fetching.sessions import FetchSessions
from penstock.protocol.api_versions import ApiRange
from penstock.protocol.errors import ErrorCode
from penstock.protocol.metadata import Node
from penstock.quotas.clients import ClientQuotas
from penstock.replication.partitions import Partitions
from penstock.settings import BrokerSettings
from penstock.storage.logs import Logs
from penstock.transactions.coordinator import TransactionCoordinator
from penstock.transactions.transaction import TopicPartition


class Verifier(Protocol):
    """Asks the coordinator of a transaction, wherever it is, whether partitions belong to it."""

    def add_or_verify(
        self,
        transactional_id: str,
        producer_id: int,
        producer_epoch: int,
        partitions: Sequence[TopicPartition],
        *,
        verify_only: bool,
    ) -> Promise[dict[TopicPartition, ErrorCode]]: ...


@dataclass(slots=True)
class Broker:
    """Everything a handler may touch."""

    settings: BrokerSettings  # as they are now: those of the start with what was changed since
    static_settings: BrokerSettings  # as they were given at start
    clock: Clock
    cluster_id: str
    controller: Controller
    channel: ControllerChannel  # to whoever is the active controller
    membership: Membership
    producer_ids: ProducerIds
    logs: Logs
    partitions: Partitions
    groups: GroupCoordinator
    transactions: TransactionCoordinator
    verifier: Verifier
    authorizer: Authorizer
    fetch_sessions: FetchSessions
    quotas: ClientQuotas
    apis: tuple[ApiRange, ...]  # what is announced and served
    controller_apis: tuple[ApiRange, ...]  # likewise, on the listeners of controllers
    new_topic_id: Callable[[], bytes]
    endpoints: Mapping[str, Node]  # by listener name: how clients of that listener reach this broker
    broker_epoch: int = -1  # of this life's registration; -1 before it
    coming_topics: dict[str, Promise[Any]] = field(default_factory=dict)
    """Topics that clients asked for and the controller was asked for; it is asked once at a time."""

    @property
    def topic_defaults(self) -> Defaults:
        return Defaults(
            default_partitions=self.settings.num_partitions,
            default_replication_factor=self.settings.default_replication_factor,
            topic_defaults=self.settings.topic_defaults,
        )
