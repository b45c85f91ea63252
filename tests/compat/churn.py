"""Groups of members in processes of their own that are paused, leave and are killed, while records flow and
the broker is killed as well; and what must hold of them all the time. Used by the tests of groups."""

from __future__ import annotations

import itertools
import signal
import subprocess
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence

from confluent_kafka import Producer

from penstock.groups.embedded import decode_assignment
from penstock.protocol.apis import Api
from penstock.testing.process import BrokerProcess
from penstock.wire.connection import Address, Connection
from penstock.wire.deadline import Deadline
from penstock.wire.errors import WireError

TOPIC = "churn"
PARTITIONS = 6
DEADLINE_SECONDS = 60.0
LONG_SECONDS = 600.0
ANSWER_SECONDS = 10.0

SETTINGS = {
    "group.initial.rebalance.delay.ms": "300",
    "group.min.session.timeout.ms": "1000",
    "group.consumer.min.session.timeout.ms": "1000",
    "group.consumer.session.timeout.ms": "2500",
    "group.consumer.min.heartbeat.interval.ms": "100",
    "group.consumer.heartbeat.interval.ms": "300",
}
Command = Callable[[str, str, str], list[str]]
"""Starts a member: of these servers, of this topic, in this group. It speaks as `group_member.py` does."""


class MemberProcess:
    """A member in a process of its own, and what it has said so far."""

    def __init__(self, command: list[str]) -> None:
        self._process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        self.lines: list[list[str]] = []
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            words = line.split()
            if words and line.endswith("\n"):  # one that is killed may leave half a line behind
                self.lines.append(words)

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
    """Looks at every group again and again: who has what, and what is committed.

    It asks over its own connection: librdkafka's admin client aborts the process now and then when the broker
    is killed under a request.
    """

    def __init__(self, servers: str, groups: Sequence[str]) -> None:
        super().__init__(daemon=True)
        self._address = Address.parse(servers)
        self._groups = list(groups)
        self._stopped = threading.Event()
        self.problems: list[str] = []
        self.looks = 0
        self.with_owners: set[str] = set()
        self.committed: defaultdict[tuple[str, int], int] = defaultdict(int)

    def run(self) -> None:
        while not self._stopped.is_set():
            try:
                connection = Connection(self._address, Deadline(ANSWER_SECONDS))
                while not self._stopped.wait(0.1):
                    self._look_at_owners(connection)
                    self._look_at_commits(connection)
                    self.looks += 1
            except WireError:
                self._stopped.wait(0.1)  # the broker is away

    def stop(self) -> None:
        self._stopped.set()
        self.join(DEADLINE_SECONDS)

    def _look_at_owners(self, connection: Connection) -> None:
        for group, owned in itertools.chain(self._consumers(connection), self._classic(connection)):
            owners = Counter(itertools.chain.from_iterable(owned))
            if owners:
                self.with_owners.add(group)
            for partition, count in owners.items():
                if count > 1:
                    self.problems.append(f"{group}: {partition} has {count} owners")

    def _consumers(self, connection: Connection) -> Iterator[tuple[str, list[list[int]]]]:
        """The partitions of each member, of groups of the consumer protocol."""
        fields = {"group_ids": self._groups, "include_authorized_operations": False}
        answer = connection.call(
            Api.CONSUMER_GROUP_DESCRIBE, fields, Deadline(ANSWER_SECONDS), oldest=0, newest=1
        )
        for group in answer.groups:
            if not int(group.error_code):
                parts = [member.assignment.topic_partitions for member in group.members]
                yield group.group_id, [[at for topic in each for at in topic.partitions] for each in parts]

    def _classic(self, connection: Connection) -> Iterator[tuple[str, list[list[int]]]]:
        fields = {"groups": self._groups, "include_authorized_operations": False}
        answer = connection.call(Api.DESCRIBE_GROUPS, fields, Deadline(ANSWER_SECONDS), oldest=5, newest=5)
        for group in answer.groups:
            given = [decode_assignment(member.member_assignment) for member in group.members]
            yield group.group_id, [list(partitions.get(TOPIC, ())) for partitions in given]

    def _look_at_commits(self, connection: Connection) -> None:
        wanted = [{"group_id": group, "topics": None, "member_id": None} for group in self._groups]
        fields = {"groups": wanted, "require_stable": False}
        answer = connection.call(Api.OFFSET_FETCH, fields, Deadline(ANSWER_SECONDS), oldest=8, newest=9)
        for group in answer.groups:
            for topic in group.topics:
                for part in topic.partitions:
                    self._look_at_commit((group.group_id, part.partition_index), part.committed_offset)

    def _look_at_commit(self, place: tuple[str, int], offset: int) -> None:
        if offset < self.committed[place]:
            self.problems.append(f"{place}: {offset} after {self.committed[place]}")
        self.committed[place] = max(self.committed[place], offset)


class Crowd:
    """Three members of every group, some of whom are always on their way."""

    def __init__(self, servers: str, groups: Sequence[str], command: Command) -> None:
        self._servers = servers
        self._command = command
        self._all: dict[str, list[MemberProcess]] = {group: [] for group in groups}
        self._present = {group: [self._start(group) for _ in range(3)] for group in groups}

    def _start(self, group: str) -> MemberProcess:
        process = MemberProcess(self._command(self._servers, TOPIC, group))
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


def missing(load: Load, seen: set[tuple[int, int]]) -> int:
    return len(load.sent.keys() - seen)


def behind(load: Load, observer: Observer, group: str) -> int:
    ends: defaultdict[int, int] = defaultdict(int)
    for partition, offset in load.sent:
        ends[partition] = max(ends[partition], offset + 1)
    return sum(end - observer.committed[group, partition] for partition, end in ends.items())


def until(what: str, condition: Callable[[], bool]) -> None:
    end = time.monotonic() + DEADLINE_SECONDS
    while not condition():
        assert time.monotonic() < end, what
        time.sleep(0.1)


def stand_the_churn(broker: BrokerProcess, groups: Sequence[str], command: Command, seconds: float) -> None:
    """Churn for so long, at least once: every record is delivered and committed, no partition has two owners,
    no commit goes back."""
    servers = broker.bootstrap_servers
    crowd = Crowd(servers, groups, command)
    load, observer = Load(servers), Observer(servers, groups)
    try:
        until("every group reads", crowd.is_at_work)
        observer.start()
        load.start()
        end = time.monotonic() + seconds
        crowd.churn(broker)
        while time.monotonic() < end:
            crowd.churn(broker)
        load.finish()
        for group in groups:
            until(f"{group} has read everything", lambda name=group: missing(load, crowd.seen(name)) == 0)
            until(f"{group} has committed everything", lambda name=group: behind(load, observer, name) == 0)
    finally:
        load.stop()
        observer.stop()
        crowd.end()
    assert not observer.problems, observer.problems[:10]
    assert observer.looks > 10
    assert observer.with_owners == set(groups)
    for group in groups:
        assert [record for record in crowd.records(group) if load.sent[record[:2]] != record[2]] == []
