"""Two clusters that mirror each other under load, killed on every side: each has every record of the other
once, in the order of its partition, and nothing runs in a circle."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from penstock.testing.process import BrokerProcess
from tests.faults.pipeline_kills import Deck, Killable
from tests.faults.pipeline_rig import Rig, standalone
from tests.mirroring.rig import Client, Mirror, until, write_config
from tests.peers.apache_kafka import ApacheKafka

TOPICS = ("one", "two", "three")
PARTITIONS = 2
IN_CI = ("task", "target", "driver", "source")
LONG_KILLS = 5
"""Of each of the long form's pieces; the last one runs on a standalone Spark cluster."""
PIECES = 6
LAG_MAX = 100
CATCH_UP_SECONDS = 900.0


class Load(threading.Thread):
    """Writes the numbers from 0 to each partition of all topics, in order, until it is stopped."""

    def __init__(self, servers: str) -> None:
        super().__init__(daemon=True)
        self._servers = servers
        self._stopping = threading.Event()
        self.count = 0
        """Of each partition."""

    def run(self) -> None:
        settings = {"enable.idempotence": True, "delivery.timeout.ms": 600_000, "log_level": 0}
        producer = Producer(
            {"bootstrap.servers": self._servers, "reconnect.backoff.max.ms": 500, "linger.ms": 20, **settings}
        )
        while not self._stopping.wait(0.1):
            for topic in TOPICS:
                for partition in range(PARTITIONS):
                    producer.produce(topic, str(self.count), partition=partition)
            self.count += 1
            producer.poll(0)
        assert producer.flush(120) == 0

    def finish(self) -> int:
        self._stopping.set()
        self.join(150)
        return self.count


class Copies:
    """Everything committed in the mirrored topics of a cluster, in order."""

    def __init__(self, servers: str, alias: str) -> None:
        self._consumer = Consumer(
            {
                "bootstrap.servers": servers,
                "group.id": "judge",
                "isolation.level": "read_committed",
                "enable.auto.commit": False,
                "reconnect.backoff.max.ms": 500,
                "log_level": 0,
            }
        )
        places = [(f"{alias}.{topic}", number) for topic in TOPICS for number in range(PARTITIONS)]
        self._consumer.assign([TopicPartition(*place, 0) for place in places])
        self.values: dict[tuple[str, int], list[str]] = {place: [] for place in places}
        self.offsets: dict[tuple[str, int], list[int]] = {place: [] for place in places}

    @property
    def least(self) -> int:
        return min(map(len, self.values.values()))

    def read(self, seconds: float) -> None:
        for message in self._consumer.consume(10_000, seconds):
            if message.error() is None:
                place = message.topic(), message.partition()
                self.values[place].append(message.value().decode())
                self.offsets[place].append(message.offset())

    def judge(self, written: int) -> None:
        expected = [str(number) for number in range(written)]
        for place, values in self.values.items():
            assert values == expected, f"{place}: {len(values)} of {written}, the first difference at " + str(
                next((n for n, (a, b) in enumerate(zip(values, expected, strict=False)) if a != b), "the end")
            )


@pytest.fixture
def brokers(tmp_path: Path, pytestconfig: pytest.Config) -> Iterator[tuple[Killable, Killable]]:
    """Two of ours; with `--apache` the second is Apache's."""
    with contextlib.ExitStack() as running:
        one = running.enter_context(BrokerProcess(str(tmp_path / "a")))
        if pytestconfig.getoption("--apache"):
            yield one, running.enter_context(ApacheKafka(parent=tmp_path))
        else:
            yield one, running.enter_context(BrokerProcess(str(tmp_path / "b")))


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[Rig]:
    rig = Rig(tmp_path / "log")
    yield rig
    rig.close()


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "piece" in metafunc.fixturenames:
        metafunc.parametrize("piece", range(PIECES if metafunc.config.getoption("--long") else 1))


@pytest.mark.timeout(3600)
def test_two_clusters_that_are_killed_on_every_side_have_each_record_once(
    brokers: tuple[Killable, Killable], rig: Rig, tmp_path: Path, seed: int, piece: int, long_form: bool
) -> None:
    chooser = Random(seed + piece)
    on_a_cluster = piece == PIECES - 1
    cluster = standalone(rig, tmp_path) if on_a_cluster else contextlib.nullcontext("local[2]")
    with cluster as master:
        _kill_and_judge(brokers, rig, tmp_path, chooser, master, long_form)


