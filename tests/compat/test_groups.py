"""Groups of real clients while members join, leave, die and are paused, and the broker is killed: every
record is delivered, no partition has two owners, commits never go back."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from confluent_kafka import (
    Consumer,
    ConsumerGroupState,
    ConsumerGroupTopicPartitions,
    ConsumerGroupType,
    KafkaError,
    KafkaException,
    TopicPartition,
)
from confluent_kafka.admin import AdminClient, NewTopic

from penstock.testing import Broker
from penstock.testing.process import BrokerProcess
from tests.compat.churn import LONG_SECONDS, PARTITIONS, SETTINGS, TOPIC, stand_the_churn, until

CLASSIC = ("session.timeout.ms=2500", "heartbeat.interval.ms=300")
CLIENTS = {
    "range": ("confluent-kafka", *CLASSIC, "partition.assignment.strategy=range"),
    "roundrobin": ("confluent-kafka", *CLASSIC, "partition.assignment.strategy=roundrobin"),
    "cooperative": ("confluent-kafka", *CLASSIC, "partition.assignment.strategy=cooperative-sticky"),
    "consumer": ("confluent-kafka", "group.protocol=consumer"),
    "kafka-python": ("kafka-python", *CLASSIC),
    "aiokafka": ("aiokafka", *CLASSIC),
}


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[BrokerProcess]:
    with BrokerProcess(str(tmp_path / "data"), settings=SETTINGS) as broker:
        admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
        admin.create_topics([NewTopic(TOPIC, PARTITIONS)])[TOPIC].result(10)
        yield broker


def member(servers: str, topic: str, group: str) -> list[str]:
    client, *settings = CLIENTS[group]
    script = Path(__file__).with_name("group_member.py")
    return [sys.executable, str(script), client, servers, topic, group, *settings]


@pytest.mark.claim("A10")
@pytest.mark.timeout(900)
def test_records_are_delivered_while_members_come_and_go_and_the_broker_is_killed(
    broker: BrokerProcess, long_form: bool
) -> None:
    stand_the_churn(broker, list(CLIENTS), member, LONG_SECONDS if long_form else 0)


class Watched:
    """A consumer in this process that remembers what happened to it."""

    def __init__(self, servers: str, topics: list[str], group: str, **settings: object) -> None:
        self.events: list[str] = []
        self._consumer = Consumer(
            {
                "bootstrap.servers": servers,
                "group.id": group,
                "auto.offset.reset": "earliest",
                "log_level": 0,
                **settings,
            }
        )
        self._consumer.subscribe(
            topics,
            on_assign=lambda _, parts: self.events.append("assigned") if parts else None,
            on_revoke=lambda _, parts: self.events.append("revoked") if parts else None,
        )

    def poll(self) -> None:
        self._consumer.poll(0.05)

    @property
    def owned(self) -> set[tuple[str, int]]:
        return {(part.topic, part.partition) for part in self._consumer.assignment()}

    def close(self) -> None:
        self._consumer.close()


@pytest.fixture(scope="module")
def quick() -> Iterator[str]:
    """A broker in this process whose groups do not wait for long."""
    with Broker(settings=SETTINGS) as broker:
        yield broker.bootstrap_servers


def _make(servers: str, name: str, partitions: int) -> AdminClient:
    admin = AdminClient({"bootstrap.servers": servers})
    admin.create_topics([NewTopic(name, partitions)])[name].result(10)
    return admin


PROTOCOLS = {
    "classic": {"session.timeout.ms": 6000, "heartbeat.interval.ms": 300},
    "consumer": {"group.protocol": "consumer"},
}


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_static_member_comes_back_to_its_partitions_and_nobody_else_notices(
    quick: str, protocol: str
) -> None:
    name = f"static-{protocol}"
    _make(quick, name, 4)
    settings = PROTOCOLS[protocol]
    one = Watched(quick, [name], name, **settings, **{"group.instance.id": "one"})
    two = Watched(quick, [name], name, **settings, **{"group.instance.id": "two"})

    def shared() -> bool:
        one.poll()
        two.poll()
        return len(one.owned) == len(two.owned) == 2

    until("both have their share", shared)
    had, events = one.owned, list(two.events)
    one.close()
    one = Watched(quick, [name], name, **settings, **{"group.instance.id": "one"})
    until("it is back", shared)
    assert one.owned == had
    assert two.events == events
    for member in (one, two):
        member.close()


def test_topics_are_found_by_an_expression_that_the_broker_evaluates(quick: str) -> None:
    _make(quick, "sensor-1", 1)
    _make(quick, "other", 1)
    member = Watched(quick, ["^sensor-.*"], "by-expression", **{"group.protocol": "consumer"})

    def reads(*names: str) -> Callable[[], bool]:
        def look() -> bool:
            member.poll()
            return {topic for topic, _ in member.owned} == set(names)

        return look

    until("the first topic", reads("sensor-1"))
    _make(quick, "sensor-2", 1)
    until("the second one", reads("sensor-1", "sensor-2"))
    member.close()


def test_a_group_goes_over_from_the_classic_to_the_consumer_protocol_and_back(quick: str) -> None:
    admin = _make(quick, "over", 4)
    old = Watched(
        quick,
        ["over"],
        "over",
        **PROTOCOLS["classic"],
        **{"partition.assignment.strategy": "cooperative-sticky"},
    )

    def share(*members: Watched) -> Callable[[], bool]:
        def look() -> bool:
            for member in members:
                member.poll()
            return [len(member.owned) for member in members] == [4 // len(members)] * len(members)

        return look

    until("the classic member has everything", share(old))
    new = Watched(quick, ["over"], "over", **PROTOCOLS["consumer"])
    until("both have their share", share(old, new))
    assert old.owned.isdisjoint(new.owned)
    described = admin.describe_consumer_groups(["over"])["over"].result(10)
    assert (described.type.name, len(described.members)) == ("CONSUMER", 2)
    new.close()
    until("the classic member has everything again", share(old))
    described = admin.describe_consumer_groups(["over"])["over"].result(10)
    assert (described.type.name, described.state.name) == ("CLASSIC", "STABLE")
    old.close()


def test_tools_list_describe_and_delete_groups_and_offsets(quick: str) -> None:
    admin = _make(quick, "tools", 2)
    member = Watched(quick, ["tools"], "tools", **PROTOCOLS["classic"])

    def has_all() -> bool:
        member.poll()
        return len(member.owned) == 2

    until("it has everything", has_all)
    states = {ConsumerGroupState.STABLE}
    listed = admin.list_consumer_groups(states=states, types={ConsumerGroupType.CLASSIC}).result(10)
    assert "tools" in {group.group_id for group in listed.valid}
    none = admin.list_consumer_groups(states={ConsumerGroupState.DEAD}).result(10)
    assert none.valid == []
    described = admin.describe_consumer_groups(["tools"])["tools"].result(10)
    (only,) = described.members
    assert (only.host, len(only.assignment.topic_partitions)) == ("/127.0.0.1", 2)
    with pytest.raises(KafkaException) as refused:
        admin.delete_consumer_groups(["tools"])["tools"].result(10)
    assert refused.value.args[0].code() == KafkaError.NON_EMPTY_GROUP
    member.close()
    offsets = ConsumerGroupTopicPartitions("tools", [TopicPartition("tools", 0, 7)])
    admin.alter_consumer_group_offsets([offsets])["tools"].result(10)
    wanted = [ConsumerGroupTopicPartitions("tools")]
    told = admin.list_consumer_group_offsets(wanted)["tools"].result(10)
    assert [(part.partition, part.offset) for part in told.topic_partitions] == [(0, 7)]
    admin.delete_consumer_groups(["tools"])["tools"].result(10)
    with pytest.raises(KafkaException) as gone:
        admin.delete_consumer_groups(["tools"])["tools"].result(10)
    assert gone.value.args[0].code() == KafkaError.GROUP_ID_NOT_FOUND
