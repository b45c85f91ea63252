"""The parts of a broker, put together by `server.node` for real sockets and for the simulator alike.

A handler does not ask for all of it: its signature names the protocol of `handlers.parts` that has what it
needs, and `Broker` satisfies every one of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from penstock.clock import Clock
from penstock.controller.channel import ControllerChannel
from penstock.controller.controller import Controller
from penstock.controller.membership import Membership
from penstock.controller.producer_ids import ProducerIds
from penstock.controller.topics import Defaults
from penstock.coordinator.coordinator import Coordinator, CoordinatorKind
from penstock.coordinator.promise import Promise
from penstock.groups.coordinator import GroupCoordinator
from penstock.handlers.fetching.sessions import FetchSessions
from penstock.handlers.parts import ShareParts, Verifier
from penstock.metrics.broker import BrokerMetrics
from penstock.protocol.api_versions import ApiRange
from penstock.protocol.metadata import Node
from penstock.quotas.clients import ClientQuotas
from penstock.replication.partitions import Partitions
from penstock.security.authorizer import Authorizer
from penstock.settings import BrokerSettings
from penstock.storage.logs import Logs
from penstock.transactions.coordinator import TransactionCoordinator


@dataclass(slots=True)
class Broker:
    """Everything that the handlers together may touch."""

    settings: BrokerSettings  # as they are now: those of the start with what was changed since
    static_settings: BrokerSettings  # as they were given at start
    clock: Clock
    cluster_id: str
    controller: Controller
    channel: ControllerChannel  # to the active controller, wherever it is
    membership: Membership
    producer_ids: ProducerIds
    logs: Logs
    partitions: Partitions
    groups: GroupCoordinator
    transactions: TransactionCoordinator
    coordinators: Mapping[CoordinatorKind, Coordinator]  # every one of this broker
    verifier: Verifier
    share: ShareParts
    authorizer: Authorizer
    fetch_sessions: FetchSessions
    quotas: ClientQuotas
    metrics: BrokerMetrics
    apis: tuple[ApiRange, ...]  # what is announced and served
    controller_apis: tuple[ApiRange, ...]  # likewise, on the listeners of controllers
    new_topic_id: Callable[[], bytes]
    endpoints: Mapping[str, Node]  # by listener name: how clients of that listener reach this broker
    broker_epoch: int = -1  # of this life's registration; -1 before it
    coming_topics: dict[str, Promise[Any]] = field(default_factory=dict)
    """Topics whose creation this broker has requested from the controller: one request for each at a time."""

    @property
    def topic_defaults(self) -> Defaults:
        return Defaults(
            default_partitions=self.settings.num_partitions,
            default_replication_factor=self.settings.default_replication_factor,
            topic_defaults=self.settings.topic_defaults,
        )
