"""What each family of handlers may touch of the broker.

A handler's signature names one of these protocols, so that a reader sees at once what the handler can read
and what it can change. `handlers.broker:Broker` has every part; `server.node` puts it together. A handler
that needs another part asks for it here.
"""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping, Sequence
from typing import Any, NamedTuple, Protocol

from penstock.clock import Clock
from penstock.controller.channel import ControllerChannel
from penstock.controller.controller import Controller
from penstock.controller.image import Image
from penstock.controller.membership import Membership
from penstock.controller.producer_ids import ProducerIds
from penstock.controller.topics import Defaults
from penstock.coordinator.coordinator import Coordinator, CoordinatorKind
from penstock.coordinator.promise import Promise
from penstock.groups.coordinator import GroupCoordinator
from penstock.handlers.fetching.sessions import FetchSessions
from penstock.metrics.broker import BrokerMetrics
from penstock.protocol.api_versions import ApiRange
from penstock.protocol.errors import ErrorCode
from penstock.protocol.topic_partition import TopicPartition
from penstock.quotas.clients import ClientQuotas
from penstock.replication.partitions import Partitions
from penstock.security.authorizer import Authorizer
from penstock.settings import BrokerSettings
from penstock.share.coordinator import ShareCoordinator
from penstock.share.served_partitions import ServedPartitions
from penstock.share.sessions import ShareSessions
from penstock.share.states import States
from penstock.storage.logs import Logs
from penstock.transactions.coordinator import TransactionCoordinator

# Single parts, for what handlers share


class Permits(Protocol):
    """Knows what a principal may do. `Request.may` asks it."""

    @property
    def authorizer(self) -> Authorizer: ...


class Timed(Protocol):
    """Knows the time and the settings, for deadlines."""

    @property
    def clock(self) -> Clock: ...

    @property
    def settings(self) -> BrokerSettings: ...


class Charges(Protocol):
    """Knows the quotas of clients, and what they have used."""

    @property
    def quotas(self) -> ClientQuotas: ...


class Counts(Protocol):
    """Has the numbers that are counted while requests are served."""

    @property
    def metrics(self) -> BrokerMetrics: ...


class Metadata(Protocol):
    """The controller as most handlers see it: to read, not to change."""

    @property
    def image(self) -> Image: ...

    @property
    def last_offset(self) -> int: ...

    @property
    def is_active(self) -> bool: ...

    @property
    def active_id(self) -> int | None: ...


class ReadsMetadata(Protocol):
    """Reads the metadata of the cluster and the settings of this broker."""

    @property
    def settings(self) -> BrokerSettings: ...

    @property
    def controller(self) -> Metadata: ...


class ReadsConfigs(ReadsMetadata, Protocol):
    """Reads configurations, and where each value comes from."""

    @property
    def static_settings(self) -> BrokerSettings: ...


class ControllerLink(Timed, Protocol):
    """Sends requests to the active controller, wherever it is."""

    @property
    def channel(self) -> ControllerChannel: ...


class TopicMaking(ControllerLink, Protocol):
    """Creates topics: directly on the active controller, by a request elsewhere."""

    @property
    def settings(self) -> BrokerSettings: ...

    @property
    def controller(self) -> Controller: ...

    @property
    def topic_defaults(self) -> Defaults: ...

    @property
    def coming_topics(self) -> MutableMapping[str, Promise[Any]]: ...

    def new_topic_id(self) -> bytes: ...


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


class ShareParts(NamedTuple):
    """Everything about share partitions: their coordinator here, the way to any other, those that this broker
    serves, and the sessions of members."""

    coordinator: ShareCoordinator
    states: States
    served: ServedPartitions
    sessions: ShareSessions


# Families


class DataParts(Permits, Timed, Charges, Counts, ReadsMetadata, Protocol):
    """For requests about the records of partitions: produce, fetch, offsets, producers, log directories."""

    @property
    def partitions(self) -> Partitions: ...

    @property
    def logs(self) -> Logs: ...

    @property
    def fetch_sessions(self) -> FetchSessions: ...

    @property
    def verifier(self) -> Verifier: ...


class GroupParts(Permits, Timed, ReadsMetadata, Protocol):
    """For requests about groups and their committed offsets."""

    @property
    def groups(self) -> GroupCoordinator: ...


class ShareDataParts(GroupParts, DataParts, TopicMaking, Protocol):
    """For requests about share groups: their members, their records, and the states that are kept of them."""

    @property
    def controller(self) -> Controller: ...

    @property
    def share(self) -> ShareParts: ...


class TransactionParts(Permits, Timed, ReadsMetadata, Protocol):
    """For requests of transactional producers to their coordinator."""

    @property
    def transactions(self) -> TransactionCoordinator: ...

    @property
    def producer_ids(self) -> ProducerIds: ...


class MetadataParts(Permits, ReadsConfigs, Protocol):
    """For requests that describe the cluster, its topics and its configurations."""

    @property
    def cluster_id(self) -> str: ...

    @property
    def apis(self) -> tuple[ApiRange, ...]: ...

    @property
    def controller_apis(self) -> tuple[ApiRange, ...]: ...

    @property
    def partitions(self) -> Partitions: ...


class ControllerParts(Permits, Charges, TopicMaking, Protocol):
    """For requests that the active controller decides, and for those of the quorum."""

    @property
    def static_settings(self) -> BrokerSettings: ...

    @property
    def cluster_id(self) -> str: ...

    @property
    def membership(self) -> Membership: ...


# Handlers that belong to two families


class TopicMetadataParts(MetadataParts, Charges, TopicMaking, Protocol):
    """For Metadata, which may create the topics that it is asked for."""

    @property
    def controller(self) -> Controller: ...


class CoordinatorParts(GroupParts, TransactionParts, TopicMaking, Protocol):
    """For requests that concern several coordinators, and may create the topics that these write to."""

    @property
    def controller(self) -> Controller: ...

    @property
    def coordinators(self) -> Mapping[CoordinatorKind, Coordinator]: ...


class GroupDataParts(GroupParts, DataParts, Protocol):
    """For requests that commit the offsets of a group within a transaction."""
