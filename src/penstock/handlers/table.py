"""Which handler serves which API, in which versions. What is announced to clients is read off this table."""

from __future__ import annotations

from types import ModuleType
from typing import Final

from penstock.handlers import (
    add_offsets_to_txn,
    add_partitions_to_txn,
    alter_client_quotas,
    alter_configs,
    api_versions,
    consumer_group_describe,
    consumer_group_heartbeat,
    create_partitions,
    create_topics,
    delete_groups,
    delete_records,
    delete_topics,
    describe_client_quotas,
    describe_cluster,
    describe_configs,
    describe_groups,
    describe_log_dirs,
    describe_producers,
    describe_quorum,
    describe_topic_partitions,
    describe_transactions,
    end_txn,
    fetch,
    find_coordinator,
    heartbeat,
    incremental_alter_configs,
    init_producer_id,
    join_group,
    leave_group,
    list_config_resources,
    list_groups,
    list_offsets,
    list_transactions,
    metadata,
    offset_commit,
    offset_delete,
    offset_fetch,
    offset_for_leader_epoch,
    produce,
    sync_group,
    txn_offset_commit,
    write_txn_markers,
)
from penstock.protocol.api_versions import ApiRange
from penstock.protocol.apis import Api

HANDLERS: Final[dict[Api, ModuleType]] = {
    Api.PRODUCE: produce,
    Api.FETCH: fetch,
    Api.LIST_OFFSETS: list_offsets,
    Api.METADATA: metadata,
    Api.OFFSET_COMMIT: offset_commit,
    Api.OFFSET_FETCH: offset_fetch,
    Api.FIND_COORDINATOR: find_coordinator,
    Api.JOIN_GROUP: join_group,
    Api.HEARTBEAT: heartbeat,
    Api.LEAVE_GROUP: leave_group,
    Api.SYNC_GROUP: sync_group,
    Api.DESCRIBE_GROUPS: describe_groups,
    Api.LIST_GROUPS: list_groups,
    Api.API_VERSIONS: api_versions,
    Api.CREATE_TOPICS: create_topics,
    Api.DELETE_TOPICS: delete_topics,
    Api.DELETE_RECORDS: delete_records,
    Api.INIT_PRODUCER_ID: init_producer_id,
    Api.OFFSET_FOR_LEADER_EPOCH: offset_for_leader_epoch,
    Api.ADD_PARTITIONS_TO_TXN: add_partitions_to_txn,
    Api.ADD_OFFSETS_TO_TXN: add_offsets_to_txn,
    Api.END_TXN: end_txn,
    Api.TXN_OFFSET_COMMIT: txn_offset_commit,
    Api.DESCRIBE_CONFIGS: describe_configs,
    Api.ALTER_CONFIGS: alter_configs,
    Api.DESCRIBE_LOG_DIRS: describe_log_dirs,
    Api.CREATE_PARTITIONS: create_partitions,
    Api.INCREMENTAL_ALTER_CONFIGS: incremental_alter_configs,
    Api.DESCRIBE_PRODUCERS: describe_producers,
    Api.DESCRIBE_QUORUM: describe_quorum,
    Api.WRITE_TXN_MARKERS: write_txn_markers,
    Api.DESCRIBE_TRANSACTIONS: describe_transactions,
    Api.LIST_TRANSACTIONS: list_transactions,
    Api.LIST_CONFIG_RESOURCES: list_config_resources,
    Api.DESCRIBE_TOPIC_PARTITIONS: describe_topic_partitions,
    Api.DELETE_GROUPS: delete_groups,
    Api.OFFSET_DELETE: offset_delete,
    Api.DESCRIBE_CLIENT_QUOTAS: describe_client_quotas,
    Api.ALTER_CLIENT_QUOTAS: alter_client_quotas,
    Api.DESCRIBE_CLUSTER: describe_cluster,
    Api.CONSUMER_GROUP_HEARTBEAT: consumer_group_heartbeat,
    Api.CONSUMER_GROUP_DESCRIBE: consumer_group_describe,
}

FORWARDED: Final = frozenset(
    {
        Api.CREATE_TOPICS,
        Api.DELETE_TOPICS,
        Api.CREATE_PARTITIONS,
        Api.ALTER_CONFIGS,
        Api.INCREMENTAL_ALTER_CONFIGS,
        Api.ALTER_CLIENT_QUOTAS,
        Api.DESCRIBE_QUORUM,
    }
)
"""What the active controller decides: any broker takes it, and brings it there."""


def served() -> tuple[ApiRange, ...]:
    """Every API with its lowest and highest version."""
    return tuple(ApiRange(api, *module.VERSIONS) for api, module in HANDLERS.items())
