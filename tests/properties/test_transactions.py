"""Whatever producers, markers, rolls, compactions and kills do, a reader of committed records sees what a
simple model says, and nothing that is not stable."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.storage.log import Log
from tests.storage.builders import StillClock, open_log, sim_disk
from tests.storage.builders import settings as settings_of
from tests.storage.compacted import Compacted
from tests.storage.transactional import Writer, committed_records

PRODUCERS = 3

steps = st.lists(
    st.one_of(
        st.tuples(st.just("write"), st.integers(0, PRODUCERS - 1), st.integers(0, 3)),
        st.tuples(st.just("commit"), st.integers(0, PRODUCERS - 1), st.integers(1, 2)),
        st.tuples(st.just("abort"), st.integers(0, PRODUCERS - 1), st.integers(1, 2)),
        st.tuples(st.just("plain"), st.just(0), st.integers(0, 3)),
        st.tuples(st.sampled_from(["roll", "clean", "kill", "restart", "day"]), st.just(0), st.just(0)),
    ),
    max_size=60,
)


class Model:
    """Records in the order of their offsets, each with the transaction that wrote it; who reads committed
    records sees those before the first one whose transaction is open."""

    def __init__(self) -> None:
        self.records: list[tuple[int, bytes, bytes, int | None]] = []  # offset, key, value, transaction
        self.open: dict[int, int] = {}
        self.aborted: set[int] = set()
        self.transactions = 0

    def write(self, offset: int, key: bytes, value: bytes, producer: int | None) -> None:
        transaction = None
        if producer is not None:
            if producer not in self.open:
                self.transactions += 1
                self.open[producer] = self.transactions
            transaction = self.open[producer]
        self.records.append((offset, key, value, transaction))

    def end(self, producer: int, *, commit: bool) -> None:
        transaction = self.open.pop(producer, None)
        if transaction is not None and not commit:
            self.aborted.add(transaction)

    def stable(self, end: int) -> int:
        running = set(self.open.values())
        return min(
            (offset for offset, _, _, transaction in self.records if transaction in running), default=end
        )

    def state(self, end: int) -> dict[bytes, bytes]:
        stable = self.stable(end)
        return {
            key: value
            for offset, key, value, transaction in self.records
            if offset < stable and transaction not in self.aborted
        }


class World:
    def __init__(self) -> None:
        self.topic = Compacted(sim_disk(), segment_bytes=400, delete_retention_ms=1000)
        self.model = Model()
        self.writers = [Writer(number) for number in range(PRODUCERS)]
        self.number = 0

    def step(self, what: str, who: int, number: int) -> None:
        topic, log, self.number = self.topic, self.topic.log, self.number + 1
        value = b"%d" % self.number
        if what == "write":
            key = b"k%d" % number
            self.model.write(self.writers[who].write(log, (key, value)).base_offset, key, value, who)
        elif what in ("commit", "abort"):
            self.writers[who].end(log, commit=what == "commit", version=number)
            self.model.end(who, commit=what == "commit")
        elif what == "plain":
            key = b"k%d" % number
            self.model.write(topic.put((key, value)).base_offset, key, value, None)
        elif what == "roll":
            topic.seal()
        elif what == "clean":
            topic.clean()
            assert topic.cleaner.uncleanable() == {}
        elif what == "day":
            topic.clock.pass_ms(3_600_000)
        else:
            if what == "restart":
                topic.logs.close()
            else:
                topic.disk.kill()
            topic.open()

    def check(self) -> None:
        log = self.topic.log
        assert log.last_stable_offset == self.model.stable(log.log_end_offset)
        found = {record.key: record.value for record in committed_records(log, 200)}
        assert found == self.model.state(log.log_end_offset)


@given(steps)
@settings(max_examples=60, deadline=None)
def test_readers_of_committed_records_see_what_the_model_says(taken: list[tuple[str, int, int]]) -> None:
    world = World()
    for what, who, number in taken:
        world.step(what, who, number)
    world.check()


cuts = st.lists(
    st.one_of(
        st.tuples(st.just("write"), st.integers(0, PRODUCERS - 1)),
        st.tuples(st.sampled_from(["commit", "abort"]), st.integers(0, PRODUCERS - 1)),
        st.tuples(st.sampled_from(["roll", "flush", "kill", "crash", "restart"]), st.just(0)),
        st.tuples(st.just("truncate"), st.integers(1, 9)),
    ),
    max_size=50,
)


class Cut:
    """A log on a disk that loses power. What a start knows must be what the batches alone tell."""

    def __init__(self) -> None:
        self.disk = sim_disk()
        self.clock = StillClock()
        self.settings = settings_of(segment_bytes=400, index_interval_bytes=100)
        self.log = open_log(self.disk, self.clock, settings=self.settings)
        self.writers = [Writer(number) for number in range(PRODUCERS)]
        self.epoch = 0

    def step(self, what: str, number: int) -> None:
        log = self.log
        if what == "write":
            self.writers[number].write(log, b"%d" % number + bytes(40))
        elif what in ("commit", "abort"):
            self.writers[number].end(log, commit=what == "commit", version=2)
        elif what == "truncate":
            log.truncate_to(max(log.log_start_offset, log.log_end_offset - number))
            self._new_epoch()
        elif what == "roll":
            log.roll()
        elif what == "flush":
            log.flush()
        else:
            self._start_again(what)

    def _start_again(self, what: str) -> None:
        point = self.log.recovery_point
        if what == "restart":
            self.log.close()
        elif what == "kill":
            self.disk.kill()
        else:
            self.disk.crash()
        clean = what == "restart"
        options = {"settings": self.settings, "recovery_point": point, "clean": clean}
        self.log = open_log(self.disk, self.clock, **options)
        self._new_epoch()

    def _new_epoch(self) -> None:
        """Writers whose last words were lost begin anew, as their coordinator makes them."""
        self.epoch += 100
        for writer in self.writers:
            writer.epoch, writer.sequence = self.epoch, 0

    def check(self) -> None:
        alone = sim_disk()
        alone.make_dir("/data/topic-0")
        for name in self.disk.list_dir("/data/topic-0"):
            if name.endswith(".log"):
                data = self.disk.read_bytes(f"/data/topic-0/{name}")
                alone.create(f"/data/topic-0/{name}").append(data)
        assert facts(self.log) == facts(open_log(alone, self.clock, settings=self.settings))


def facts(log: Log) -> tuple[object, ...]:
    end = log.log_end_offset
    return end, log.last_stable_offset, log.aborted_between(0, end), sorted(log.producers.active())


@given(cuts)
@settings(max_examples=100, deadline=None)
def test_after_power_cuts_and_truncations_indexes_say_what_the_batches_say(
    taken: list[tuple[str, int]],
) -> None:
    world = Cut()
    for what, number in taken:
        world.step(what, number)
    world.check()
