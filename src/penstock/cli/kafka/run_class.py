"""`kafka-run-class`: Kafka's commands by the names of their Java classes, old and new."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Final

from penstock.cli.kafka.options import CommandFailed
from penstock.cli.kafka.starting import Body, script

_TOOLS: Final = "org.apache.kafka.tools."
CLASSES: Final = {
    f"{_TOOLS}TopicCommand": "topics:topics",
    "kafka.admin.TopicCommand": "topics:topics",
    f"{_TOOLS}ConsoleProducer": "console_producer:console_producer",
    "kafka.tools.ConsoleProducer": "console_producer:console_producer",
    f"{_TOOLS}consumer.ConsoleConsumer": "console_consumer:console_consumer",
    "kafka.tools.ConsoleConsumer": "console_consumer:console_consumer",
    f"{_TOOLS}consumer.group.ConsumerGroupCommand": "consumer_groups:consumer_groups",
    "kafka.admin.ConsumerGroupCommand": "consumer_groups:consumer_groups",
    f"{_TOOLS}ConfigCommand": "configs:configs",
    "kafka.admin.ConfigCommand": "configs:configs",
    f"{_TOOLS}DumpLogSegments": "dump_log:dump_log",
    "kafka.tools.DumpLogSegments": "dump_log:dump_log",
    f"{_TOOLS}LogDirsCommand": "log_dirs:log_dirs",
    "kafka.admin.LogDirsCommand": "log_dirs:log_dirs",
    f"{_TOOLS}DeleteRecordsCommand": "delete_records:delete_records",
    "kafka.admin.DeleteRecordsCommand": "delete_records:delete_records",
    f"{_TOOLS}LeaderElectionCommand": "leader_election:leader_election",
    "kafka.admin.LeaderElectionCommand": "leader_election:leader_election",
    "kafka.tools.StorageTool": "storage:storage",
    f"{_TOOLS}ClusterTool": "cluster:cluster",
    "kafka.tools.ClusterTool": "cluster:cluster",
    f"{_TOOLS}MetadataQuorumCommand": "metadata_quorum:metadata_quorum",
    f"{_TOOLS}BrokerApiVersionsCommand": "broker_api_versions:broker_api_versions",
    "kafka.admin.BrokerApiVersionsCommand": "broker_api_versions:broker_api_versions",
    f"{_TOOLS}FeatureCommand": "features:features",
    f"{_TOOLS}TransactionsCommand": "transactions:transactions",
    f"{_TOOLS}reassign.ReassignPartitionsCommand": "reassign_partitions:reassign_partitions",
    "kafka.admin.ReassignPartitionsCommand": "reassign_partitions:reassign_partitions",
    f"{_TOOLS}ProducerPerformance": "producer_perf_test:producer_perf_test",
    f"{_TOOLS}ConsumerPerformance": "consumer_perf_test:consumer_perf_test",
    "kafka.tools.ConsumerPerformance": "consumer_perf_test:consumer_perf_test",
    f"{_TOOLS}AclCommand": "acls:acls",
    "kafka.admin.AclCommand": "acls:acls",
    f"{_TOOLS}DelegationTokenCommand": "delegation_tokens:delegation_tokens",
    "kafka.admin.DelegationTokenCommand": "delegation_tokens:delegation_tokens",
    "kafka.Kafka": "server_start:server_start",
    f"{_TOOLS}StreamsResetter": "streams_application_reset:streams_application_reset",
    "kafka.tools.StreamsResetter": "streams_application_reset:streams_application_reset",
    f"{_TOOLS}consumer.ConsoleShareConsumer": "console_share_consumer:console_share_consumer",
    f"{_TOOLS}GroupsCommand": "groups:groups",
    f"{_TOOLS}EndToEndLatency": "e2e_latency:e2e_latency",
    "kafka.tools.EndToEndLatency": "e2e_latency:e2e_latency",
    "org.apache.kafka.connect.cli.ConnectDistributed": "connect_workers:connect_distributed",
    "org.apache.kafka.connect.cli.ConnectStandalone": "connect_workers:connect_standalone",
    f"{_TOOLS}GetOffsetShell": "get_offsets:get_offsets",
    "kafka.tools.GetOffsetShell": "get_offsets:get_offsets",
}
"""Where the command of each class is: module and function."""


def run_class(words: Sequence[str]) -> int:
    if not words:
        raise CommandFailed("USAGE: kafka-run-class [-daemon] [-name servicename] [-loggc] classname [opts]")
    name, *arguments = words
    where = CLASSES.get(name)
    if where is None:
        raise CommandFailed(
            f"Error: Could not find or load main class {name}. There is no Java here; these classes have "
            f"commands of ours: {', '.join(sorted(CLASSES))}"
        )
    module, _, function = where.partition(":")
    body: Body = getattr(import_module(f"penstock.cli.kafka.{module}"), function)
    return body(arguments) or 0


main = script(run_class)
