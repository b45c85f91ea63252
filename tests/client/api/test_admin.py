"""Every call of `Admin` against a real broker."""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from penstock.client import Admin, Consumer, OffsetAndMetadata, Producer, TopicPartition
from penstock.client.api import broker_errors as errors
from penstock.client.api.admin.access import (
    AclBinding,
    AclBindingFilter,
    ClientQuotaAlteration,
    ClientQuotaFilterComponent,
    ScramCredentialInfo,
    UserScramCredentialDeletion,
    UserScramCredentialUpsertion,
)
from penstock.client.api.admin.cluster import FeatureUpdate, RaftVoterEndpoint
from penstock.client.api.admin.configs import AlterConfigOp, ConfigResource
from penstock.client.api.admin.groups import MemberToRemove
from penstock.client.api.admin.replicas import TopicPartitionReplica
from penstock.client.api.admin.topics import NewPartitions, NewTopic, OffsetSpec
from penstock.client.api.admin.transactions import AbortTransactionSpec
from penstock.client.api.exceptions import (
    ApiException,
    ConfigException,
    IllegalStateException,
    InvalidRequestException,
    InvalidTopicException,
    ProducerFencedException,
    TimeoutException,
    TopicExistsException,
    UnknownMemberIdException,
    UnknownTopicOrPartitionException,
    UnsupportedVersionException,
)
from tests.client.api.conftest import poll_until

SECONDS = 20.0


@pytest.fixture
def admin(bootstrap: str) -> Iterator[Admin]:
    with Admin({"bootstrap.servers": bootstrap, "default.api.timeout.ms": 15_000}) as made:
        yield made


def filled(bootstrap: str, topic: str, count: int = 10) -> None:
    with Producer({"bootstrap.servers": bootstrap}) as producer:
        for number in range(count):
            producer.send(topic, str(number).encode(), timestamp=1000 + number)


def in_time(ask: Callable[[], Any], wanted: Callable[[Any], bool]) -> Any:
    """What a broker says a moment later."""
    deadline = time.monotonic() + SECONDS
    while True:
        found = ask()
        if wanted(found) or time.monotonic() > deadline:
            return found
        time.sleep(0.05)


def test_topics_are_created_listed_described_grown_and_deleted(admin: Admin) -> None:
    name = f"made-{uuid.uuid4().hex}"
    made = admin.create_topics([NewTopic(name, 2, 1, configs={"retention.ms": "1000"})])
    assert made.result(SECONDS)[name].num_partitions == 2
    assert made.num_partitions(name).result(0) == 2
    assert made.replication_factor(name).result(0) == 1
    assert made.topic_id(name).result(0) is not None
    assert made.config(name).result(0)["retention.ms"] == "1000"
    assert in_time(lambda: admin.list_topics().names().result(SECONDS), lambda found: name in found)
    listing = admin.list_topics().names_to_listings().result(SECONDS)[name]
    assert listing.topic_id == made.topic_id(name).result(0)
    assert listing in admin.list_topics().listings().result(SECONDS)

    admin.create_partitions({name: NewPartitions.increase_to(3)}).result(SECONDS)
    described = in_time(
        lambda: admin.describe_topics([name]).all_topic_names().result(SECONDS)[name],
        lambda found: len(found.partitions) == 3,
    )
    assert [each.partition for each in described.partitions] == [0, 1, 2]
    assert all(each.leader in each.isr for each in described.partitions)

    admin.delete_topics([name]).all().result(SECONDS)
    gone = in_time(
        lambda: admin.describe_topics([name]).topic_name_values()[name].exception(SECONDS),
        lambda found: found is not None,
    )
    assert type(gone) is UnknownTopicOrPartitionException


