"""Access control entries on one node: made, described, deleted, kept; and what they open and close."""

from __future__ import annotations

from typing import Any, Self

import pytest

from penstock.protocol.apis import Api
from penstock.protocol.errors import ErrorCode
from penstock.security.acls import PatternType, Permission
from penstock.security.operations import Operation, ResourceType
from penstock.security.principals import Principal, user
from penstock.settings.security import STANDARD_AUTHORIZER
from tests.handlers.one_node import OneNode

SECURED = {
    "authorizer.class.name": STANDARD_AUTHORIZER,
    "super.users": "User:admin; User:ANONYMOUS",
    "listener.security.protocol.map": "PLAINTEXT:SASL_PLAINTEXT",  # sessions get their principals from tests
    "delegation.token.secret.key": "key",
}
ALICE = user("alice")


class Guarded(OneNode):
    """A node with an authorizer. `ask` is the admin's; `as_` asks as somebody else."""

    def __init__(self, settings: dict[str, str] | None = None) -> None:
        super().__init__({**SECURED, **(settings or {})})

    def as_(self, principal: Principal, host: str = "10.0.0.1") -> Self:
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__)
        other.session = self.connect(principal, host)
        return other

    def allow(
        self,
        operation: Operation,
        resource: ResourceType,
        name: str = "kafka-cluster",
        *,
        principal: str = "User:alice",
        permission: Permission = Permission.ALLOW,
        pattern: PatternType = PatternType.LITERAL,
    ) -> None:
        (result,) = self.create(entry(operation, resource, name, principal, permission, pattern))
        assert result.error_code == 0, result

    def create(self, *entries: dict[str, Any], version: int = 3) -> Any:
        return self.ask(Api.CREATE_ACLS, version, creations=entries).results

    def describe(self, version: int = 3, **wanted: Any) -> list[tuple[str, str]]:
        """Names and principals of the entries that match."""
        answer = self.ask(Api.DESCRIBE_ACLS, version, **{**EVERYTHING, **wanted})
        assert answer.error_code == 0, answer
        return [(one.resource_name, acl.principal) for one in answer.resources for acl in one.acls]


EVERYTHING: dict[str, Any] = {
    "resource_type_filter": ResourceType.ANY,
    "resource_name_filter": None,
    "pattern_type_filter": PatternType.ANY,
    "principal_filter": None,
    "host_filter": None,
    "operation": Operation.ANY,
    "permission_type": Permission.ANY,
}


def entry(
    operation: Operation,
    resource: ResourceType,
    name: str,
    principal: str = "User:alice",
    permission: Permission = Permission.ALLOW,
    pattern: PatternType = PatternType.LITERAL,
) -> dict[str, Any]:
    return {
        "resource_type": resource,
        "resource_name": name,
        "resource_pattern_type": pattern,
        "principal": principal,
        "host": "*",
        "operation": operation,
        "permission_type": permission,
    }


@pytest.mark.parametrize("version", [1, 2, 3])
def test_entries_are_made_described_and_deleted_in_every_version(version: int) -> None:
    node = Guarded()
    rows = [entry(Operation.READ, ResourceType.TOPIC, name) for name in ("a", "b", "a")]
    assert [one.error_code for one in node.create(*rows, version=version)] == [0, 0, 0]
    assert sorted(node.describe(version)) == [("a", "User:alice"), ("b", "User:alice")]
    assert node.describe(version, resource_name_filter="a") == [("a", "User:alice")]
    filters = [{**EVERYTHING, "resource_name_filter": "a"}, {**EVERYTHING, "resource_name_filter": "x"}]
    answer = node.ask(Api.DELETE_ACLS, version, filters=filters)
    assert [len(one.matching_acls) for one in answer.filter_results] == [1, 0]
    assert node.describe(version) == [("b", "User:alice")]


def test_entries_survive_a_restart_and_a_snapshot() -> None:
    node = Guarded()
    node.allow(Operation.READ, ResourceType.TOPIC, "t")
    node.broker.controller.write_snapshot()
    node.allow(Operation.WRITE, ResourceType.TOPIC, "u")
    node.restart(killed=True)
    assert sorted(node.describe()) == [("t", "User:alice"), ("u", "User:alice")]


