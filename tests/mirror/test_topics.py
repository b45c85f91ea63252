"""What the target must have for the topics of the source."""

from __future__ import annotations

from penstock.client.api.admin.access import AclBinding
from penstock.client.api.admin.configs import AlterConfigOp, ConfigEntry
from penstock.mirror.filters import Selection
from penstock.mirror.topics import Growth, config_changes, creation_config, missing, target_acls

SELECTION = Selection.of({"source.cluster.alias": "A", "target.cluster.alias": "B"})
ENTRIES = (
    ConfigEntry("retention.ms", "1000", "DYNAMIC_TOPIC_CONFIG"),
    ConfigEntry("cleanup.policy", "delete", "DEFAULT_CONFIG"),
    ConfigEntry("segment.bytes", "1", "STATIC_BROKER_CONFIG"),
    ConfigEntry("min.insync.replicas", "2", "DYNAMIC_TOPIC_CONFIG"),
    ConfigEntry("secret", None, "DYNAMIC_TOPIC_CONFIG", is_sensitive=True),
    ConfigEntry("fixed", "x", "DYNAMIC_TOPIC_CONFIG", is_read_only=True),
)


def test_topics_and_partitions_that_are_missing_are_found_and_circles_are_not() -> None:
    source = {"orders": 3, "events": 2, "same": 1, "B.mirrored": 4, "C.B.twice": 1, "C.new": 1, "__x": 1}
    target = {"A.events": 1, "A.same": 5, "orders": 9}

    assert missing(source, target, SELECTION) == Growth({"orders": 3, "C.new": 1}, {"events": 2})


def test_configurations_are_created_and_synced_without_those_that_belong_to_a_cluster() -> None:
    assert creation_config(ENTRIES, SELECTION) == {"retention.ms": "1000"}
    assert config_changes(ENTRIES, SELECTION) == [
        AlterConfigOp("retention.ms", "1000", "SET"),
        AlterConfigOp("cleanup.policy", "delete", "DELETE"),
    ]


def test_defaults_may_come_from_the_source() -> None:
    texts = {"source.cluster.alias": "A", "target.cluster.alias": "B", "use.defaults.from": "source"}

    assert creation_config(ENTRIES, Selection.of(texts)) == {
        "retention.ms": "1000",
        "cleanup.policy": "delete",
    }


def test_nobody_but_the_mirror_may_write() -> None:
    acls = [
        AclBinding("TOPIC", "orders", operation="READ"),
        AclBinding("TOPIC", "orders", operation="WRITE"),
        AclBinding("TOPIC", "orders", operation="WRITE", permission_type="DENY"),
        AclBinding("TOPIC", "orders", operation="ALL"),
        AclBinding("TOPIC", "orders", operation="ALL", permission_type="DENY"),
        AclBinding("TOPIC", "ord", "PREFIXED", operation="READ"),
        AclBinding("GROUP", "orders", operation="READ"),
        AclBinding("TOPIC", "B.orders", operation="READ"),
    ]

    assert target_acls(acls, SELECTION) == [
        AclBinding("TOPIC", "A.orders", operation="READ"),
        AclBinding("TOPIC", "A.orders", operation="WRITE", permission_type="DENY"),
        AclBinding("TOPIC", "A.orders", operation="READ"),
        AclBinding("TOPIC", "A.orders", operation="ALL", permission_type="DENY"),
    ]