def test_each_topic_has_a_future_of_its_own(admin: Admin, topic: str) -> None:
    good = f"good-{uuid.uuid4().hex}"
    result = admin.create_topics([NewTopic(topic, 1, 1), NewTopic(good, 1, 1), NewTopic("not/good", 1, 1)])
    assert type(result.values()[topic].exception(SECONDS)) is TopicExistsException
    assert type(result.values()["not/good"].exception(SECONDS)) is InvalidTopicException
    assert result.values()[good].result(SECONDS).num_partitions == 1
    assert result.all().exception(SECONDS) is not None


def test_a_validated_topic_is_not_created(admin: Admin) -> None:
    name = f"tried-{uuid.uuid4().hex}"
    admin.create_topics([NewTopic(name, 1, 1)], validate_only=True).result(SECONDS)
    assert name not in admin.list_topics().names().result(SECONDS)


def test_a_call_that_the_broker_refuses_fails_with_javas_exception(admin: Admin, topic: str) -> None:
    too_many = admin.create_topics([NewTopic("wide", 1, 7)]).values()["wide"].exception(SECONDS)
    assert type(too_many) is errors.InvalidReplicationFactorException
    fewer = admin.create_partitions({topic: NewPartitions.increase_to(1)}).values()[topic]
    assert type(fewer.exception(SECONDS)) is errors.InvalidPartitionsException
    wrong = ConfigResource("TOPIC", topic)
    refused = admin.incremental_alter_configs({wrong: [AlterConfigOp("no.such.setting", "1")]})
    assert type(refused.values()[wrong].exception(SECONDS)) is errors.InvalidConfigurationException


def test_settings_are_described_and_changed_one_by_one(admin: Admin, topic: str) -> None:
    owner = ConfigResource("TOPIC", topic)
    admin.incremental_alter_configs(
        {owner: [AlterConfigOp("retention.ms", "5000"), AlterConfigOp("cleanup.policy", "compact", "APPEND")]}
    ).result(SECONDS)
    found = in_time(
        lambda: admin.describe_configs([owner], include_synonyms=True).result(SECONDS)[owner],
        lambda found: found["retention.ms"].value == "5000",
    )
    assert set(str(found["cleanup.policy"].value).split(",")) == {"delete", "compact"}
    assert found["retention.ms"].source == "DYNAMIC_TOPIC_CONFIG"
    assert found["retention.ms"].synonyms[0][1] == "5000"
    assert found["segment.ms"].is_default
    admin.incremental_alter_configs({owner: [AlterConfigOp("retention.ms", op_type="DELETE")]}).result(
        SECONDS
    )
    back = in_time(
        lambda: admin.describe_configs([owner]).result(SECONDS)[owner]["retention.ms"],
        lambda found: found.value != "5000",
    )
    assert back.is_default


def test_settings_of_a_broker_and_of_all_brokers(admin: Admin) -> None:
    (node,) = admin.describe_cluster().nodes().result(SECONDS)
    one, every = ConfigResource("BROKER", str(node.id)), ConfigResource("BROKER", "")
    changes = {every: [AlterConfigOp("log.retention.ms", "777000")]}
    admin.incremental_alter_configs(changes).result(SECONDS)
    found = in_time(
        lambda: admin.describe_configs([one]).result(SECONDS)[one]["log.retention.ms"],
        lambda found: found.value == "777000",
    )
    assert found.source == "DYNAMIC_DEFAULT_BROKER_CONFIG"
    assert admin.describe_configs([every]).result(SECONDS)[every]["log.retention.ms"].value == "777000"
    admin.incremental_alter_configs({every: [AlterConfigOp("log.retention.ms", None, "DELETE")]}).result(
        SECONDS
    )
    assert one in admin.list_config_resources(["BROKER"]).result(SECONDS)


