"""A8: random transactions and aborts by five clients while the broker is killed; all thirteen rules hold, and
money that moves between accounts is neither made nor lost."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from random import Random

import pytest
from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient, NewTopic

from penstock.testing.history import Recorder, assert_kept
from penstock.testing.history.clients import RecordedConsumer, RecordedProducer, read_to_the_end
from penstock.testing.history.events import Isolation, Partition
from penstock.testing.process import BrokerProcess

CLIENTS = 5
PARTITIONS = 4
SHORT_SECONDS = 4.0
LONG_SECONDS = 900.0
ROUND_SECONDS = 20.0
DEADLINE_SECONDS = 90.0
SETTINGS = {
    "log.segment.bytes": "200000",
    "transaction.state.log.num.partitions": "4",
    "offsets.topic.num.partitions": "1",
}


class Banker(threading.Thread):
    """Moves money between random accounts, and changes its mind in a quarter of all transactions."""

    def __init__(self, recorder: Recorder, servers: str, name: str, topic: str, seed: int) -> None:
        super().__init__(daemon=True)
        self._recorder = recorder
        self._servers = servers
        self._name = name
        self._topic = topic
        self._random = Random(seed)
        self._stopping = threading.Event()
        self.committed = self.aborted = self.lives = 0
        self.failure: BaseException | None = None

    def run(self) -> None:
        try:
            while not self._stopping.is_set():
                self.lives += 1
                self._live()
        except BaseException as error:  # told by finish
            self.failure = error

    def _live(self) -> None:
        config = {
            "bootstrap.servers": self._servers,
            "transactional.id": self._name,
            "transaction.timeout.ms": 30_000,
            "reconnect.backoff.max.ms": 200,
            "linger.ms": 0,
        }
        producer = RecordedProducer(self._recorder, f"{self._name}.{self.lives}", config)
        try:
            while not self._stopping.is_set():
                producer.begin()
                for _ in range(self._random.randint(1, 3)):
                    self._transfer(producer)
                if self._random.random() < 0.75 and producer.commit():
                    self.committed += 1
                else:
                    producer.abort()
                    self.aborted += 1
        except KafkaException as error:
            if not error.args[0].fatal():
                raise  # a fatal one ends this life; the next one fences what is left of it

    def _transfer(self, producer: RecordedProducer) -> None:
        amount = self._random.randint(1, 100)
        for sign in (-1, +1):
            account = Partition(self._topic, self._random.randrange(PARTITIONS))
            assert producer.send(account, amount=sign * amount)

    def finish(self) -> None:
        self._stopping.set()
        self.join(DEADLINE_SECONDS)
        assert not self.is_alive()
        if self.failure is not None:
            raise self.failure


class Auditor(threading.Thread):
    """Reads what is committed, all the time."""

    def __init__(self, recorder: Recorder, servers: str, partitions: list[Partition]) -> None:
        super().__init__(daemon=True)
        self._partitions = partitions
        self._stopping = threading.Event()
        config = {"bootstrap.servers": servers, "reconnect.backoff.max.ms": 200}
        self._consumer = RecordedConsumer(recorder, "auditor", config)

    def run(self) -> None:
        self._consumer.assign(dict.fromkeys(self._partitions, 0))
        while not self._stopping.is_set():
            self._consumer.poll(1_000, 0.2)
        self._consumer.close()

    def finish(self) -> None:
        self._stopping.set()
        self.join(DEADLINE_SECONDS)
        assert not self.is_alive()


@pytest.mark.claim("A8")
@pytest.mark.timeout(1800)
def test_random_transactions_are_whole_or_gone(tmp_path: Path, seed: int, long_form: bool) -> None:
    random, committed, aborted, kills = Random(seed), 0, 0, 0
    end = time.monotonic() + (LONG_SECONDS if long_form else SHORT_SECONDS)
    round_seconds = ROUND_SECONDS if long_form else SHORT_SECONDS
    with BrokerProcess(str(tmp_path / "data"), SETTINGS) as broker:
        for number in range(10_000):
            played = play_round(broker, f"accounts-{number}", random, round_seconds)
            committed, aborted, kills = committed + played[0], aborted + played[1], kills + played[2]
            if time.monotonic() >= end:
                break
    print(f"{committed} transactions committed, {aborted} aborted, {kills} kills")
    assert committed
    assert aborted


def play_round(broker: BrokerProcess, topic: str, random: Random, seconds: float) -> tuple[int, int, int]:
    """Transactions, kills, full reads and the verdict; gives commits, aborts and kills."""
    servers, recorder, kills = broker.bootstrap_servers, Recorder(), 0
    partitions = [Partition(topic, index) for index in range(PARTITIONS)]
    admin = AdminClient({"bootstrap.servers": servers})
    admin.create_topics([NewTopic(topic, PARTITIONS)])[topic].result(10)
    bankers = [
        Banker(recorder, servers, f"{topic}-banker{number}", topic, random.getrandbits(32))
        for number in range(CLIENTS)
    ]
    auditor = Auditor(recorder, servers, partitions)
    for thread in (*bankers, auditor):
        thread.start()
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        threading.Event().wait(random.uniform(0.5, 2.0))  # kill at a random moment of the flow
        broker.kill()
        broker.start()
        kills += 1
    for thread in (*bankers, auditor):
        thread.finish()
    finals = [
        *read_to_the_end(servers, partitions, seconds=DEADLINE_SECONDS),
        *read_to_the_end(servers, partitions, isolation=Isolation.READ_COMMITTED, seconds=DEADLINE_SECONDS),
    ]
    assert_kept(recorder.history(finals, total=0))
    return (
        sum(banker.committed for banker in bankers),
        sum(banker.aborted for banker in bankers),
        kills,
    )