@pytest.mark.parametrize(
    "wrong",
    [
        {"resource_type": ResourceType.ANY},
        {"resource_type": 99},
        {"resource_name": ""},
        {"resource_pattern_type": PatternType.MATCH},
        {"operation": Operation.ANY},
        {"operation": 0},
        {"permission_type": Permission.ANY},
        {"principal": "alice"},
        {"resource_type": ResourceType.CLUSTER},
    ],
)
def test_an_entry_that_means_nothing_is_refused_and_its_neighbours_are_made(wrong: dict[str, Any]) -> None:
    node = Guarded()
    good = entry(Operation.READ, ResourceType.TOPIC, "t")
    results = node.create({**good, **wrong}, good)
    assert [one.error_code for one in results] == [ErrorCode.INVALID_REQUEST, 0]
    assert results[0].error_message
    assert node.describe() == [("t", "User:alice")]


def test_without_an_authorizer_there_are_no_entries() -> None:
    node = OneNode()
    answer = node.ask(Api.DESCRIBE_ACLS, 3, **EVERYTHING)
    assert answer.error_code == ErrorCode.SECURITY_DISABLED
    rows = [entry(Operation.READ, ResourceType.TOPIC, "t")]
    (made,) = node.ask(Api.CREATE_ACLS, 3, creations=rows).results
    (gone,) = node.ask(Api.DELETE_ACLS, 3, filters=[EVERYTHING]).filter_results
    assert made.error_code == gone.error_code == ErrorCode.SECURITY_DISABLED


def test_only_those_who_may_see_and_change_entries() -> None:
    node = Guarded()
    alice = node.as_(ALICE)
    denied = ErrorCode.CLUSTER_AUTHORIZATION_FAILED
    assert alice.ask(Api.DESCRIBE_ACLS, 3, **EVERYTHING).error_code == denied
    assert alice.create(entry(Operation.ALL, ResourceType.TOPIC, "*"))[0].error_code == denied
    assert alice.ask(Api.DELETE_ACLS, 3, filters=[EVERYTHING]).filter_results[0].error_code == denied
    node.allow(Operation.ALTER, ResourceType.CLUSTER)
    assert alice.create(entry(Operation.READ, ResourceType.TOPIC, "t"))[0].error_code == 0
    assert len(alice.describe()) == 2  # ALTER implies DESCRIBE


METADATA: dict[str, Any] = {
    "allow_auto_topic_creation": False,
    "include_cluster_authorized_operations": True,
    "include_topic_authorized_operations": True,
}


def metadata(node: OneNode, *names: str, create: bool = False) -> Any:
    topics = [{"name": name, "topic_id": None} for name in names] if names else None
    fields = {**METADATA, "allow_auto_topic_creation": create, "topics": topics}
    return node.ask(Api.METADATA, 12, **fields)


def test_names_that_may_not_be_described_are_not_revealed() -> None:
    node = Guarded()
    for name in ("mine", "secret"):
        node.create_topic(name)
    node.allow(Operation.READ, ResourceType.TOPIC, "mine")
    alice = node.as_(ALICE)
    everything = metadata(alice)
    assert [topic.name for topic in everything.topics] == ["mine"]
    assert everything.topics[0].topic_authorized_operations == 1 << Operation.READ | 1 << Operation.DESCRIBE
    named = metadata(alice, "secret", "absent")
    assert {(topic.error_code, topic.topic_id) for topic in named.topics} == {
        (ErrorCode.TOPIC_AUTHORIZATION_FAILED, None)
    }
    fields = {"include_cluster_authorized_operations": True, "endpoint_type": 1}
    assert alice.ask(Api.DESCRIBE_CLUSTER, 1, **fields).cluster_authorized_operations == 0
    deleted = alice.ask(
        Api.DELETE_TOPICS, 5, topic_names=["secret", "absent", "mine"], timeout=1000
    ).responses
    assert {one.error_code for one in deleted} == {ErrorCode.TOPIC_AUTHORIZATION_FAILED}