def test_records_are_deleted_up_to_an_offset(bootstrap: str, admin: Admin, topic: str) -> None:
    filled(bootstrap, topic)
    at, missing = TopicPartition(topic, 0), TopicPartition(topic, 9)
    assert admin.delete_records({at: 4}).low_watermarks()[at].result(SECONDS) == 4
    offsets = admin.list_offsets({at: OffsetSpec.earliest()}).partition_result(at).result(SECONDS)
    assert offsets.offset == 4
    too_far = admin.delete_records({at: 999}).values()[at].exception(SECONDS)
    assert too_far is not None
    assert "OFFSET_OUT_OF_RANGE" in str(too_far)
    nowhere = admin.delete_records({missing: 1}, timeout=1).values()[missing].exception(SECONDS)
    assert isinstance(nowhere, UnknownTopicOrPartitionException | TimeoutException)


def test_offsets_are_listed_by_time(bootstrap: str, admin: Admin, topic: str) -> None:
    filled(bootstrap, topic)
    at = TopicPartition(topic, 0)

    def of(spec: OffsetSpec) -> tuple[int, int]:
        found = admin.list_offsets({at: spec}).result(SECONDS)[at]
        return found.offset, found.timestamp

    assert of(OffsetSpec.earliest())[0] == 0
    assert of(OffsetSpec.latest())[0] == 10
    assert of(OffsetSpec.for_timestamp(1003)) == (3, 1003)
    assert of(OffsetSpec.max_timestamp()) == (9, 1009)


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_a_group_is_listed_described_and_deleted(
    bootstrap: str, admin: Admin, topic: str, protocol: str
) -> None:
    filled(bootstrap, topic, 3)
    group, at = f"group-{uuid.uuid4().hex}", TopicPartition(topic, 0)
    settings = {"bootstrap.servers": bootstrap, "group.id": group, "auto.offset.reset": "earliest"}
    with Consumer({**settings, "group.protocol": protocol, "client.id": "the-reader"}) as consumer:
        consumer.subscribe([topic])
        assert len(poll_until(consumer, 3)) == 3
        consumer.commit_sync()
        listed = admin.list_consumer_groups().all().result(SECONDS)
        mine = next(each for each in listed if each.group_id == group)
        assert str(mine.type).lower() == protocol
        assert admin.list_groups(group_states=["Stable"]).valid().result(SECONDS)
        described = admin.describe_consumer_groups([group]).described_groups()[group].result(SECONDS)
        assert (described.group_state, described.type.lower()) == ("Stable", protocol)
        (member,) = described.members
        assert member.client_id == "the-reader"
        assert member.assignment == (at,)
        refused = admin.delete_consumer_groups([group]).values()[group].exception(SECONDS)
        assert type(refused) is errors.GroupNotEmptyException
    result = admin.list_consumer_group_offsets(group)
    committed = result.partitions_to_offset_and_metadata().result(SECONDS)
    assert {place: each.offset for place, each in committed.items()} == {at: 3}
    admin.delete_consumer_groups([group]).deleted_groups()[group].result(SECONDS)
    gone = admin.describe_consumer_groups([group]).values()[group].exception(SECONDS)
    assert type(gone) is errors.GroupIdNotFoundException
    again = admin.delete_consumer_groups([group]).values()[group].exception(SECONDS)
    assert type(again) is errors.GroupIdNotFoundException


def test_offsets_of_a_group_are_set_read_and_deleted(admin: Admin, topic_of: Callable[..., str]) -> None:
    topic, group = topic_of(2), f"offsets-{uuid.uuid4().hex}"
    first, second = TopicPartition(topic, 0), TopicPartition(topic, 1)
    altered = admin.alter_consumer_group_offsets(group, {first: OffsetAndMetadata(7, "why"), second: 8})
    altered.result(SECONDS)
    assert altered.partition_result(first).result(0) is None
    found = admin.list_consumer_group_offsets({group: [first, TopicPartition(topic, 5)]}).result(SECONDS)
    assert found[group] == {first: OffsetAndMetadata(7, "why")}
    admin.delete_consumer_group_offsets(group, [first]).partition_result(first).result(SECONDS)
    assert list(admin.list_consumer_group_offsets(group).result(SECONDS)[group]) == [second]
    stable = admin.list_consumer_group_offsets({group: None}, require_stable=True).result(SECONDS)
    assert stable[group][second].offset == 8
    assert admin.describe_classic_groups([group]).result(SECONDS)[group].group_state == "Empty"


