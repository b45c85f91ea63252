"""Two clusters that mirror each other under load, killed on every side: each has every record of the other
once, in the order of its partition, and nothing runs in a circle."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from random import Random

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from penstock.mirror.layouts import Checkpoint, OffsetSync
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


class Movers:
    """A group that reads a topic on one side, and then goes on with its copy on the other."""

    GROUP = "movers"
    TOPIC = "one"

    def __init__(self, source: str, target: str) -> None:
        self._source = Client(source)
        self._target = Client(target)

    def process(self, count: int) -> None:
        self._source.consume(self.GROUP, [self.TOPIC], count)

    def move_and_judge(self, alias: str, copies: Copies, written: int, mirror: Mirror) -> None:
        """It skips nothing, and reads no more again than its bound. The source has no markers, so its offsets
        are the numbers that were written."""
        committed = self._source.committed(self.GROUP)
        upstream = {
            number: offset
            for (topic, number), offset in committed.items()
            if topic == self.TOPIC and offset > 0
        }
        assert upstream, committed
        copy = f"{alias}.{self.TOPIC}"

        def within_bound() -> bool:
            known = self._known()
            if not all((copy, number) in known for number in upstream):
                return False
            first = {number: _first_from(copies, (copy, number), known[copy, number]) for number in upstream}
            skipped = {number: at for number, at in first.items() if at > upstream[number]}
            assert not skipped, (
                f"{copy}: the group would skip to {skipped} from {upstream}, which is {known}\n"
                + self._told(alias, copies, skipped)
            )
            return all(
                upstream[number] - at <= max(LAG_MAX, written - upstream[number])
                for number, at in first.items()
            )

        until(f"group of {alias} is within its bound: {upstream} of {written}", within_bound, mirror.told)
        for number, offset in upstream.items():
            known = self._known()[copy, number]
            read = [int(value) for _, value, _, _ in self._target.read(copy, number, known) if value]
            assert read == list(range(read[0], written)), (copy, number)
            assert read[0] <= offset
            print(f"group of {alias}: {copy}-{number} at {offset} of {written}, {offset - read[0]} again")

    def _told(self, alias: str, copies: Copies, places: Iterable[int]) -> str:
        """What the mirror has told of these partitions, for a failure's message."""
        lines = []
        other = "B" if alias == "A" else "A"
        for key, value, _, _ in self._source.read(f"mm2-offset-syncs.{other}.internal"):
            sync = OffsetSync.read(key, value)
            if sync is not None and sync.place.topic == self.TOPIC and sync.place.partition in places:
                at = copies.offsets[f"{alias}.{self.TOPIC}", sync.place.partition]
                true = at[sync.upstream] if sync.upstream < len(at) else None
                lines.append(
                    f"sync {sync.place.partition}: {sync.upstream} is {sync.downstream}, truly {true}"
                )
        for key, value, _, _ in self._target.read(f"{alias}.checkpoints.internal"):
            checkpoint = Checkpoint.read(key, value)
            if checkpoint is not None and checkpoint.group == self.GROUP:
                lines.append(str(checkpoint))
        return "\n".join(lines)

    def _known(self) -> dict[tuple[str, int], int]:
        try:
            return self._target.committed(self.GROUP)
        except Exception:  # the group is not there yet
            return {}


def _first_from(copies: Copies, place: tuple[str, int], offset: int) -> int:
    """The first number from an offset of the copy on; behind the last one where there is none."""
    found = (
        int(v) for v, at in zip(copies.values[place], copies.offsets[place], strict=True) if at >= offset
    )
    return next(found, len(copies.values[place]))


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
    movers = {alias: Movers(servers[alias], servers[other]) for alias, other in (("A", "B"), ("B", "A"))}
    while deck.kills.total() < kills:
        await_copies({alias: each.least + 5 for alias, each in copies.items()})
        if deck.kills.total() == kills // 2:
            for alias, each in movers.items():
                each.process(loads[alias].count // 3)
        time.sleep(chooser.uniform(0, 1.0))  # any point of a batch
        deck.kill()
    await_copies({alias: each.least + 5 for alias, each in copies.items()})
    for alias, each in movers.items():
        each.process(loads[alias].count // 3)
    written = {alias: load.finish() for alias, load in loads.items()}
    await_copies(written)
    for each in copies.values():
        each.read(2)  # what is too many would come now
    for alias, each in copies.items():
        each.judge(written[alias])
        names = Client(servers[alias]).topics()
        assert not [name for name in names if name.startswith(("A.B.", "B.A."))], names
    for alias, each in movers.items():
        each.move_and_judge(alias, copies[alias], written[alias], mirror)
    text = mirror.ask("/metrics")
    for alias, other in (("A", "B"), ("B", "A")):
        labels = f'{{source="{alias}",target="{other}"'
        assert f'penstock_mirror_lag_records{labels},topic="one",partition="0"}} 0' in text
        assert mirror.flows()[f"{alias}->{other}"]["state"] == "running"
    assert mirror.stop() == 0, mirror.told()
    print(f"{dict(deck.kills)}, {written} records a partition, on {master}")
