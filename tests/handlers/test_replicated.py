"""Topics with several replicas through the handlers of one of their brokers; the other brokers are played by
requests."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.controller.broker_records import Endpoint, RegisterBrokerRecord
from penstock.controller.metadata_records import PartitionRecord, TopicRecord
from penstock.controller.partition_records import PartitionChangeRecord
from penstock.handlers.fetching.nearest_replica import RACK_AWARE
from penstock.handlers.reply import Reply, Wait
from penstock.protocol.apis import Api
from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages import read_response
from penstock.records.record import Record, encode_batch
from tests.handlers.one_node import LISTENER, OneNode, body_of

TOPIC_ID = bytes(15) + b"\x09"
BROKER_EPOCH = 50
FETCH_VERSION = 17
PRODUCE_VERSION = 11
SILENT_BEAT: dict[str, Any] = {
    "instance_id": None,
    "rack_id": None,
    "rebalance_timeout": -1,
    "subscribed_topic_names": None,
    "server_assignor": None,
    "topic_partitions": None,
}


def registered(number: int, rack: str) -> RegisterBrokerRecord:
    endpoints = (Endpoint(LISTENER, f"b{number}", 9092),)
    return RegisterBrokerRecord(number, bytes([number] * 16), BROKER_EPOCH, endpoints, rack, False)


class Replicated:
    """Broker 1 leads `orders-0`, which 2 and 3 follow."""

    def __init__(self, settings: dict[str, str] | None = None) -> None:
        self.node = OneNode({"broker.rack": "west", **(settings or {})})
        brokers = [
            RegisterBrokerRecord(
                number,
                bytes([number] * 16),
                BROKER_EPOCH,
                (Endpoint(LISTENER, f"b{number}", 9092),),
                rack,
                False,
            )
            for number, rack in ((2, "east"), (3, "south"))
        ]
        replicas = (1, 2, 3)
        partition = PartitionRecord(0, TOPIC_ID, replicas, replicas, 1, 0, 0)
        self.commit(*brokers, TopicRecord("orders", TOPIC_ID), partition)

    def commit(self, *records: Any) -> None:
        self.node.broker.controller.submit(lambda image: (list(records), None)).result()

    def produce(self, *, acks: int = -1, timeout_ms: int = 1000, value: bytes = b"v") -> Any:
        batch = encode_batch([Record(None, value, (), self.node.clock.now_ms())])
        partition = {"index": 0, "records": batch}
        fields = {
            "transactional_id": None,
            "acks": acks,
            "timeout": timeout_ms,
            "topic_data": [{"name": "orders", "partition_data": [partition]}],
        }
        return self.node.submit(Api.PRODUCE, PRODUCE_VERSION, **fields)

    def fetch(self, replica: int, offset: int, *, broker_epoch: int = BROKER_EPOCH, **more: Any) -> Any:
        """The answer for the partition, to a follower or to a consumer (-1)."""
        partition = {
            "partition": 0,
            "current_leader_epoch": -1,
            "fetch_offset": offset,
            "last_fetched_epoch": -1 if offset == 0 else 0,
            "log_start_offset": 0,
            "partition_max_bytes": 10_000,
            **more.pop("partition", {}),
        }
        fields = {
            "replica_state": {"replica_id": replica, "replica_epoch": broker_epoch},
            "max_wait": 0,
            "min_bytes": 1,
            "max_bytes": 10_000,
            "session_epoch": -1,
            "topics": [{"topic_id": TOPIC_ID, "partitions": [partition]}],
            "forgotten_topics_data": (),
            **more,
        }
        answer = self.node.ask(Api.FETCH, FETCH_VERSION, **fields)
        return answer.responses[0].partitions[0]

    def session_fields(self, replica: int, session: tuple[int, int] = (0, 0)) -> dict[str, Any]:
        return {
            "replica_state": {"replica_id": replica, "replica_epoch": BROKER_EPOCH},
            "max_wait": 0,
            "min_bytes": 1,
            "max_bytes": 10_000,
            "session_id": session[0],
            "session_epoch": session[1],
            "forgotten_topics_data": (),
        }

    def follow(self, replica: int, offset: int | None, session: tuple[int, int] = (0, 0)) -> tuple[int, int]:
        """Fetch in a session, naming the partition or not; gives the session as the next request has to
        name it."""
        partition = {
            "partition": 0,
            "current_leader_epoch": 0,
            "fetch_offset": offset,
            "last_fetched_epoch": 0 if offset else -1,
            "log_start_offset": 0,
            "partition_max_bytes": 10_000,
        }
        topics = () if offset is None else [{"topic_id": TOPIC_ID, "partitions": [partition]}]
        fields = self.session_fields(replica, session)
        answer = self.node.ask(Api.FETCH, FETCH_VERSION, **fields, topics=topics)
        return answer.session_id, session[1] + 1


def result_of(outcome: Any) -> Any:
    assert isinstance(outcome, Reply)
    (topic,) = read_response(Api.PRODUCE, PRODUCE_VERSION, body_of(outcome)).responses
    (partition,) = topic.partition_responses
    return partition


@pytest.fixture
def replicated() -> Replicated:
    return Replicated()


def test_acks_all_waits_until_all_in_sync_have_the_batch(replicated: Replicated) -> None:
    outcome = replicated.produce()
    for follower in (2, 3):
        assert isinstance(outcome, Wait)
        outcome = outcome.resume(False)
        assert isinstance(outcome, Wait)
        replicated.fetch(follower, 1)
    result = result_of(outcome.resume(False))
    assert (result.error_code, result.base_offset) == (ErrorCode.NONE, 0)


def test_acks_all_ends_at_its_timeout(replicated: Replicated) -> None:
    outcome = replicated.produce(timeout_ms=300)
    assert isinstance(outcome, Wait)
    assert outcome.deadline == replicated.node.clock.monotonic() + 0.3
    assert result_of(outcome.resume(True)).error_code == ErrorCode.REQUEST_TIMED_OUT


def test_acks_one_does_not_wait(replicated: Replicated) -> None:
    assert result_of(replicated.produce(acks=1)).error_code == ErrorCode.NONE


def test_acks_all_is_refused_when_another_leads_meanwhile(replicated: Replicated) -> None:
    outcome = replicated.produce()
    assert isinstance(outcome, Wait)
    replicated.commit(PartitionChangeRecord(0, TOPIC_ID, isr=(2, 3), leader=2))
    assert result_of(outcome.resume(False)).error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER


def test_a_follower_gets_what_is_not_committed_and_a_consumer_does_not(replicated: Replicated) -> None:
    replicated.produce(acks=1)
    assert replicated.fetch(2, 0).records
    assert not replicated.fetch(-1, 0).records
    replicated.fetch(2, 1)
    assert replicated.fetch(3, 1).high_watermark == 1
    assert replicated.fetch(-1, 0).records


def test_a_follower_whose_log_parted_is_told_where(replicated: Replicated) -> None:
    replicated.produce(acks=1)
    replicated.commit(
        PartitionChangeRecord(0, TOPIC_ID, leader=1)
    )  # another epoch, in which nothing is written
    told = replicated.fetch(2, 5, partition={"last_fetched_epoch": 0})
    assert (told.diverging_epoch.epoch, told.diverging_epoch.end_offset) == (0, 1)
    assert not told.records


def test_an_earlier_life_of_a_follower_is_refused(replicated: Replicated) -> None:
    assert replicated.fetch(2, 0).error_code == ErrorCode.NONE
    late = replicated.fetch(2, 0, broker_epoch=BROKER_EPOCH - 1)
    assert late.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER


def test_who_comes_to_a_follower_is_told_who_leads_and_where(replicated: Replicated) -> None:
    replicated.commit(PartitionChangeRecord(0, TOPIC_ID, isr=(2, 3), leader=2))
    outcome = replicated.produce()
    assert isinstance(outcome, Reply)
    answer = read_response(Api.PRODUCE, PRODUCE_VERSION, body_of(outcome))
    result = answer.responses[0].partition_responses[0]
    assert result.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert (result.current_leader.leader_id, result.current_leader.leader_epoch) == (2, 1)
    (endpoint,) = answer.node_endpoints
    assert (endpoint.node_id, endpoint.host, endpoint.port, endpoint.rack) == (2, "b2", 9092, "east")
    stale = replicated.fetch(-1, 0, partition={"current_leader_epoch": 0})
    assert stale.error_code == ErrorCode.FENCED_LEADER_EPOCH
    assert stale.current_leader.leader_id == 2


def test_a_consumer_is_sent_to_the_replica_in_its_rack() -> None:
    replicated = Replicated({"replica.selector.class": RACK_AWARE})
    replicated.produce(acks=1)
    for follower in (2, 3):
        replicated.fetch(follower, 1)
    assert replicated.fetch(-1, 0, rack_id="east").preferred_read_replica == 2
    assert replicated.fetch(-1, 0, rack_id="south").preferred_read_replica == 3
    for rack in ("west", "elsewhere", ""):
        here = replicated.fetch(-1, 0, rack_id=rack)
        assert here.preferred_read_replica == -1
        assert here.records


def test_without_a_selector_consumers_stay_with_the_leader(replicated: Replicated) -> None:
    replicated.produce(acks=1)
    for follower in (2, 3):
        replicated.fetch(follower, 1)
    assert replicated.fetch(-1, 0, rack_id="east").preferred_read_replica == -1


def test_a_follower_serves_consumers_and_not_other_followers(replicated: Replicated) -> None:
    replicated.produce(acks=1)
    for follower in (2, 3):
        replicated.fetch(follower, 1)
    replicated.commit(PartitionChangeRecord(0, TOPIC_ID, isr=(1, 2), leader=2))
    assert replicated.fetch(-1, 0).records
    assert replicated.fetch(3, 0).error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER


def test_a_quiet_partition_is_not_told_and_wakes_its_follower_when_it_grows(replicated: Replicated) -> None:
    session = replicated.follow(2, 0)
    fields = replicated.session_fields(2, session)
    waiting = replicated.node.submit(Api.FETCH, FETCH_VERSION, **{**fields, "max_wait": 500}, topics=())
    assert isinstance(waiting, Wait)
    assert len(waiting.watched) == 1
    waiting = waiting.resume(False)
    assert isinstance(waiting, Wait)
    replicated.produce(acks=1)
    outcome = waiting.resume(False)
    assert isinstance(outcome, Reply)
    (topic,) = read_response(Api.FETCH, FETCH_VERSION, body_of(outcome)).responses
    assert topic.partitions[0].records


def test_the_end_of_a_new_leaders_log_is_not_told_before_it_is_known(replicated: Replicated) -> None:
    replicated.produce(acks=1)
    replicated.commit(PartitionChangeRecord(0, TOPIC_ID, leader=1))
    query = {"partition_index": 0, "current_leader_epoch": -1, "timestamp": -1}
    fields = {
        "replica_id": -1,
        "isolation_level": 0,
        "topics": [{"name": "orders", "partitions": [query]}],
    }
    assert list_offsets(replicated, 7, fields).error_code == ErrorCode.OFFSET_NOT_AVAILABLE
    assert list_offsets(replicated, 4, fields).error_code == ErrorCode.LEADER_NOT_AVAILABLE
    assert list_offsets(replicated, 7, {**fields, "replica_id": 2}).offset == 1
    for follower in (2, 3):
        replicated.fetch(follower, 1)
    assert list_offsets(replicated, 7, fields).offset == 1


def list_offsets(replicated: Replicated, version: int, fields: dict[str, Any]) -> Any:
    (topic,) = replicated.node.ask(Api.LIST_OFFSETS, version, **fields).topics
    return topic.partitions[0]


def test_deleted_records_are_waited_for_on_all_replicas_that_are_alive(replicated: Replicated) -> None:
    replicated.produce(acks=1)
    for follower in (2, 3):
        replicated.fetch(follower, 1)
    partition = {"partition_index": 0, "offset": 1}
    fields = {"topics": [{"name": "orders", "partitions": [partition]}], "timeout": 1000}
    waiting = replicated.node.submit(Api.DELETE_RECORDS, 2, **fields)
    for follower in (2, 3):
        assert isinstance(waiting, Wait)
        waiting = waiting.resume(False)
        replicated.fetch(follower, 1, partition={"log_start_offset": 1})
    assert isinstance(waiting, Wait)
    outcome = waiting.resume(False)
    assert isinstance(outcome, Reply)
    (topic,) = read_response(Api.DELETE_RECORDS, 2, body_of(outcome)).topics
    assert topic.partitions[0].low_watermark == 1


def test_a_partition_that_lives_elsewhere_is_not_unknown(replicated: Replicated) -> None:
    other = bytes(15) + b"\x0a"
    replicated.commit(TopicRecord("away", other), PartitionRecord(0, other, (2, 3), (2, 3), 2, 4, 0))
    batch = encode_batch([Record(None, b"v", (), replicated.node.clock.now_ms())])
    topic = {"name": "away", "partition_data": [{"index": 0, "records": batch}]}
    fields = {"transactional_id": None, "acks": 1, "timeout": 1, "topic_data": [topic]}
    result = result_of(replicated.node.submit(Api.PRODUCE, PRODUCE_VERSION, **fields))
    assert result.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert result.current_leader.leader_id == 2


def test_members_of_a_group_are_given_the_partitions_of_their_own_racks() -> None:
    node = OneNode({"broker.rack": "west", "offsets.topic.num.partitions": "1"})
    node.ask(Api.FIND_COORDINATOR, 4, key_type=0, coordinator_keys=["g"])
    node.load()

    def beat(member_id: str, member_epoch: int, **told: Any) -> Any:
        fields = {"group_id": "g", "member_id": member_id, "member_epoch": member_epoch, **told}
        answer = node.ask(Api.CONSUMER_GROUP_HEARTBEAT, 0, **{**SILENT_BEAT, **fields})
        assert answer.error_code == 0, answer
        return answer

    joins = {"rebalance_timeout": 60_000, "subscribed_topic_names": ("near",), "topic_partitions": ()}
    joined = {beat("", 0, rack_id=rack, **joins).member_id: rack for rack in ("south", "west", "east")}
    partitions = [
        PartitionRecord(index, TOPIC_ID, (node_id,), (node_id,), node_id, 0, 0)
        for index, node_id in enumerate((3, 1, 2, 2, 3, 1))
    ]
    records = [registered(2, "east"), registered(3, "south"), TopicRecord("near", TOPIC_ID), *partitions]
    node.broker.controller.submit(lambda image: (list(records), None)).result()
    last = list(joined)[-1]
    beat(last, beat(last, 3).member_epoch)
    fields = {"group_ids": ["g"], "include_authorized_operations": False}
    (group,) = node.ask(Api.CONSUMER_GROUP_DESCRIBE, 0, **fields).groups
    assert {
        joined[member.member_id]: [place.partitions for place in member.target_assignment.topic_partitions]
        for member in group.members
    } == {"west": [(1, 5)], "east": [(2, 3)], "south": [(0, 4)]}