def test_members_are_removed_from_a_group(bootstrap: str, admin: Admin, topic: str) -> None:
    filled(bootstrap, topic, 1)
    group = f"members-{uuid.uuid4().hex}"
    settings = {"bootstrap.servers": bootstrap, "group.id": group, "auto.offset.reset": "earliest"}
    with Consumer({**settings, "group.instance.id": "static-1", "enable.auto.commit": False}) as consumer:
        consumer.subscribe([topic])
        poll_until(consumer, 1)
        stranger, member = MemberToRemove("nobody"), MemberToRemove("static-1")
        result = admin.remove_members_from_consumer_group(group, [stranger, member], reason="a test")
        assert type(result.member_result(stranger).exception(SECONDS)) is UnknownMemberIdException
        assert result.member_result(member).result(SECONDS) is None
        assert admin.describe_consumer_groups([group]).result(SECONDS)[group].members == ()
    admin.remove_members_from_consumer_group(group).result(SECONDS)


def test_access_control_entries_are_made_found_and_deleted(admin: Admin) -> None:
    name = f"secret-{uuid.uuid4().hex}"
    entry = AclBinding("TOPIC", name, "LITERAL", "User:alice", "*", "READ", "ALLOW")
    admin.create_acls([entry]).values()[entry].result(SECONDS)
    wanted = AclBindingFilter("TOPIC", name)
    assert in_time(lambda: admin.describe_acls(wanted).result(SECONDS), bool) == [entry]
    assert admin.delete_acls([wanted]).values()[wanted].result(SECONDS) == [entry]
    assert in_time(lambda: admin.describe_acls(wanted).result(SECONDS), lambda found: not found) == []
    with pytest.raises(InvalidRequestException, match="is not one of"):
        admin.create_acls([entry._replace(operation="LOOK")])


def test_quotas_are_set_found_and_taken_away(admin: Admin) -> None:
    user = f"user-{uuid.uuid4().hex}"
    entity = (("user", user),)
    admin.alter_client_quotas([ClientQuotaAlteration(entity, {"producer_byte_rate": 1024})]).result(SECONDS)
    of_user = [ClientQuotaFilterComponent.of_entity("user", user)]
    found = in_time(lambda: admin.describe_client_quotas(of_user).result(SECONDS), bool)
    assert found == {entity: {"producer_byte_rate": 1024.0}}
    any_user = [ClientQuotaFilterComponent.of_entity_type("user")]
    assert entity in admin.describe_client_quotas(any_user, strict=True).result(SECONDS)
    default = [ClientQuotaFilterComponent.of_default_entity("user")]
    assert entity not in admin.describe_client_quotas(default).result(SECONDS)
    admin.alter_client_quotas([ClientQuotaAlteration(entity, {"producer_byte_rate": None})]).result(SECONDS)
    left = in_time(lambda: admin.describe_client_quotas(of_user).result(SECONDS), lambda found: not found)
    assert left == {}


def test_scram_users_are_made_described_and_deleted(admin: Admin) -> None:
    user = f"scram-{uuid.uuid4().hex}"
    admin.alter_user_scram_credentials(
        [UserScramCredentialUpsertion(user, "SCRAM-SHA-512", "a password", 8192)]
    ).result(SECONDS)
    described = in_time(
        lambda: admin.describe_user_scram_credentials([user]),
        lambda found: not found.all().exception(SECONDS),
    )
    assert described.description(user).result(SECONDS) == [ScramCredentialInfo("SCRAM-SHA-512", 8192)]
    assert user in admin.describe_user_scram_credentials().users().result(SECONDS)
    admin.alter_user_scram_credentials([UserScramCredentialDeletion(user, "SCRAM-SHA-512")]).result(SECONDS)
    gone = in_time(
        lambda: admin.describe_user_scram_credentials([user]).description(user).exception(SECONDS),
        lambda found: found is not None,
    )
    assert type(gone) is errors.ResourceNotFoundException