def _kill_and_judge(
    brokers: tuple[Killable, Killable], rig: Rig, work: Path, chooser: Random, master: str, long_form: bool
) -> None:
    servers = {"A": brokers[0].bootstrap_servers, "B": brokers[1].bootstrap_servers}
    for each in servers.values():
        admin = AdminClient({"bootstrap.servers": each})
        for future in admin.create_topics([NewTopic(name, PARTITIONS, 1) for name in TOPICS]).values():
            future.result(30)
    config = write_config(
        work / "mm2.properties", servers, ["A->B", "B->A"], topics="one,two,three",
        max_offsets_per_batch="2000", offset_lag_max=str(LAG_MAX), spark_master=master,
    )  # fmt: skip
    mirror = Mirror(config).start(**rig.environment())
    loads = {alias: Load(each) for alias, each in servers.items()}
    # What came from A stands on B, and the other way round.
    copies = {"A": Copies(servers["B"], "A"), "B": Copies(servers["A"], "B")}

    def await_copies(counts: dict[str, int]) -> None:
        end = time.monotonic() + CATCH_UP_SECONDS
        while any(copies[alias].least < count for alias, count in counts.items()):
            shown = {alias: copies[alias].least for alias in copies}
            assert time.monotonic() < end, f"{shown} of {counts}\n{mirror.told()}"
            for each in copies.values():
                each.read(0.2)

    def kill_driver() -> bool:
        mirror.kill()
        mirror.start(**rig.environment())
        return True

    def kill_broker(broker: Killable) -> bool:
        broker.kill()
        broker.start()
        return True

    ways = {
        "task": lambda: rig.kill_one(rig.tasks(), chooser),
        "python": lambda: rig.kill_one(rig.daemons(), chooser),
        "driver": kill_driver,
        "source": lambda: kill_broker(brokers[0]),
        "target": lambda: kill_broker(brokers[1]),
    }
    if not master.startswith("local"):
        ways["executor"] = lambda: rig.kill_one(rig.find("CoarseGrainedExecutorBackend"), chooser)
    deck = Deck(ways, chooser, () if long_form else IN_CI)
    for load in loads.values():
        load.start()
    kills = LONG_KILLS if long_form else len(IN_CI)
    while deck.kills.total() < kills:
        await_copies({alias: each.least + 5 for alias, each in copies.items()})
        time.sleep(chooser.uniform(0, 1.0))  # any point of a batch
        deck.kill()
    Client(servers["A"]).consume("movers", ["one"], loads["A"].count // 2)
    written = {alias: load.finish() for alias, load in loads.items()}
    await_copies(written)
    for each in copies.values():
        each.read(2)  # what is too many would come now
    for alias, each in copies.items():
        each.judge(written[alias])
        names = Client(servers[alias]).topics()
        assert not [name for name in names if name.startswith(("A.B.", "B.A."))], names
    _judge_group(Client(servers["A"]), Client(servers["B"]), copies["A"], mirror)
    text = mirror.ask("/metrics")
    for alias, other in (("A", "B"), ("B", "A")):
        labels = f'{{source="{alias}",target="{other}"'
        assert f'penstock_mirror_lag_records{labels},topic="one",partition="0"}} 0' in text
        assert mirror.flows()[f"{alias}->{other}"]["state"] == "running"
    assert mirror.stop() == 0, mirror.told()
    print(f"{dict(deck.kills)}, {written} records a partition, on {master}")


def _judge_group(source: Client, target: Client, copies: Copies, mirror: Mirror) -> None:
    """A group that moves skips nothing, and reads no more again than its bound."""
    upstream = source.committed("movers")
    until("the group is translated", lambda: _known(target), mirror.told)
    for (topic, partition), offset in upstream.items():
        place = f"A.{topic}", partition
        if offset <= 0 or place not in _known(target):
            continue
        values, at = copies.values[place], copies.offsets[place]
        # The source has no markers, so its offsets are the numbers that were written.
        again = [int(value) for value, down in zip(values, at, strict=True) if down >= _known(target)[place]]
        first = min(again, default=len(values))
        assert first <= offset, f"{place}: the group would skip {offset} to {first}"
        assert offset - first <= max(LAG_MAX, len(values) - offset), f"{place}: {offset - first} again"


def _known(target: Client) -> dict[tuple[str, int], int]:
    try:
        return target.committed("movers")
    except Exception:  # the group is not there yet
        return {}
