"""Which handler serves which API, in which versions. What is announced to clients is read off this table."""

from __future__ import annotations

from types import ModuleType
from typing import Final

from penstock.handlers import (
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
    describe_topic_partitions,
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
    metadata,
    offset_commit,
    offset_delete,
    offset_fetch,
    offset_for_leader_epoch,
    produce,
    sync_group,
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
    Api.DESCRIBE_CONFIGS: describe_configs,
    Api.ALTER_CONFIGS: alter_configs,
    Api.DESCRIBE_LOG_DIRS: describe_log_dirs,
    Api.CREATE_PARTITIONS: create_partitions,
    Api.INCREMENTAL_ALTER_CONFIGS: incremental_alter_configs,
    Api.DESCRIBE_PRODUCERS: describe_producers,
    Api.WRITE_TXN_MARKERS: write_txn_markers,
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


def served() -> tuple[ApiRange, ...]:
    """Every API with its lowest and highest version."""
    return tuple(ApiRange(api, *module.VERSIONS) for api, module in HANDLERS.items())
