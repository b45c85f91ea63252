"""One node put together: disk and clock go in, a broker that handlers can serve comes out. No sockets and no
threads here.

`server.main` builds it on the machine's disk and clock, the simulator on its own.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from random import Random
from uuid import UUID

from penstock.clock import Clock
from penstock.controller.brokers import Registration
from penstock.controller.channel import ControllerChannel
from penstock.controller.controller import METADATA_TOPIC, METADATA_TOPIC_ID, Controller
from penstock.controller.image import Image
from penstock.controller.membership import Membership
from penstock.controller.producer_ids import ProducerIds
from penstock.controller.quorum import Quorum
from penstock.coordinator.coordinator import Coordinator, CoordinatorKind
from penstock.groups.coordinator import GroupCoordinator
from penstock.groups.settings import GroupSettings
from penstock.handlers.broker import Broker
from penstock.handlers.cluster_nodes import reached
from penstock.handlers.controller_table import served_by_controllers
from penstock.handlers.fetching.sessions import FetchSessions
from penstock.handlers.table import served
from penstock.metrics.broker import BrokerMetrics
from penstock.protocol.metadata import Node as Endpoint
from penstock.quotas.clients import ClientQuotas
from penstock.quotas.rates import Window
from penstock.raft.timeouts import Timeouts
from penstock.replication.partitions import Partitions
from penstock.replication.surroundings import Surroundings
from penstock.replication.throttle import ReplicationThrottle
from penstock.security.authorizer import AllowAll, Authorizer
from penstock.security.standard_authorizer import StandardAuthorizer
from penstock.server.cluster.broker_life import BrokerLife, registered_endpoints
from penstock.server.cluster.cluster_markers import Asks, ClusterMarkers
from penstock.server.cluster.isr_changes import IsrChanges
from penstock.server.cluster.local_channel import LocalChannel
from penstock.server.cluster.local_markers import LocalMarkers
from penstock.server.cluster.peers import Peers
from penstock.server.cluster.producer_id_blocks import allocate_producer_ids
from penstock.server.cluster.replica_directories import ReplicaDirectories
from penstock.server.cluster.replica_fetchers import ReplicaFetchers, Replicas
from penstock.server.cluster.transactions_anywhere import TransactionsAnywhere
from penstock.server.following.coordinators import CoordinatorFollower, ImageTopics
from penstock.server.following.follower import Fetchers, MetadataFollower
from penstock.server.following.quota_follower import QuotaFollower
from penstock.server.following.settings_follower import SettingsFollower
from penstock.settings import BrokerSettings, TopicSettings
from penstock.settings.errors import invalid
from penstock.storage.cleaner import LogCleaner
from penstock.storage.disk import Disk
from penstock.storage.errors import StorageError
from penstock.storage.log import Log
from penstock.storage.logs import Logs
from penstock.storage.meta import read_meta
from penstock.storage.together import Together, one_by_one
from penstock.transactions.coordinator import TRANSACTIONS_TOPIC, TransactionCoordinator
from penstock.transactions.settings import TransactionSettings
from penstock.wire.connection import Address


class Node:
    """A broker and controller in one, on one disk. Open when constructed; `close` is the clean shutdown."""

    def __init__(
        self,
        settings: BrokerSettings,
        disk: Disk,
        clock: Clock,
        random: Random,
        endpoints: Mapping[str, Endpoint],
        channel_to: Callable[[Controller], ControllerChannel] | None = None,
        fetchers_of: Callable[[Replicas], Fetchers] | None = None,
        together: Together = one_by_one,
        peers_of: Callable[[Callable[[int], Address | None]], Asks] | None = None,
    ) -> None:
        """Without `channel_to` this node is the only one, and has registered itself when this returns. The
        simulator has fetchers and a way to other brokers of its own, and one thread."""
        self._random = random
        self._logs = _logs(settings, disk, clock, random, together)
        self._logs.open_directories()
        self._partitions = Partitions(lambda *place: _exists(self.broker.controller, *place))
        self._endpoints = endpoints
        controller = Controller(self._quorum(settings, disk, clock, random))
        membership = Membership(controller, self._logs.cluster_id, clock, settings)
        channel = channel_to(controller) if channel_to is not None else LocalChannel()
        topics = ImageTopics(controller)
        groups = GroupCoordinator(GroupSettings.of(settings), clock, topics, self._new_member_suffix)
        self.peers = Peers(self._address_of, settings.node_id)
        peers = self.peers if peers_of is None else peers_of(self._address_of)

        def leader_of(topic: str, index: int) -> int | None:
            return _leader(controller, topic, index)

        producer_ids = ProducerIds(lambda: allocate_producer_ids(self.broker))
        local_markers = LocalMarkers(self._partitions, groups, lambda *place: _exists(controller, *place))
        transactions = TransactionCoordinator(
            TransactionSettings.of(settings),
            clock,
            lambda: _partition_count(controller, TRANSACTIONS_TOPIC),
            producer_ids.next,
            ClusterMarkers(settings.node_id, local_markers, peers, leader_of),
        )
        self.broker = Broker(
            settings=settings,
            static_settings=settings,
            clock=clock,
            cluster_id=self._logs.cluster_id,
            controller=controller,
            channel=channel,
            membership=membership,
            producer_ids=producer_ids,
            logs=self._logs,
            partitions=self._partitions,
            groups=groups,
            transactions=transactions,
            coordinators=_by_kind(groups, transactions),
            verifier=TransactionsAnywhere(settings.node_id, transactions, peers, leader_of),
            authorizer=_authorizer(settings, controller),
            quotas=_quotas(settings, clock),
            metrics=_metrics(clock, self._logs),
            fetch_sessions=FetchSessions(settings.max_incremental_fetch_session_cache_slots, random),
            apis=served(),
            controller_apis=served_by_controllers(),
            new_topic_id=self._new_topic_id,
            endpoints=endpoints,
        )
        self.isr_changes = IsrChanges(settings.node_id, self._broker_epoch, self.broker.metrics.isrs)
        replicas = self._replicas(settings, clock)
        self.fetchers = ReplicaFetchers(replicas)
        fetchers = self.fetchers if fetchers_of is None else fetchers_of(replicas)
        self._follower = MetadataFollower(
            self.broker, self._logs, self._surroundings(clock), fetchers, together
        )
        coordinators = self.broker.coordinators
        self._coordinators = CoordinatorFollower(settings.node_id, self._partitions, coordinators)
        controller.watch(SettingsFollower(self.broker, self._logs))
        controller.watch(QuotaFollower(self.broker.quotas))
        self.cleaner = LogCleaner(self._logs, clock, random, lambda: self.broker.settings)
        if isinstance(channel, LocalChannel):
            channel.broker = self.broker
            self._register()
            self.open()

    def open(self) -> None:
        """Open the logs and serve them from now on. The metadata must be followed up to the present: what
        is not in it is taken for a stray, and how a log is recovered depends on its topic's settings."""
        controller = self.broker.controller
        self._logs.open_logs(self._settings_of)
        controller.watch(self._follower)
        controller.watch(self._coordinators)
        self._set_strays_aside()

    def _broker_epoch(self) -> int:
        """In which life this broker is: the offset of its registration."""
        return self.broker.broker_epoch

    def _address_of(self, node_id: int) -> Address | None:
        """Where another broker listens for this one."""
        state = self.broker.controller.image.brokers.get(node_id)
        if state is None:
            return None
        node = reached(state, self.broker.settings.inter_broker_listener)
        return None if node is None else Address(node.host, node.port)

    def _replicas(self, settings: BrokerSettings, clock: Clock) -> Replicas:
        traffic = self.broker.metrics.traffic
        return Replicas(settings, clock, self._address_of, self._broker_epoch, traffic=traffic)

    def _surroundings(self, clock: Clock) -> Surroundings:
        broker = self.broker
        return Surroundings(
            broker.settings.node_id,
            clock,
            lambda: broker.settings.replica_lag_time_max_ms / 1000,
            lambda node, epoch: _may_join(broker.controller, node, epoch),
            self.isr_changes.wanted,
            ReplicationThrottle(clock, lambda: broker.settings.leader_replication_throttled_rate),
            ReplicationThrottle(clock, lambda: broker.settings.follower_replication_throttled_rate),
        )

    def tick(self) -> None:
        """Housekeeping: flush what was rolled, write checkpoints, drop what is past its retention, make
        logs that found no space."""
        self._logs.tick()
        self.broker.metrics.traffic.forget_others(self.broker.controller.image.topics)
        self.broker.metrics.tick(self.broker.clock.monotonic())
        if self._follower.waits_for_space:
            self.broker.controller.refresh(self._follower, self._coordinators)

    @property
    def log_failures(self) -> Sequence[StorageError]:
        """Why log directories are offline."""
        return self._logs.failures()

    @property
    def disabling_failure(self) -> StorageError | None:
        """Why this node has no part in its cluster any more: the directory of its metadata has failed, or all
        have."""
        metadata = self._logs.get(METADATA_TOPIC, 0)
        if metadata is not None and metadata.directory.failure is not None:
            return metadata.directory.failure
        return self._logs.failures()[0] if self.has_no_log_directory else None

    @property
    def has_no_log_directory(self) -> bool:
        """Whether all of them have failed."""
        return len(self._logs.failures()) == len(self._logs.directories)

    def on_disk_failure(self, tell: Callable[[], None]) -> None:
        """Call `tell` whenever a log directory fails."""
        self._logs.on_failure(tell)

    def close(self) -> None:
        """Everything durable, and marked so that the next start need not check it."""
        self._logs.close(self.broker.broker_epoch)

    def life(self) -> BrokerLife:
        """The life of this broker in a cluster, to be led by a thread or the simulator."""
        return BrokerLife(
            self.broker,
            self._new_topic_id(),
            self._logs.left_broker_epoch,
            ReplicaDirectories(
                self.broker.settings.node_id, self._logs, self._partitions, self.broker.controller
            ),
            self.open,
        )

    def _register(self) -> None:
        """A node that is alone has followed everything, and serves at once. Nobody asks for its directories:
        no other node could lead what was in one that fails."""
        settings = self.broker.settings
        wish = Registration(
            settings.node_id,
            self.broker.cluster_id,
            self._new_topic_id(),
            registered_endpoints(self._endpoints),
            settings.broker_rack,
            self._logs.left_broker_epoch,
        )
        self.broker.broker_epoch = self.broker.membership.register(wish, fenced=False).result()

    def _quorum(self, settings: BrokerSettings, disk: Disk, clock: Clock, random: Random) -> Quorum:
        return Quorum(
            self._metadata_log(),
            disk,
            clock,
            random,
            settings.node_id,
            voters=frozenset(settings.voters),
            timeouts=_timeouts(settings),
            snapshot_after_bytes=settings.metadata_log_max_record_bytes_between_snapshots,
        )

    def _settings_of(self, topic: str) -> TopicSettings:
        overrides = self.broker.controller.image.topic_config(topic)
        return TopicSettings.from_overrides(overrides, self.broker.settings.topic_defaults)

    def _set_strays_aside(self) -> None:
        """Logs that the metadata does not give to this broker stand aside, as in Kafka.

        Mostly a topic was deleted or a replica moved while this broker was down. But the metadata may also be
        that of another cluster, or older than the logs. Nothing is deleted, because these look alike: a
        person decides.
        """
        image = self.broker.controller.image
        for topic, index in self._logs.all():
            if topic != METADATA_TOPIC and self._partitions.find(topic, index) is None:
                self._logs.set_aside(topic, index, _why_stray(image, topic, index))
        self._logs.warn_of_strays()

    def _metadata_log(self) -> Log:
        # A creation of thousands of partitions is one batch, and must stay one: it is decided as one.
        # Nothing of it expires by age: it goes when a snapshot holds what it says.
        settings = dataclasses.replace(
            TopicSettings(), max_message_bytes=2**31 - 1, retention_ms=-1, retention_bytes=-1
        )
        self._logs.open_logs(lambda _: settings, only=METADATA_TOPIC)
        return self._logs.get_or_create(METADATA_TOPIC, 0, METADATA_TOPIC_ID, settings)

    def _new_topic_id(self) -> bytes:
        """A random UUID (version 4)."""
        value = bytearray(self._random.randbytes(16))
        value[6] = value[6] & 0x0F | 0x40
        value[8] = value[8] & 0x3F | 0x80
        return bytes(value)

    def _new_member_suffix(self) -> str:
        return str(UUID(bytes=self._new_topic_id()))


