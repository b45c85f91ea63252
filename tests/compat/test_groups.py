"""Groups of real clients while members join, leave, die and are paused, and the broker is killed: every
record is delivered, no partition has two owners, commits never go back."""

from __future__ import annotations

import itertools
import signal
import subprocess
import sys
import threading
import time
from collections import defaultdict
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
    Producer,
    TopicPartition,
)
from confluent_kafka.admin import AdminClient, NewTopic

from penstock.testing import Broker
from penstock.testing.process import BrokerProcess

TOPIC = "churn"
PARTITIONS = 6
DEADLINE_SECONDS = 60.0
LONG_SECONDS = 600.0

SETTINGS = {
    "group.initial.rebalance.delay.ms": "300",
    "group.min.session.timeout.ms": "1000",
    "group.consumer.min.session.timeout.ms": "1000",
    "group.consumer.session.timeout.ms": "2500",
    "group.consumer.min.heartbeat.interval.ms": "100",
    "group.consumer.heartbeat.interval.ms": "300",
}
CLASSIC = ("session.timeout.ms=2500", "heartbeat.interval.ms=300")
CLIENTS = {
    "range": ("confluent-kafka", *CLASSIC, "partition.assignment.strategy=range"),
    "roundrobin": ("confluent-kafka", *CLASSIC, "partition.assignment.strategy=roundrobin"),
    "cooperative": ("confluent-kafka", *CLASSIC, "partition.assignment.strategy=cooperative-sticky"),
    "consumer": ("confluent-kafka", "group.protocol=consumer"),
    "kafka-python": ("kafka-python", *CLASSIC),
    "aiokafka": ("aiokafka", *CLASSIC),
}


