"""One node put together: disk and clock go in, a broker that handlers can serve comes out. No sockets and no
threads here.

`server.main` builds it on the machine's disk and clock, the simulator on its own. The parts are built in
`server.composition`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from random import Random

from penstock.clock import Clock
from penstock.controller.brokers import Registration
from penstock.controller.channel import ControllerChannel
from penstock.controller.controller import METADATA_TOPIC, Controller
from penstock.controller.membership import Membership
from penstock.controller.producer_ids import ProducerIds
from penstock.controller.token_expiry import TokenExpiry
from penstock.handlers.broker import Broker
from penstock.handlers.controller_table import served_by_controllers
from penstock.handlers.fetching.sessions import FetchSessions
from penstock.handlers.table import served
from penstock.metrics.broker import BrokerMetrics
from penstock.protocol.metadata import Node as Endpoint
from penstock.quotas.clients import ClientQuotas
from penstock.quotas.rates import Window
from penstock.replication.partitions import Partitions
from penstock.security.authorizer import AllowAll, Authorizer
from penstock.security.standard_authorizer import StandardAuthorizer
from penstock.server.cluster.broker_life import BrokerLife, registered_endpoints
from penstock.server.cluster.cluster_markers import Asks
from penstock.server.cluster.local_channel import LocalChannel
from penstock.server.cluster.node_security import to_brokers
from penstock.server.cluster.peers import Peers
from penstock.server.cluster.producer_id_blocks import allocate_producer_ids
from penstock.server.cluster.replica_directories import ReplicaDirectories
from penstock.server.cluster.replica_fetchers import Replicas
from penstock.server.composition.coordinators import Coordinators, build_coordinators, build_share
from penstock.server.composition.ground import Ground
from penstock.server.composition.metadata import Questions, build_controller
from penstock.server.composition.replication import build_replication
from penstock.server.composition.storage import build_logs
from penstock.server.following.coordinators import CoordinatorFollower, ImageTopics
from penstock.server.following.follower import Fetchers
from penstock.server.following.quota_follower import QuotaFollower
from penstock.server.following.settings_follower import SettingsFollower
from penstock.settings import BrokerSettings, TopicSettings
from penstock.storage.cleaner import LogCleaner
from penstock.storage.disk import Disk
from penstock.storage.errors import StorageError
from penstock.storage.logs import Logs
from penstock.storage.tail import kind_on
from penstock.storage.together import Together, one_by_one
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
        self._ground = ground = Ground(settings, disk, clock, random, together)
        self._endpoints = endpoints
        self._logs = build_logs(ground)
        controller = build_controller(ground, self._logs)
        listener = settings.inter_broker_listener if settings.client_listeners else None
        self._questions = questions = Questions(controller, listener)
        self._partitions = Partitions(questions.exists, kind_on(disk))
        self.peers = Peers(questions.address_of, settings.node_id, to_brokers(settings))
        peers = self.peers if peers_of is None else peers_of(questions.address_of)
        producer_ids = ProducerIds(lambda: allocate_producer_ids(self.broker))
        coordinators = build_coordinators(
            ground, questions, ImageTopics(controller), self._partitions, peers, producer_ids.next
        )
        channel = channel_to(controller) if channel_to is not None else LocalChannel()
        self.broker = self._broker(controller, channel, producer_ids, coordinators)
        replication = build_replication(ground, questions, self._logs, self.broker, fetchers_of)
        self.isr_changes, self.fetchers, self._follower = replication
        self.broker.metrics.before_reading.append(self._partitions.settle)
        self._coordinators = CoordinatorFollower(settings.node_id, self._partitions, self.broker.coordinators)
        controller.watch(SettingsFollower(self.broker, self._logs))
        controller.watch(QuotaFollower(self.broker.quotas))
        self._token_expiry = TokenExpiry(
            controller, clock, settings.delegation_token_expiry_check_interval_ms
        )
        self.cleaner = LogCleaner(self._logs, clock, random, lambda: self.broker.settings)
        if isinstance(channel, LocalChannel):
            channel.broker = self.broker
            self._register()
            self.open()

    def _broker(
        self,
        controller: Controller,
        channel: ControllerChannel,
        producer_ids: ProducerIds,
        coordinators: Coordinators,
    ) -> Broker:
        """What handlers see of this node."""
        settings, clock, random = self._ground.settings, self._ground.clock, self._ground.random
        return Broker(
            settings=settings,
            static_settings=settings,
            clock=clock,
            cluster_id=self._logs.cluster_id,
            controller=controller,
            channel=channel,
            membership=Membership(controller, self._logs.cluster_id, clock, settings),
            producer_ids=producer_ids,
            logs=self._logs,
            partitions=self._partitions,
            groups=coordinators.groups,
            transactions=coordinators.transactions,
            coordinators=coordinators.by_kind,
            verifier=coordinators.verifier,
            share=build_share(self._ground, self._questions, coordinators),
            authorizer=_authorizer(settings, controller),
            quotas=_quotas(settings, clock),
            metrics=_metrics(clock, self._logs),
            fetch_sessions=FetchSessions(settings.max_incremental_fetch_session_cache_slots, random),
            apis=served(),
            controller_apis=served_by_controllers(),
            new_topic_id=self._ground.new_id,
            endpoints=self._endpoints,
        )

    def open(self) -> None:
        """Open the logs and serve them from now on. The metadata must be followed up to the present: what
        is not in it is taken for a stray, and how a log is recovered depends on its topic's settings."""
        controller = self.broker.controller
        self._logs.open_logs(self._settings_of)
        controller.watch(self._follower)
        controller.watch(self._coordinators)
        self._set_strays_aside()

    def tick(self) -> None:
        """Housekeeping: flush what was rolled, write checkpoints, drop what is past its retention, make
        logs that found no space, remove tokens that have expired."""
        self._logs.tick()
        self._token_expiry.tick()
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
            self._ground.new_id(),
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
            self._ground.new_id(),
            registered_endpoints(self._endpoints, settings),
            settings.broker_rack,
            self._logs.left_broker_epoch,
        )
        self.broker.broker_epoch = self.broker.membership.register(wish, fenced=False).result()

    def _settings_of(self, topic: str) -> TopicSettings:
        overrides = self.broker.controller.image.topic_config(topic)
        return TopicSettings.from_overrides(overrides, self.broker.settings.topic_defaults)

    def _set_strays_aside(self) -> None:
        """Logs that the metadata does not give to this broker stand aside, as in Kafka.

        Mostly a topic was deleted or a replica moved while this broker was down. But the metadata may also be
        that of another cluster, or older than the logs. Nothing is deleted, because these look alike: a
        person decides.
        """
        for topic, index in self._logs.all():
            if topic != METADATA_TOPIC and self._partitions.find(topic, index) is None:
                self._logs.set_aside(topic, index, self._questions.why_stray(topic, index))
        self._logs.warn_of_strays()


def _authorizer(settings: BrokerSettings, controller: Controller) -> Authorizer:
    if not settings.authorizer_class_name:
        return AllowAll()
    return StandardAuthorizer(
        lambda: controller.image.acls,
        settings.super_user_names,
        allow_if_no_acl=settings.allow_everyone_if_no_acl_found,
    )


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