def test_delegation_tokens_need_a_secured_connection(admin: Admin) -> None:
    refused = (errors.UnsupportedByAuthenticationException, errors.DelegationTokenDisabledException)
    for future in (
        admin.create_delegation_token(renewers=["User:bob"]),
        admin.renew_delegation_token(b"x"),
        admin.expire_delegation_token(b"x"),
        admin.describe_delegation_token(),
    ):
        assert isinstance(future.exception(SECONDS), refused), future.exception(0)


def test_reassignments_and_elections_of_one_broker(admin: Admin, topic: str) -> None:
    at = TopicPartition(topic, 0)
    (node,) = admin.describe_cluster().nodes().result(SECONDS)
    admin.alter_partition_reassignments({at: [node.id]}).values()[at].result(SECONDS)
    settled = in_time(
        lambda: admin.list_partition_reassignments([at]).result(SECONDS), lambda found: not found
    )
    assert settled == {}
    nothing = admin.alter_partition_reassignments({at: None}).values()[at].exception(SECONDS)
    assert type(nothing) is errors.NoReassignmentInProgressException
    unknown = admin.alter_partition_reassignments({at: [99]}).values()[at].exception(SECONDS)
    assert type(unknown) is errors.InvalidReplicaAssignmentException
    election = admin.elect_leaders("PREFERRED", [at])
    assert type(election.partitions().result(SECONDS)[at]) is errors.ElectionNotNeededException
    assert election.all().result(SECONDS) is None


def test_log_directories_are_described(bootstrap: str, admin: Admin, topic: str, on_apache: bool) -> None:
    filled(bootstrap, topic)
    (node,) = admin.describe_cluster().nodes().result(SECONDS)
    dirs = admin.describe_log_dirs([node.id]).all_descriptions().result(SECONDS)[node.id]
    at = TopicPartition(topic, 0)
    ((path, found),) = ((path, each) for path, each in dirs.items() if at in each.replica_infos)
    assert found.error is None
    assert found.replica_infos[at].size > 0
    assert found.total_bytes is not None
    replica = TopicPartitionReplica(topic, 0, node.id)
    where = admin.describe_replica_log_dirs([replica]).values()[replica].result(SECONDS)
    assert where.current_replica_log_dir == path
    moved = admin.alter_replica_log_dirs({replica: "/no/such/directory"}).values()[replica].exception(SECONDS)
    expected = errors.LogDirNotFoundException if on_apache else UnsupportedVersionException
    assert type(moved) is expected


def test_producers_and_transactions_are_described_aborted_and_fenced(
    bootstrap: str, admin: Admin, topic: str
) -> None:
    at, name = TopicPartition(topic, 0), f"tx-{uuid.uuid4().hex}"
    with Producer({"bootstrap.servers": bootstrap, "transactional.id": name}) as producer:
        producer.init_transactions(SECONDS)
        producer.begin_transaction()
        producer.send(topic, b"open")
        producer.flush()
        found = admin.describe_transactions([name]).description(name).result(SECONDS)
        assert found.state == "Ongoing"
        assert found.topic_partitions == (at,)
        (writer,) = admin.describe_producers([at]).partition_result(at).result(SECONDS)
        assert writer.producer_id == found.producer_id
        assert writer.current_transaction_start_offset == 0
        listed = admin.list_transactions(states=["Ongoing"]).all().result(SECONDS)
        assert name in [each.transactional_id for each in listed]
        by_broker = admin.list_transactions(producer_ids=[found.producer_id]).all_by_broker_id()
        assert [each[0].state for each in by_broker.result(SECONDS).values()] == ["Ongoing"]
        fenced = admin.fence_producers([name])
        assert fenced.producer_id(name).result(SECONDS) >= 0
        assert fenced.epoch_id(name).result(SECONDS) > writer.producer_epoch
        with pytest.raises(ProducerFencedException):
            producer.commit_transaction(SECONDS)
    admin.force_terminate_transaction(name).result(SECONDS)
    unknown = admin.describe_transactions(["nobody"]).values()["nobody"].exception(SECONDS)
    assert type(unknown) is errors.TransactionalIdNotFoundException