class MemberProcess:
    """A member in a process of its own, and what it has said so far."""

    def __init__(self, servers: str, group: str) -> None:
        client, *settings = CLIENTS[group]
        script = Path(__file__).with_name("group_member.py")
        self._process = subprocess.Popen(
            [sys.executable, str(script), client, servers, TOPIC, group, *settings],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        self.lines: list[list[str]] = []
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self.lines.append(line.split())

    def send(self, number: signal.Signals) -> None:
        self._process.send_signal(number)

    def end(self) -> None:
        self._process.send_signal(signal.SIGCONT)
        self._process.kill()
        self._process.wait(10)

    def records(self) -> Iterator[tuple[int, int, str]]:
        for kind, *words in list(self.lines):
            if kind == "record":
                yield int(words[0]), int(words[1]), words[2]


class Load(threading.Thread):
    """Sends numbered values until it is stopped, through whatever happens to the broker."""

    def __init__(self, servers: str) -> None:
        super().__init__(daemon=True)
        self.sent: dict[tuple[int, int], str] = {}
        self._stopping = threading.Event()
        self._producer = Producer(
            {"bootstrap.servers": servers, "enable.idempotence": True, "reconnect.backoff.max.ms": 200}
        )

    def run(self) -> None:
        number = 0
        while not self._stopping.is_set():
            for _ in range(5):
                value, number = f"v{number}", number + 1
                self._producer.produce(
                    TOPIC, value, partition=number % PARTITIONS, on_delivery=self._delivered
                )
            self._producer.poll(0.02)

    def stop(self) -> None:
        self._stopping.set()
        self.join(DEADLINE_SECONDS)

    def finish(self) -> None:
        """Send no more; everything that was sent is acknowledged."""
        self.stop()
        assert self._producer.flush(DEADLINE_SECONDS) == 0

    def _delivered(self, error: object, message: object) -> None:
        assert error is None, error
        self.sent[message.partition(), message.offset()] = message.value().decode()  # type: ignore[attr-defined]


class Observer(threading.Thread):
    """Looks at every group again and again: who has what, and what is committed."""

    def __init__(self, servers: str) -> None:
        super().__init__(daemon=True)
        self._servers = servers
        self._admin = self._connected()
        self._stopped = threading.Event()
        self.problems: list[str] = []
        self.looks = 0
        self.committed: defaultdict[tuple[str, int], int] = defaultdict(int)

    def run(self) -> None:
        while not self._stopped.wait(0.1):
            try:
                self._look_at_owners()
                for group in CLIENTS:
                    self._look_at_commits(group)
                self.looks += 1
            except (KafkaException, TimeoutError):
                # The broker is away, and the old client may never answer a request that was under way.
                self._admin = self._connected()

    def _connected(self) -> AdminClient:
        return AdminClient(
            {"bootstrap.servers": self._servers, "reconnect.backoff.max.ms": 500, "log_level": 0}
        )

    def stop(self) -> None:
        self._stopped.set()
        self.join(DEADLINE_SECONDS)

    def _look_at_owners(self) -> None:
        for group, future in self._admin.describe_consumer_groups(list(CLIENTS), request_timeout=3).items():
            owners: dict[int, str] = {}
            for member in future.result(5).members:
                parts = member.assignment.topic_partitions if member.assignment else []
                for part in parts:
                    if part.partition in owners:
                        self.problems.append(f"{group}: {part.partition} has two owners")
                    owners[part.partition] = member.member_id

    def _look_at_commits(self, group: str) -> None:
        wanted = [ConsumerGroupTopicPartitions(group)]
        for future in self._admin.list_consumer_group_offsets(wanted, request_timeout=3).values():
            for part in future.result(5).topic_partitions:
                place = (group, part.partition)
                if part.offset < self.committed[place]:
                    self.problems.append(f"{place}: {part.offset} after {self.committed[place]}")
                self.committed[place] = max(self.committed[place], part.offset)


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[BrokerProcess]:
    with BrokerProcess(str(tmp_path / "data"), settings=SETTINGS) as broker:
        admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
        admin.create_topics([NewTopic(TOPIC, PARTITIONS)])[TOPIC].result(10)
        yield broker


def _until(what: str, condition: Callable[[], bool]) -> None:
    end = time.monotonic() + DEADLINE_SECONDS
    while not condition():
        assert time.monotonic() < end, what
        time.sleep(0.1)


@pytest.mark.claim("A10")
@pytest.mark.timeout(900)
def test_records_are_delivered_while_members_come_and_go_and_the_broker_is_killed(
    broker: BrokerProcess, long_form: bool
) -> None:
    servers = broker.bootstrap_servers
    crowd = Crowd(servers)
    load, observer = Load(servers), Observer(servers)
    try:
        _until("every group reads", crowd.is_at_work)
        observer.start()
        load.start()
        end = time.monotonic() + (LONG_SECONDS if long_form else 0)
        crowd.churn(broker)
        while time.monotonic() < end:
            crowd.churn(broker)
        load.finish()
        for group in CLIENTS:
            _until(f"{group} has read everything", lambda name=group: _missing(load, crowd.seen(name)) == 0)
            _until(f"{group} has committed everything", lambda name=group: _behind(load, observer, name) == 0)
    finally:
        load.stop()
        observer.stop()
        crowd.end()
    assert observer.problems == []
    assert observer.looks > 10
    for group in CLIENTS:
        assert [record for record in crowd.records(group) if load.sent[record[:2]] != record[2]] == []


class Crowd:
    """Three members of every group, some of whom are always on their way."""

    def __init__(self, servers: str) -> None:
        self._servers = servers
        self._all: dict[str, list[MemberProcess]] = {group: [] for group in CLIENTS}
        self._present = {group: [self._start(group) for _ in range(3)] for group in CLIENTS}

    def _start(self, group: str) -> MemberProcess:
        process = MemberProcess(self._servers, group)
        self._all[group].append(process)
        return process

    def is_at_work(self) -> bool:
        return all(any(process.lines for process in present) for present in self._present.values())

    def churn(self, broker: BrokerProcess) -> None:
        """One member is paused for longer than its session, one leaves, one is killed, and so is the broker.
        The pauses in between are the pace: each step meets groups that are at work."""
        time.sleep(1)
        self._send(0, signal.SIGSTOP)
        time.sleep(1)
        self._send(1, signal.SIGTERM)
        time.sleep(1.5)
        broker.kill()
        broker.start()
        time.sleep(1.5)
        self._send(0, signal.SIGCONT)
        self._replace(1)
        time.sleep(1)
        self._send(2, signal.SIGKILL)
        self._replace(2)
        time.sleep(1)

    def _send(self, place: int, number: signal.Signals) -> None:
        for present in self._present.values():
            present[place].send(number)

    def _replace(self, place: int) -> None:
        for group, present in self._present.items():
            present[place] = self._start(group)

    def records(self, group: str) -> Iterator[tuple[int, int, str]]:
        return itertools.chain.from_iterable(process.records() for process in self._all[group])

    def seen(self, group: str) -> set[tuple[int, int]]:
        return {(partition, offset) for partition, offset, _ in self.records(group)}

    def end(self) -> None:
        for processes in self._all.values():
            for process in processes:
                process.end()


def _missing(load: Load, seen: set[tuple[int, int]]) -> int:
    return len(load.sent.keys() - seen)


def _behind(load: Load, observer: Observer, group: str) -> int:
    ends: defaultdict[int, int] = defaultdict(int)
    for partition, offset in load.sent:
        ends[partition] = max(ends[partition], offset + 1)
    return sum(end - observer.committed[group, partition] for partition, end in ends.items())


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

    _until("both have their share", shared)
    had, events = one.owned, list(two.events)
    one.close()
    one = Watched(quick, [name], name, **settings, **{"group.instance.id": "one"})
    _until("it is back", shared)
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

    _until("the first topic", reads("sensor-1"))
    _make(quick, "sensor-2", 1)
    _until("the second one", reads("sensor-1", "sensor-2"))
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

    _until("the classic member has everything", share(old))
    new = Watched(quick, ["over"], "over", **PROTOCOLS["consumer"])
    _until("both have their share", share(old, new))
    assert old.owned.isdisjoint(new.owned)
    described = admin.describe_consumer_groups(["over"])["over"].result(10)
    assert (described.type.name, len(described.members)) == ("CONSUMER", 2)
    new.close()
    _until("the classic member has everything again", share(old))
    described = admin.describe_consumer_groups(["over"])["over"].result(10)
    assert (described.type.name, described.state.name) == ("CLASSIC", "STABLE")
    old.close()


def test_tools_list_describe_and_delete_groups_and_offsets(quick: str) -> None:
    admin = _make(quick, "tools", 2)
    member = Watched(quick, ["tools"], "tools", **PROTOCOLS["classic"])

    def has_all() -> bool:
        member.poll()
        return len(member.owned) == 2

    _until("it has everything", has_all)
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