def _logs(settings: BrokerSettings, disk: Disk, clock: Clock, random: Random, together: Together) -> Logs:
    if not (settings.is_alone or settings.cluster_id or any(read_meta(disk, at) for at in settings.log_dirs)):
        # Nodes that each made up a name would never find together.
        why = "an empty directory of a cluster's node is given the cluster's name"
        raise invalid("cluster.id", None, why, "one name, the same for all nodes")
    return Logs(
        disk,
        settings.log_dirs,
        clock,
        random=random,
        node_id=settings.node_id,
        cluster_id=settings.cluster_id,
        retention_check_interval_ms=settings.log_retention_check_interval_ms,
        checkpoint_interval_ms=settings.replica_high_watermark_checkpoint_interval_ms,
        producer_expiration_ms=settings.producer_id_expiration_ms,
        verifying=settings.transaction_partition_verification_enable,
        together=together,
    )


def _by_kind(
    groups: GroupCoordinator, transactions: TransactionCoordinator
) -> Mapping[CoordinatorKind, Coordinator]:
    """Every coordinator of this broker."""
    return {CoordinatorKind.GROUP: groups, CoordinatorKind.TRANSACTION: transactions}


def _timeouts(settings: BrokerSettings) -> Timeouts:
    return Timeouts(
        election_timeout_ms=settings.controller_quorum_election_timeout_ms,
        fetch_timeout_ms=settings.controller_quorum_fetch_timeout_ms,
        election_backoff_max_ms=settings.controller_quorum_election_backoff_max_ms,
        request_timeout_ms=settings.controller_quorum_request_timeout_ms,
        retry_backoff_ms=settings.controller_quorum_retry_backoff_ms,
    )


