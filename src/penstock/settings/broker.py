"""Settings of one broker: those of Kafka 4 that mean something here, with defaults and meaning.

`BrokerSettings.load` is called once, by the command line or by a test's broker. Settings that give topics
their defaults (`log.retention.hours`, `message.max.bytes`, …) end in `topic_defaults`; the rules are in
`synonyms.py`. Kafka's settings that change nothing here are in `inert.py`.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from types import MappingProxyType
from typing import Any, Final

from penstock.settings import kinds
from penstock.settings.checks import check_broker
from penstock.settings.definition import Definition, definitions_of, field_name, setting
from penstock.settings.errors import SettingError
from penstock.settings.inert import why_inert
from penstock.settings.kinds import BOOLEAN, INT_MAX, LIST, STRING
from penstock.settings.listeners import DEFAULT_PROTOCOL_MAP, LISTENERS, PROTOCOL_MAP, Listener, protected
from penstock.settings.security import READ_ELSEWHERE, SecuritySettings
from penstock.settings.sources import collect
from penstock.settings.synonyms import derive_topic_defaults, synonym_definitions, synonym_text
from penstock.settings.topic import TopicSettings
from penstock.settings.voters import parse_voters

BROKER_ID: Final = "broker.id"

_log = logging.getLogger(__name__)


def _nothing_given() -> Mapping[str, str]:
    return MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerSettings(SecuritySettings):
    """How one broker works. `BrokerSettings()` has Kafka 4's defaults."""

    # fmt: off
    # Identity
    node_id: int = setting("node.id", kinds.int_(0), 1, "Number of this node in its cluster.")
    cluster_id: str | None = setting(
        "cluster.id", STRING, None,
        "Name of the cluster; when it is not given one is made and kept with the data.")
    metrics_listener: str | None = setting(
        "metrics.listener", STRING, None,
        "HOST:PORT where Prometheus may read this broker's metrics, at /metrics; nowhere when it is empty. "
        "Everybody who can connect can read them. Kafka has no such setting.")
    slow_request_ms: int = setting(
        "slow.request.ms", kinds.long(0), 1000,
        "A request that takes longer is logged by kafka.request.logger; 0 logs none. Waits that a client "
        "asks for, such as that of a Fetch, do not count. Kafka has no such setting.")
    broker_rack: str | None = setting(
        "broker.rack", STRING, None, "Rack of the broker, which clients learn.")
    process_roles: tuple[str, ...] = setting(
        "process.roles", kinds.words("broker", "controller"), ("broker", "controller"),
        "What this node does: serve clients, keep the metadata, or both.")
    controller_listener_names: tuple[str, ...] = setting(
        "controller.listener.names", LIST, (),
        "Listeners of controllers. They are opened where controller.quorum.voters is given.")
    controller_quorum_voters: tuple[str, ...] = setting(
        "controller.quorum.voters", LIST, (),
        "Nodes that keep the metadata, as id@host:port. Without them this node is the only one.")
    inter_broker_listener_name: str | None = setting(
        "inter.broker.listener.name", STRING, None,
        "Listener by which other brokers reach this one; the first for clients, when it is not given.")

    # The cluster
    controller_quorum_election_timeout_ms: int = setting(
        "controller.quorum.election.timeout.ms", kinds.int_(1), 1000,
        "Time for a round of votes; up to twice as long, by chance.")
    controller_quorum_fetch_timeout_ms: int = setting(
        "controller.quorum.fetch.timeout.ms", kinds.int_(1), 2000,
        "Silence after which voters elect another leader, and a leader without a majority stops.")
    controller_quorum_election_backoff_max_ms: int = setting(
        "controller.quorum.election.backoff.max.ms", kinds.int_(0), 1000,
        "Longest pause after an election that was lost.")
    controller_quorum_request_timeout_ms: int = setting(
        "controller.quorum.request.timeout.ms", kinds.int_(1), 2000,
        "Time for an answer among nodes of the quorum.")
    controller_quorum_retry_backoff_ms: int = setting(
        "controller.quorum.retry.backoff.ms", kinds.int_(0), 20, "Pause before a request is repeated.")
    metadata_log_max_record_bytes_between_snapshots: int = setting(
        "metadata.log.max.record.bytes.between.snapshots", kinds.long(1), 20_971_520,
        "Bytes of the metadata log after which a snapshot is written.")
    broker_heartbeat_interval_ms: int = setting(
        "broker.heartbeat.interval.ms", kinds.int_(1), 2000,
        "Time between two heartbeats to the controller.")
    broker_session_timeout_ms: int = setting(
        "broker.session.timeout.ms", kinds.int_(1), 9000,
        "Silence after which a broker is fenced: it leads nothing any more.")
    initial_broker_registration_timeout_ms: int = setting(
        "initial.broker.registration.timeout.ms", kinds.int_(1), 60_000,
        "Time for a starting broker to be registered; then it gives up.")
    controlled_shutdown_enable: bool = setting(
        "controlled.shutdown.enable", BOOLEAN, True, "Give leadership away before stopping.")
    auto_leader_rebalance_enable: bool = setting(
        "auto.leader.rebalance.enable", BOOLEAN, True, "Let preferred replicas lead again when they can.")
    leader_imbalance_check_interval_seconds: int = setting(
        "leader.imbalance.check.interval.seconds", kinds.long(1), 300,
        "Time between two looks for partitions whose preferred replica does not lead.")
    request_timeout_ms: int = setting(
        "request.timeout.ms", kinds.int_(1), 30_000, "Time for an answer of another node.")

    # Network
    listeners: tuple[Listener, ...] = setting(
        "listeners", LISTENERS, (Listener("PLAINTEXT", "", 9092),), "Addresses on which the broker listens.")
    advertised_listeners: tuple[Listener, ...] = setting(
        "advertised.listeners", LISTENERS, (),
        "Addresses that clients are given, when they are not those of listeners.")
    listener_security_protocol_map: tuple[tuple[str, str], ...] = setting(
        "listener.security.protocol.map", PROTOCOL_MAP, DEFAULT_PROTOCOL_MAP,
        "Protocol of each listener's name.")
    socket_send_buffer_bytes: int = setting(
        "socket.send.buffer.bytes", kinds.int_(-1), 73_728,
        "SO_SNDBUF of a connection; -1 is the system's choice. Room for two segments. Kafka has 102400.")
    socket_receive_buffer_bytes: int = setting(
        "socket.receive.buffer.bytes", kinds.int_(-1), -1,
        "SO_RCVBUF of a connection; -1 is the system's choice, which grows with the need. Kafka has 102400.")
    socket_request_max_bytes: int = setting(
        "socket.request.max.bytes", kinds.int_(1), 104_857_600,
        "Largest request; a larger one ends the connection.")
    queued_max_request_bytes: int = setting(
        "queued.max.request.bytes", kinds.long(-1), 268_435_456,
        "Memory for the large requests of all connections; -1 is without bound, which is Kafka's default. "
        "One request of socket.request.max.bytes always fits.")
    socket_listen_backlog_size: int = setting(
        "socket.listen.backlog.size", kinds.int_(1), 4096,
        "Connections that may wait to be accepted, if the system allows as many. Kafka has 50.")
    max_connections: int = setting(
        "max.connections", kinds.int_(0), INT_MAX,
        "Open connections allowed; above it new ones wait.", dynamic=True)
    max_connections_per_ip: int = setting(
        "max.connections.per.ip", kinds.int_(0), INT_MAX,
        "Open connections allowed from one address.", dynamic=True)
    max_connections_per_ip_overrides: tuple[tuple[str, int], ...] = setting(
        "max.connections.per.ip.overrides", kinds.COUNTS, (),
        "Exceptions to max.connections.per.ip, as host:number.", dynamic=True)
    max_connection_creation_rate: int = setting(
        "max.connection.creation.rate", kinds.int_(0), INT_MAX,
        "New connections accepted in a second.", dynamic=True)
    connections_max_idle_ms: int = setting(
        "connections.max.idle.ms", kinds.long(), 600_000,
        "Idle time after which a connection is closed; -1 is never.")

    # Topics
    num_partitions: int = setting(
        "num.partitions", kinds.int_(1), 1, "Partitions of a topic that is created without saying how many.")
    default_replication_factor: int = setting(
        "default.replication.factor", kinds.int_(1), 1,
        "Replicas of a topic that is created without saying how many.")
    auto_create_topics_enable: bool = setting(
        "auto.create.topics.enable", BOOLEAN, True, "Create a topic when a client first asks for it.")
    delete_topic_enable: bool = setting("delete.topic.enable", BOOLEAN, True, "Allow topics to be deleted.")

    # The log
    log_dirs: tuple[str, ...] = setting(
        "log.dirs", LIST, ("penstock-data",),
        "Directories of the logs; log.dir is used where this is not given.")
    log_retention_check_interval_ms: int = setting(
        "log.retention.check.interval.ms", kinds.long(1), 300_000,
        "Time between two looks for segments to delete.")
    log_flush_scheduler_interval_ms: int = setting(
        "log.flush.scheduler.interval.ms", kinds.long(1), kinds.LONG_MAX,
        "Time between two looks for logs to flush.")
    log_flush_offset_checkpoint_interval_ms: int = setting(
        "log.flush.offset.checkpoint.interval.ms", kinds.int_(0), 60_000,
        "Time between two writings of the recovery points.")
    log_flush_start_offset_checkpoint_interval_ms: int = setting(
        "log.flush.start.offset.checkpoint.interval.ms", kinds.int_(0), 60_000,
        "Time between two writings of the log start offsets.")
    log_cleaner_enable: bool = setting(
        "log.cleaner.enable", BOOLEAN, True, "Compact the logs that ask for it.")
    log_cleaner_threads: int = setting(
        "log.cleaner.threads", kinds.int_(0), 1, "Logs that may be compacted at once.", dynamic=True)
    log_cleaner_backoff_ms: int = setting(
        "log.cleaner.backoff.ms", kinds.long(0), 15_000,
        "Pause of the cleaner when there is nothing to clean.",
        dynamic=True)
    log_cleaner_dedupe_buffer_size: int = setting(
        "log.cleaner.dedupe.buffer.size", kinds.long(1_048_576), 134_217_728,
        "Memory for the keys that one compaction looks at.", dynamic=True)
    log_cleaner_io_max_bytes_per_second: float = setting(
        "log.cleaner.io.max.bytes.per.second", kinds.double(0), 1.7976931348623157e308,
        "Bytes that the cleaner reads and writes in a second.", dynamic=True)

    # Fetching
    fetch_max_bytes: int = setting(
        "fetch.max.bytes", kinds.int_(1024), 57_671_680,
        "Largest answer to a fetch, whatever the client asks for.")
    max_incremental_fetch_session_cache_slots: int = setting(
        "max.incremental.fetch.session.cache.slots", kinds.int_(0), 1000,
        "Fetch sessions that are remembered.")
    max_request_partition_size_limit: int = setting(
        "max.request.partition.size.limit", kinds.int_(1), 2000,
        "Partitions described in one answer to DescribeTopicPartitions.")

    # Groups and their offsets
    group_initial_rebalance_delay_ms: int = setting(
        "group.initial.rebalance.delay.ms", kinds.int_(0), 3000,
        "Time that a new group waits for more members.")
    group_min_session_timeout_ms: int = setting(
        "group.min.session.timeout.ms", kinds.int_(1), 6000, "Smallest session timeout a member may ask for.")
    group_max_session_timeout_ms: int = setting(
        "group.max.session.timeout.ms", kinds.int_(1), 1_800_000,
        "Largest session timeout a member may ask for.")
    group_max_size: int = setting("group.max.size", kinds.int_(1), INT_MAX, "Members of a classic group.")
    group_coordinator_rebalance_protocols: tuple[str, ...] = setting(
        "group.coordinator.rebalance.protocols", kinds.words("classic", "consumer", "share", "streams"),
        ("classic", "consumer", "share"), "Protocols of groups that are offered.")
    group_consumer_session_timeout_ms: int = setting(
        "group.consumer.session.timeout.ms", kinds.int_(1), 45_000,
        "Session timeout under the consumer protocol.")
    group_consumer_min_session_timeout_ms: int = setting(
        "group.consumer.min.session.timeout.ms", kinds.int_(1), 45_000,
        "Smallest session timeout of a group.")
    group_consumer_max_session_timeout_ms: int = setting(
        "group.consumer.max.session.timeout.ms", kinds.int_(1), 60_000, "Largest session timeout of a group.")
    group_consumer_heartbeat_interval_ms: int = setting(
        "group.consumer.heartbeat.interval.ms", kinds.int_(1), 5000,
        "Heartbeat interval that members are given.")
    group_consumer_min_heartbeat_interval_ms: int = setting(
        "group.consumer.min.heartbeat.interval.ms", kinds.int_(1), 5000,
        "Smallest heartbeat interval of a group.")
    group_consumer_max_heartbeat_interval_ms: int = setting(
        "group.consumer.max.heartbeat.interval.ms", kinds.int_(1), 15_000,
        "Largest heartbeat interval of a group.")
    group_consumer_max_size: int = setting(
        "group.consumer.max.size", kinds.int_(1), INT_MAX, "Members of a group under the consumer protocol.")
    group_consumer_assignors: tuple[str, ...] = setting(
        "group.consumer.assignors", LIST, ("uniform", "range"),
        "Assignors on the broker's side, the default first.")
    group_consumer_migration_policy: str = setting(
        "group.consumer.migration.policy", kinds.one_of("bidirectional", "upgrade", "downgrade", "disabled"),
        "bidirectional", "Whether a group may change between the classic and the consumer protocol.")
    group_share_session_timeout_ms: int = setting(
        "group.share.session.timeout.ms", kinds.int_(1), 45_000,
        "Session timeout of members of share groups.")
    group_share_min_session_timeout_ms: int = setting(
        "group.share.min.session.timeout.ms", kinds.int_(1), 45_000,
        "Smallest session timeout of a share group.")
    group_share_max_session_timeout_ms: int = setting(
        "group.share.max.session.timeout.ms", kinds.int_(1), 60_000,
        "Largest session timeout of a share group.")
    group_share_heartbeat_interval_ms: int = setting(
        "group.share.heartbeat.interval.ms", kinds.int_(1), 5000,
        "Heartbeat interval that members of share groups are given.")
    group_share_min_heartbeat_interval_ms: int = setting(
        "group.share.min.heartbeat.interval.ms", kinds.int_(1), 5000,
        "Smallest heartbeat interval of a share group.")
    group_share_max_heartbeat_interval_ms: int = setting(
        "group.share.max.heartbeat.interval.ms", kinds.int_(1), 15_000,
        "Largest heartbeat interval of a share group.")
    group_share_max_size: int = setting(
        "group.share.max.size", kinds.int_(1, 1000), 200, "Members of a share group.")
    group_share_assignors: tuple[str, ...] = setting(
        "group.share.assignors", LIST, ("simple",), "The assignor of share groups; there is one.")
    group_share_delivery_count_limit: int = setting(
        "group.share.delivery.count.limit", kinds.int_(2, 10), 5,
        "How often a record is delivered to a share group before it is given up.")
    group_share_record_lock_duration_ms: int = setting(
        "group.share.record.lock.duration.ms", kinds.int_(1000, 3_600_000), 30_000,
        "How long a member of a share group may keep a record that it has not acknowledged.")
    group_share_min_record_lock_duration_ms: int = setting(
        "group.share.min.record.lock.duration.ms", kinds.int_(1000, 30_000), 15_000,
        "Smallest such time of a share group.")
    group_share_max_record_lock_duration_ms: int = setting(
        "group.share.max.record.lock.duration.ms", kinds.int_(30_000, 3_600_000), 60_000,
        "Largest such time of a share group.")
    group_share_partition_max_record_locks: int = setting(
        "group.share.partition.max.record.locks", kinds.int_(100, 10_000), 2000,
        "Records of a partition that a share group may have in flight.")
    group_share_max_share_sessions: int = setting(
        "group.share.max.share.sessions", kinds.int_(1), 2000, "Sessions of members of share groups.")
    share_coordinator_state_topic_num_partitions: int = setting(
        "share.coordinator.state.topic.num.partitions", kinds.int_(1), 50,
        "Partitions of __share_group_state.")
    share_coordinator_state_topic_replication_factor: int = setting(
        "share.coordinator.state.topic.replication.factor", kinds.short(1), 3,
        "Replicas of __share_group_state, or as many as there are brokers.")
    share_coordinator_state_topic_min_isr: int = setting(
        "share.coordinator.state.topic.min.isr", kinds.short(1), 2,
        "Replicas of __share_group_state that must have a record before it counts, or as many as there are.")
    share_coordinator_state_topic_segment_bytes: int = setting(
        "share.coordinator.state.topic.segment.bytes", kinds.int_(1), 104_857_600,
        "Segment size of __share_group_state.")
    share_coordinator_state_topic_compression_codec: int = setting(
        "share.coordinator.state.topic.compression.codec", kinds.int_(0, 4), 0,
        "Codec number of what is written to __share_group_state.")
    offset_metadata_max_bytes: int = setting(
        "offset.metadata.max.bytes", kinds.int_(0), 4096, "Largest metadata text of a committed offset.")
    offsets_commit_timeout_ms: int = setting(
        "offsets.commit.timeout.ms", kinds.int_(1), 5_000,
        "How long a request waits until the change of a group or a transaction is on all replicas.")
    offsets_topic_num_partitions: int = setting(
        "offsets.topic.num.partitions", kinds.int_(1), 50, "Partitions of __consumer_offsets.")
    offsets_topic_replication_factor: int = setting(
        "offsets.topic.replication.factor", kinds.short(1), 3,
        "Replicas of __consumer_offsets, or as many as there are brokers.")
    offsets_topic_segment_bytes: int = setting(
        "offsets.topic.segment.bytes", kinds.int_(1), 104_857_600, "Segment size of __consumer_offsets.")
    offsets_topic_compression_codec: int = setting(
        "offsets.topic.compression.codec", kinds.int_(0, 4), 0,
        "Codec number of what is written to __consumer_offsets.")
    offsets_retention_minutes: int = setting(
        "offsets.retention.minutes", kinds.int_(1), 10_080,
        "Age at which offsets of a group without members expire.")
    offsets_retention_check_interval_ms: int = setting(
        "offsets.retention.check.interval.ms", kinds.long(1), 600_000,
        "Time between two looks for expired offsets.")

    # Producers and transactions
    producer_id_expiration_ms: int = setting(
        "producer.id.expiration.ms", kinds.int_(1), 86_400_000,
        "Idle time after which a producer is forgotten.",
        dynamic=True)
    producer_id_expiration_check_interval_ms: int = setting(
        "producer.id.expiration.check.interval.ms", kinds.int_(1), 600_000,
        "Time between two looks for such producers.")
    transaction_max_timeout_ms: int = setting(
        "transaction.max.timeout.ms", kinds.int_(1), 900_000,
        "Largest transaction timeout a producer may ask for.")
    transactional_id_expiration_ms: int = setting(
        "transactional.id.expiration.ms", kinds.int_(1), 604_800_000,
        "Idle time after which a transactional id is forgotten.")
    transaction_state_log_num_partitions: int = setting(
        "transaction.state.log.num.partitions", kinds.int_(1), 50, "Partitions of __transaction_state.")
    transaction_state_log_replication_factor: int = setting(
        "transaction.state.log.replication.factor", kinds.short(1), 3,
        "Replicas of __transaction_state, or as many as there are brokers.")
    transaction_state_log_min_isr: int = setting(
        "transaction.state.log.min.isr", kinds.int_(1), 2,
        "Replicas of __transaction_state that must have a record before it counts, or as many as there are.")
    transaction_state_log_segment_bytes: int = setting(
        "transaction.state.log.segment.bytes", kinds.int_(1), 104_857_600,
        "Segment size of __transaction_state.")
    transaction_remove_expired_transaction_cleanup_interval_ms: int = setting(
        "transaction.remove.expired.transaction.cleanup.interval.ms", kinds.int_(1), 3_600_000,
        "Time between two looks for transactional ids that have expired.")
    transaction_partition_verification_enable: bool = setting(
        "transaction.partition.verification.enable", BOOLEAN, True,
        "Check that a partition belongs to the transaction that writes to it.", dynamic=True)
    add_partitions_to_txn_retry_backoff_ms: int = setting(
        "add.partitions.to.txn.retry.backoff.ms", kinds.int_(1), 20,
        "Time before the coordinator is asked again whether the last transaction of a producer has ended.")
    add_partitions_to_txn_retry_backoff_max_ms: int = setting(
        "add.partitions.to.txn.retry.backoff.max.ms", kinds.int_(0), 100,
        "How long it is asked before the producer has to send its batch again.")

    # Replication
    replica_lag_time_max_ms: int = setting(
        "replica.lag.time.max.ms", kinds.long(1), 30_000,
        "A follower that has not caught up for so long leaves the ISR.")
    replica_fetch_wait_max_ms: int = setting(
        "replica.fetch.wait.max.ms", kinds.int_(1), 500,
        "How long a leader holds a follower's fetch when there is nothing new.")
    replica_fetch_min_bytes: int = setting(
        "replica.fetch.min.bytes", kinds.int_(0), 1, "Bytes for which a leader holds a follower's fetch.")
    replica_fetch_max_bytes: int = setting(
        "replica.fetch.max.bytes", kinds.int_(0), 1_048_576,
        "Bytes of one partition in an answer to a follower; a larger batch comes whole.")
    replica_fetch_response_max_bytes: int = setting(
        "replica.fetch.response.max.bytes", kinds.int_(0), 10_485_760,
        "Bytes of a whole answer to a follower.")
    replica_fetch_backoff_ms: int = setting(
        "replica.fetch.backoff.ms", kinds.int_(0), 1000,
        "Longest pause before a follower asks again for a partition that failed.")
    replica_socket_timeout_ms: int = setting(
        "replica.socket.timeout.ms", kinds.int_(1), 30_000,
        "How long a follower waits for an answer of its leader.")
    leader_replication_throttled_rate: int = setting(
        "leader.replication.throttled.rate", kinds.long(0), kinds.LONG_MAX,
        "Bytes a second sent to throttled replicas that are not in sync.", dynamic=True)
    follower_replication_throttled_rate: int = setting(
        "follower.replication.throttled.rate", kinds.long(0), kinds.LONG_MAX,
        "Bytes a second taken by throttled replicas that are not in sync.", dynamic=True)
    num_replica_fetchers: int = setting(
        "num.replica.fetchers", kinds.int_(1), 1, "Threads that fetch from each other broker.")
    replica_high_watermark_checkpoint_interval_ms: int = setting(
        "replica.high.watermark.checkpoint.interval.ms", kinds.long(1), 5_000,
        "Time between two writes of the high watermarks to disk.")
    replica_selector_class: str | None = setting(
        "replica.selector.class", STRING, None,
        "org.apache.kafka.common.replica.RackAwareReplicaSelector lets consumers read in their own rack.")

    # Quotas
    quota_window_num: int = setting(
        "quota.window.num", kinds.int_(1), 11, "Samples kept for a client's quota.")
    quota_window_size_seconds: int = setting(
        "quota.window.size.seconds", kinds.int_(1), 1, "Length of a sample.")
    controller_quota_window_num: int = setting(
        "controller.quota.window.num", kinds.int_(1), 11,
        "Samples kept for the quota of controller mutations.")
    controller_quota_window_size_seconds: int = setting(
        "controller.quota.window.size.seconds", kinds.int_(1), 1, "Length of such a sample.")
    # fmt: on

    topic_defaults: TopicSettings = field(default_factory=TopicSettings)
    """What a topic has that says nothing else."""
    given: Mapping[str, str] = field(default_factory=_nothing_given, compare=False, repr=False)
    """What was given anywhere, as text: these are STATIC_BROKER_CONFIG, all others DEFAULT_CONFIG."""

    @staticmethod
    def load(
        properties_path: str | None, overrides: Mapping[str, str], environ: Mapping[str, str]
    ) -> BrokerSettings:
        """Settings from a properties file, `KAFKA_…` variables and overrides, the strongest last."""
        return BrokerSettings.from_texts(collect(properties_path, overrides, environ))

    @staticmethod
    def from_texts(given: Mapping[str, str]) -> BrokerSettings:
        """Settings from texts under Kafka's names. Raises SettingError; warns of unknown names."""
        texts = _with_old_names(given)
        parsed: dict[str, Any] = {}
        own = definitions_of(BrokerSettings)
        for name, text in texts.items():
            if name in own:
                parsed[field_name(name)] = own[name].parse(text)
            elif name not in synonym_definitions():
                _tell(name)
        settings = BrokerSettings(
            **parsed, topic_defaults=derive_topic_defaults(texts), given=MappingProxyType(dict(given))
        )
        check_broker(settings)
        return settings

    def overridden(self, texts: Mapping[str, str]) -> BrokerSettings:
        """These settings with some changed while the broker runs. Raises SettingError."""
        own = definitions_of(BrokerSettings)
        parsed = {field_name(name): own[name].parse(text) for name, text in texts.items() if name in own}
        given = {**self.given, **texts}
        settings = replace(
            self,
            **parsed,
            topic_defaults=derive_topic_defaults(_with_old_names(given)),
            given=MappingProxyType(given),
        )
        check_broker(settings)
        return settings

    @property
    def message_max_bytes(self) -> int:
        """Largest record batch where a topic does not say otherwise."""
        return self.topic_defaults.max_message_bytes

    @property
    def client_listeners(self) -> tuple[Listener, ...]:
        """The listeners for clients: all but those that nodes would use among themselves."""
        reserved = {name.upper() for name in self.controller_listener_names}
        found = (listener for listener in self.listeners if listener.name not in reserved)
        return protected(found, self.listener_security_protocol_map)

    @property
    def controller_listeners(self) -> tuple[Listener, ...]:
        """Those on which a controller serves other nodes."""
        if not self.voters or "controller" not in self.process_roles:
            return ()
        reserved = {name.upper() for name in self.controller_listener_names}
        found = (listener for listener in self.listeners if listener.name in reserved)
        return protected(found, self.listener_security_protocol_map)

    @property
    def voters(self) -> Mapping[int, tuple[str, int]]:
        """Host and port of each node that keeps the metadata; empty on a node that is alone."""
        return parse_voters(self.controller_quorum_voters)

    @property
    def is_alone(self) -> bool:
        """Whether this node is the only one that keeps the metadata."""
        return not self.voters or self.voters.keys() == {self.node_id}

    @property
    def inter_broker_listener(self) -> str:
        """The name of the listener by which brokers reach each other."""
        return self.inter_broker_listener_name or self.client_listeners[0].name

    def text(self, name: str) -> str | None:
        """The value of one setting in Kafka's text form; None when it has none."""
        row = broker_definitions().get(name)
        if row is None:
            message = f"Unknown broker config name: {name}"
            raise SettingError(message, setting=name, value=None, allowed="a broker setting of Kafka 4")
        if name == BROKER_ID:
            return str(self.node_id)
        if name in synonym_definitions():
            return synonym_text(row, self.given, self.topic_defaults)
        return row.render(getattr(self, field_name(name)))


@cache
def broker_definitions() -> Mapping[str, Definition]:
    """Every broker setting that means something here, by name, in alphabetical order."""
    old = Definition(BROKER_ID, kinds.int_(), -1, "The older name of node.id.", read_only=True)
    return dict(sorted({**definitions_of(BrokerSettings), **synonym_definitions(), BROKER_ID: old}.items()))


def _with_old_names(given: Mapping[str, str]) -> dict[str, str]:
    """`broker.id` and `log.dir` say what `node.id` and `log.dirs` say, where these are not given."""
    texts = dict(given)
    for old, new in ((BROKER_ID, "node.id"), ("log.dir", "log.dirs")):
        text = texts.pop(old, None)
        if text is not None and new not in texts:
            texts[new] = text
    if texts.get("node.id", "").strip() == "-1":
        del texts["node.id"]
    return texts


def _tell(name: str) -> None:
    if name.startswith(READ_ELSEWHERE):
        return
    reason = why_inert(name)
    if reason is None:
        _log.warning("Unknown setting %s: it is ignored", name)
    else:
        _log.info("The setting %s has no effect: %s", name, reason)
