"""Access control entries with clients that we did not write, on one node and on three: Kafka's own tool and
librdkafka change them, and what they close is closed for everybody."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import (
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    AdminClient,
    NewPartitions,
    NewTopic,
    ResourcePatternType,
    ResourceType,
)

from penstock.settings.security import STANDARD_AUTHORIZER
from penstock.testing import Broker, Cluster
from tests.peers.java_programs import JavaPrograms

SECONDS = 30.0
SETTINGS = {"authorizer.class.name": STANDARD_AUTHORIZER, "allow.everyone.if.no.acl.found": "true"}
"""Every client is User:ANONYMOUS here; a name is closed by an entry of its own."""

ANYTHING = AclBindingFilter(
    ResourceType.ANY, None, ResourcePatternType.ANY, None, None, AclOperation.ANY, AclPermissionType.ANY
)


def deny(topic: str) -> AclBinding:
    return AclBinding(
        ResourceType.TOPIC,
        topic,
        ResourcePatternType.PREFIXED,
        "User:ANONYMOUS",
        "*",
        AclOperation.ALL,
        AclPermissionType.DENY,
    )


def code_of(admin: AdminClient, topic: str) -> int:
    """What the broker says of a topic."""
    error = admin.list_topics(topic, SECONDS).topics[topic].error
    return 0 if error is None else int(error.code())


def wait_for(admin: AdminClient, topic: str, code: int) -> None:
    """A broker learns of an entry when it has replayed the metadata log so far."""
    end = time.monotonic() + SECONDS
    while code_of(admin, topic) != code:
        assert time.monotonic() < end, f"{topic} is never answered with {code}"


def closes_and_opens(servers: list[str]) -> None:
    """One broker is told, and each of them obeys."""
    first = AdminClient({"bootstrap.servers": servers[0]})
    topics = [NewTopic(name, 1, 1) for name in ("closed-1", "open-1")]
    for made in first.create_topics(topics).values():
        made.result(SECONDS)
    for written in first.create_acls([deny("closed-")]).values():
        written.result(SECONDS)
    for address in servers:
        admin = AdminClient({"bootstrap.servers": address})
        wait_for(admin, "closed-1", KafkaError.TOPIC_AUTHORIZATION_FAILED)
        wait_for(admin, "open-1", 0)
        (found,) = admin.describe_acls(ANYTHING).result(SECONDS)
        assert (found.name, found.principal) == ("closed-", "User:ANONYMOUS")
        assert "closed-1" not in admin.list_topics(timeout=SECONDS).topics
    (refused,) = first.create_partitions([NewPartitions("closed-1", 2)]).values()
    with pytest.raises(KafkaException, match="TOPIC_AUTHORIZATION_FAILED"):
        refused.result(SECONDS)
    (deleted,) = first.delete_acls([ANYTHING]).values()
    assert len(deleted.result(SECONDS)) == 1
    wait_for(first, "closed-1", 0)


def test_librdkafka_closes_and_opens_names_on_one_node() -> None:
    with Broker(settings=SETTINGS) as broker:
        closes_and_opens([broker.bootstrap_servers])


@pytest.mark.timeout(180)
def test_librdkafka_closes_and_opens_names_on_three_nodes(tmp_path: Path) -> None:
    with Cluster(tmp_path, settings=SETTINGS) as cluster:
        closes_and_opens(cluster.bootstrap_servers.split(","))


def test_kafkas_own_tool_adds_lists_and_removes_entries(java_programs: JavaPrograms) -> None:
    with Broker(settings=SETTINGS) as broker:

        def acls(*words: str) -> str:
            servers = ("--bootstrap-server", broker.bootstrap_servers)
            return java_programs.run("org.apache.kafka.tools.AclCommand", *servers, *words)

        said = acls("--add", "--allow-principal", "User:alice", "--producer", "--topic", "orders")
        assert "Adding ACLs" in said
        listed = acls("--list", "--topic", "orders")
        assert all(word in listed for word in ("User:alice", "WRITE", "DESCRIBE", "CREATE"))
        acls("--remove", "--allow-principal", "User:alice", "--producer", "--topic", "orders", "--force")
        assert "User:alice" not in acls("--list")