def _partition_count(controller: Controller, topic: str) -> int | None:
    state = controller.image.topics.get(topic)
    return None if state is None else len(state.partitions)


def _leader(controller: Controller, topic: str, index: int) -> int | None:
    state = controller.image.topics.get(topic)
    if state is None or not 0 <= index < len(state.partitions) or state.partitions[index].leader < 0:
        return None
    return state.partitions[index].leader


def _may_join(controller: Controller, node: int, epoch: int) -> bool:
    """Whether this life of a broker may be in an ISR."""
    broker = controller.image.brokers.get(node)
    return broker is not None and broker.is_active and epoch == broker.broker_epoch


def _why_stray(image: Image, topic: str, index: int) -> str:
    state = image.topics.get(topic)
    if state is None or index >= len(state.partitions):
        return "the metadata has no such partition"
    replicas = ", ".join(map(str, state.partitions[index].replicas))
    return f"its replicas are on other brokers now ({replicas})"


def _authorizer(settings: BrokerSettings, controller: Controller) -> Authorizer:
    if not settings.authorizer_class_name:
        return AllowAll()
    return StandardAuthorizer(
        lambda: controller.image.acls,
        settings.super_user_names,
        allow_if_no_acl=settings.allow_everyone_if_no_acl_found,
    )


def _exists(controller: Controller, topic: str, index: int) -> bool:
    return 0 <= index < (_partition_count(controller, topic) or 0)


def _metrics(clock: Clock, logs: Logs) -> BrokerMetrics:
    metrics = BrokerMetrics(clock.monotonic())
    metrics.histograms += [directory.flushes for directory in logs.directories]
    return metrics


def _quotas(settings: BrokerSettings, clock: Clock) -> ClientQuotas:
    return ClientQuotas(
        clock,
        Window(settings.quota_window_num, settings.quota_window_size_seconds * 1000),
        Window(settings.controller_quota_window_num, settings.controller_quota_window_size_seconds * 1000),
    )