def test_a_transaction_in_one_partition_is_aborted_without_its_coordinator(
    bootstrap: str, admin: Admin, topic: str
) -> None:
    at, name = TopicPartition(topic, 0), f"tx-{uuid.uuid4().hex}"
    with Producer({"bootstrap.servers": bootstrap, "transactional.id": name}) as producer:
        producer.init_transactions(SECONDS)
        producer.begin_transaction()
        producer.send(topic, b"open")
        producer.flush()
        (writer,) = admin.describe_producers([at]).partition_result(at).result(SECONDS)
        spec = AbortTransactionSpec(at, writer.producer_id, writer.producer_epoch, 0)
        admin.abort_transaction(spec).result(SECONDS)
        (after,) = admin.describe_producers([at]).partition_result(at).result(SECONDS)
        assert after.current_transaction_start_offset is None
        admin.fence_producers([name]).result(SECONDS)


def test_the_cluster_its_features_and_its_quorum(admin: Admin) -> None:
    cluster = admin.describe_cluster(include_fenced_brokers=True)
    (node,) = cluster.nodes().result(SECONDS)
    assert cluster.controller().result(SECONDS) == node
    assert len(cluster.cluster_id().result(SECONDS)) >= 20
    features = admin.describe_features().result(SECONDS)
    level = features.finalized_features["metadata.version"].max_version
    assert features.supported_features["metadata.version"].max_version >= level
    same = {"metadata.version": FeatureUpdate(level)}
    admin.update_features(same, validate_only=True).result(SECONDS)
    unknown = admin.update_features({"no.such.feature": FeatureUpdate(1)}).all().exception(SECONDS)
    assert isinstance(unknown, ApiException)
    quorum = admin.describe_metadata_quorum().result(SECONDS)
    assert quorum.leader_id == node.id
    assert [each.replica_id for each in quorum.voters] == [node.id]
    missing = admin.unregister_broker(77).exception(SECONDS)
    assert type(missing) is errors.BrokerIdNotRegisteredException


def test_voters_are_not_changed_by_mistake(admin: Admin) -> None:
    """Penstock has no call for it yet, and a node of Apache Kafka's with static voters refuses."""
    some = uuid.uuid4()
    added = admin.add_raft_voter(7, some, [RaftVoterEndpoint("CONTROLLER", "127.0.0.1", 1)], timeout=3)
    removed = admin.remove_raft_voter(7, some, timeout=3)
    assert isinstance(added.exception(SECONDS), ApiException)
    assert isinstance(removed.exception(SECONDS), ApiException)


def test_a_future_can_be_awaited(admin: Admin) -> None:
    async def ask() -> set[str]:
        return await asyncio.wrap_future(admin.list_topics().names())

    assert isinstance(asyncio.run(ask()), set)


def test_nobody_answers() -> None:
    with Admin({"bootstrap.servers": "127.0.0.1:1", "default.api.timeout.ms": 300}) as admin:
        assert type(admin.describe_cluster().nodes().exception(SECONDS)) is TimeoutException
        assert type(admin.delete_topics(["t"]).values()["t"].exception(SECONDS)) is TimeoutException
    with pytest.raises(IllegalStateException):
        admin.list_topics()


def test_settings_are_checked() -> None:
    with pytest.raises(ConfigException, match=r"Did you mean default.api.timeout.ms"):
        Admin({"bootstrap.servers": "x:1", "default.api.timeout": 1})
    with pytest.raises(ConfigException, match=r"bootstrap.controllers cannot be honoured"):
        Admin({"bootstrap.servers": "x:1", "bootstrap.controllers": "y:1"})