def test_a_topic_known_by_its_id_keeps_its_name_to_itself() -> None:
    node = Guarded()
    topic_id = node.create_topic("secret")
    alice = node.as_(ALICE)
    topics = [{"name": None, "topic_id": topic_id}]
    (seen,) = alice.ask(Api.METADATA, 12, **{**METADATA, "topics": topics}).topics
    assert (seen.error_code, seen.name) == (ErrorCode.TOPIC_AUTHORIZATION_FAILED, None)
    (kept,) = alice.ask(Api.DELETE_TOPICS, 6, topics=topics, timeout=1000).responses
    assert (kept.error_code, kept.name) == (ErrorCode.TOPIC_AUTHORIZATION_FAILED, None)


def create(node: OneNode, name: str) -> Any:
    topic = {"name": name, "num_partitions": 1, "replication_factor": 1, "assignments": (), "configs": ()}
    return node.ask(Api.CREATE_TOPICS, 7, topics=[topic], timeout=1000, validate_only=False).topics[0]


def test_topics_are_made_by_a_right_on_the_cluster_or_on_the_name() -> None:
    node = Guarded()
    alice = node.as_(ALICE)
    assert create(alice, "a").error_code == ErrorCode.TOPIC_AUTHORIZATION_FAILED
    node.allow(Operation.CREATE, ResourceType.TOPIC, "al", pattern=PatternType.PREFIXED)
    made = create(alice, "alpha")
    assert (made.error_code, made.num_partitions, made.configs) == (0, -1, ())
    assert made.topic_config_error_code == ErrorCode.TOPIC_AUTHORIZATION_FAILED
    node.allow(Operation.CREATE, ResourceType.CLUSTER)
    node.allow(Operation.DESCRIBE_CONFIGS, ResourceType.TOPIC, "*")
    made = create(alice, "beta")
    assert (made.error_code, made.num_partitions) == (0, 1)
    assert made.configs


def test_a_producer_without_transactions_needs_some_topic_to_write_to() -> None:
    node = Guarded()
    alice = node.as_(ALICE)
    fields: dict[str, Any] = {
        "transactional_id": None,
        "transaction_timeout": 1000,
        "producer_id": -1,
        "producer_epoch": -1,
    }
    denied = alice.ask(Api.INIT_PRODUCER_ID, 4, **fields)
    assert denied.error_code == ErrorCode.CLUSTER_AUTHORIZATION_FAILED
    node.allow(Operation.WRITE, ResourceType.TOPIC, "logs-", pattern=PatternType.PREFIXED)
    assert alice.ask(Api.INIT_PRODUCER_ID, 4, **fields).error_code == 0


def test_a_replica_that_fetches_needs_the_right_of_a_node() -> None:
    node = Guarded()
    topic_id = node.create_topic("t")
    node.allow(Operation.READ, ResourceType.TOPIC, "t")
    partition = {
        "partition": 0,
        "current_leader_epoch": -1,
        "fetch_offset": 0,
        "last_fetched_epoch": -1,
        "log_start_offset": -1,
        "partition_max_bytes": 1000,
    }

    def fetch(principal: Principal, replica_id: int) -> ErrorCode:
        answer = node.as_(principal).ask(
            Api.FETCH,
            13,
            replica_id=replica_id,
            max_wait=0,
            min_bytes=0,
            max_bytes=1000,
            isolation_level=0,
            session_id=0,
            session_epoch=-1,
            topics=[{"topic_id": topic_id, "partitions": [partition]}],
            forgotten_topics_data=(),
            rack_id="",
        )
        return ErrorCode(answer.responses[0].partitions[0].error_code)

    assert fetch(ALICE, -1) == ErrorCode.NONE
    assert fetch(ALICE, 7) == ErrorCode.TOPIC_AUTHORIZATION_FAILED
    assert fetch(user("bob"), -1) == ErrorCode.TOPIC_AUTHORIZATION_FAILED


def test_a_denial_closes_what_a_wildcard_opens() -> None:
    node = Guarded()
    node.create_topic("t")
    node.allow(Operation.ALL, ResourceType.TOPIC, "*", principal="User:*")
    alice = node.as_(ALICE)
    assert metadata(alice, "t").topics[0].error_code == 0
    node.allow(Operation.DESCRIBE, ResourceType.TOPIC, "t", permission=Permission.DENY)
    assert metadata(alice, "t").topics[0].error_code == ErrorCode.TOPIC_AUTHORIZATION_FAILED
    assert metadata(node.as_(user("bob")), "t").topics[0].error_code == 0
