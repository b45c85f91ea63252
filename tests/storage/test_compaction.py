"""What a round of compaction leaves of a log: the last value of each key, where it was."""

from __future__ import annotations

import contextlib
from random import Random

import pytest

from penstock.protocol.errors import ErrorCode, KafkaError
from penstock.records.batch import iter_headers
from penstock.records.codecs import Codec
from penstock.records.record import Record, encode_batch
from penstock.testing.disk import SimDisk
from tests.storage.builders import NOW_MS, headers, records, settings, sim_disk
from tests.storage.compacted import Compacted
from tests.storage.frail_disk import Died, FrailDisk

HOUR_MS = 3_600_000


@pytest.fixture
def topic() -> Compacted:
    return Compacted(sim_disk(), delete_retention_ms=HOUR_MS)


def test_the_last_value_of_each_key_stays_at_its_offset(topic: Compacted) -> None:
    topic.put((b"a", b"1"), (b"b", b"1"), (b"a", b"2"))
    topic.put((b"c", b"1"))
    topic.put((b"b", b"2"), (b"c", b"2"))
    topic.seal()
    assert topic.clean()
    assert topic.found() == [(2, b"a", b"2"), (4, b"b", b"2"), (5, b"c", b"2")]
    assert (topic.log.log_start_offset, topic.log.log_end_offset) == (0, 6)
    assert not topic.clean()


def test_the_active_segment_is_not_touched(topic: Compacted) -> None:
    topic.put((b"a", b"1"))
    topic.seal()
    topic.put((b"a", b"2"))
    topic.put((b"a", b"3"))
    topic.clean()
    assert [offset for offset, _, _ in topic.found()] == [0, 1, 2]
    topic.seal()
    topic.clean()
    assert [offset for offset, _, _ in topic.found()] == [2]


def test_a_key_in_a_later_round_takes_what_earlier_rounds_kept(topic: Compacted) -> None:
    for number in range(5):
        topic.put((b"a", b"%d" % number), (b"b%d" % number, b""))
        topic.seal()
        topic.clean()
    assert [(key, value) for _, key, value in topic.found() if key == b"a"] == [(b"a", b"4")]
    assert len(topic.found()) == 6


@pytest.mark.parametrize("codec", list(Codec))
def test_a_batch_keeps_codec_sequence_offsets_and_epoch(topic: Compacted, codec: Codec) -> None:
    identity = {"producer_id": 5, "producer_epoch": 1, "base_sequence": 7}
    topic.put((b"a", b"1" * 50), (b"b", b"1" * 50), (b"a", b"2" * 50), (b"a", b"3"), codec=codec, **identity)
    topic.put((b"a", b"4"))
    before = headers(topic.log)[0]
    topic.seal()
    topic.clean()
    after = headers(topic.log)[0]
    assert (after.records_count, after.codec) == (1, codec)
    for field in ("base_offset", "last_offset_delta", "leader_epoch", "producer_id", "producer_epoch"):
        assert getattr(after, field) == getattr(before, field)
    assert after.last_sequence == before.last_sequence
    assert [record.value for record in records(topic.log)] == [b"1" * 50, b"4"]


def test_a_batch_that_keeps_all_its_records_keeps_all_its_bytes(topic: Compacted) -> None:
    topic.put((b"a", b"1"), (b"b", b"1"), codec=Codec.ZSTD)
    topic.put((b"c", b"1"))
    before = topic.log.read(0, 1 << 20)
    assert before is not None
    topic.seal()
    assert topic.clean()
    after = topic.log.read(0, 1 << 20)
    assert after is not None
    assert after.read() == before.read()


def test_the_largest_timestamp_is_that_of_the_records_that_stay(topic: Compacted) -> None:
    batch = encode_batch(
        [Record(b"a", b"1", timestamp_ms=NOW_MS), Record(b"b", b"1", timestamp_ms=NOW_MS + 9)]
    )
    topic.log.append_produced(topic.log.examine(memoryview(batch)), leader_epoch=0)
    topic.put((b"b", b"2"))
    topic.seal()
    topic.clean()
    assert headers(topic.log)[0].max_timestamp == NOW_MS
    assert topic.log.offset_for_time(NOW_MS + 1) is None
    assert topic.log.offset_for_time(NOW_MS) == (NOW_MS, 0)


class TestTombstones:
    def test_a_tombstone_stays_for_delete_retention_ms_after_it_was_first_seen(
        self, topic: Compacted
    ) -> None:
        topic.put((b"a", b"1"), (b"b", b"1"))
        topic.put((b"a", None), (b"c", b"1"))
        topic.seal()
        topic.clock.pass_ms(10 * HOUR_MS)  # its own age does not count
        topic.clean()
        assert topic.found() == [(1, b"b", b"1"), (2, b"a", None), (3, b"c", b"1")]
        topic.clock.pass_ms(HOUR_MS - 1)
        topic.put((b"d", b"1"))
        topic.seal()
        topic.clean()
        assert (2, b"a", None) in topic.found()
        topic.clock.pass_ms(1)
        topic.put((b"e", b"1"))
        topic.seal()
        topic.clean()
        assert b"a" not in [key for _, key, _ in topic.found()]
        assert topic.log.log_end_offset == 6

    def test_the_horizon_stands_in_the_batch_and_timestamps_stay(self, topic: Compacted) -> None:
        topic.put((b"a", None), (b"b", b"1"))
        written = [record.timestamp_ms for record in records(topic.log)]
        topic.seal()
        topic.clock.pass_ms(5)
        topic.clean()
        header = headers(topic.log)[0]
        assert header.delete_horizon_ms == NOW_MS + 5 + HOUR_MS
        assert [record.timestamp_ms for record in records(topic.log)] == written
        assert header.max_timestamp == NOW_MS

    def test_a_second_round_does_not_move_the_horizon(self, topic: Compacted) -> None:
        topic.put((b"a", None), (b"b", b"1"))
        for number in range(3):
            topic.seal()
            topic.clean()
            topic.clock.pass_ms(1000)
            topic.put((b"c", b"%d" % number))
        assert headers(topic.log)[0].delete_horizon_ms == NOW_MS + HOUR_MS


class TestProducers:
    identity = {"producer_id": 5, "producer_epoch": 0}

    def test_the_last_batch_of_a_producer_stays_as_a_header(self, topic: Compacted) -> None:
        topic.put((b"a", b"1"), base_sequence=0, **self.identity)
        topic.put((b"b", b"1"), (b"b", b"2"), base_sequence=1, **self.identity)
        topic.put((b"a", b"2"), (b"b", b"3"))
        topic.put((b"z", b""))
        topic.seal()
        topic.clean()
        kept = headers(topic.log)
        assert [(header.base_offset, header.records_count) for header in kept] == [(1, 0), (3, 2), (5, 1)]
        assert (kept[0].last_offset, kept[0].last_sequence, kept[0].max_timestamp) == (2, 2, NOW_MS)

    @pytest.mark.parametrize("how", ["close", "kill"])
    def test_duplicates_are_known_after_compaction_and_a_restart(self, topic: Compacted, how: str) -> None:
        topic.put((b"a", b"1"), base_sequence=0, **self.identity)
        for number in range(20):
            topic.put((b"a", b"%d" % number), (b"b%d" % (number % 3), bytes(60)))
        topic.seal()
        topic.clean()
        if how == "close":
            topic.logs.close()
        topic.disk.kill()
        topic.open()
        assert topic.put((b"a", b"1"), base_sequence=0, **self.identity).duplicate
        with pytest.raises(KafkaError) as caught:
            topic.put((b"a", b"1"), base_sequence=5, **self.identity)
        assert caught.value.code == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER

    def test_a_producer_that_is_forgotten_leaves_nothing_behind(self, topic: Compacted) -> None:
        topic.put((b"a", b"1"), base_sequence=0, **self.identity)
        topic.put((b"a", b"2"))
        topic.put((b"z", b""))
        topic.seal()
        topic.clock.pass_ms(25 * HOUR_MS)
        topic.log.expire()
        topic.clean()
        assert [header.base_offset for header in headers(topic.log)] == [1, 2]


def test_records_without_keys_go(topic: Compacted) -> None:
    topic.log.reconfigure(settings(segment_bytes=1000))
    batch = encode_batch(
        [Record(None, b"no key", timestamp_ms=NOW_MS), Record(b"a", b"", timestamp_ms=NOW_MS)]
    )
    topic.log.append_produced(topic.log.examine(memoryview(batch)), leader_epoch=0)
    topic.log.reconfigure(settings(**topic.changes))
    topic.seal()
    topic.clean()
    assert topic.found() == [(1, b"a", b"")]


def test_the_batch_before_the_end_stays_as_a_header(topic: Compacted) -> None:
    """A follower that reads to there must learn where the log goes on."""
    topic.log.reconfigure(settings(**{**topic.changes, "cleanup_policy": ("delete",)}))
    topic.put((b"a", b"1"))
    topic.put((None, b"2"), (None, b"3"))
    topic.log.reconfigure(settings(**topic.changes))
    topic.seal()
    assert topic.clean()
    assert topic.found() == [(0, b"a", b"1")]
    assert [(header.records_count, header.next_offset) for header in headers(topic.log)] == [(1, 1), (0, 3)]


def test_small_segments_become_one_and_none_exceeds_segment_bytes(topic: Compacted) -> None:
    for number in range(60):
        topic.put((b"%d" % (number % 10), bytes(100)))
    topic.seal()
    assert len(topic.files(".log")) > 9
    topic.clean()
    topic.put((b"0", bytes(100)))
    topic.seal()
    topic.clean()  # neighbours are measured before a round, so it takes one more to bring them together
    assert len(topic.files(".log")) <= 4
    assert all(topic.disk.size(f"/data/topic-0/{name}") <= 1000 for name in topic.files(".log"))
    sealed = len(topic.files(".log")) - 1
    assert len(topic.files(".index")) == len(topic.files(".timeindex")) == sealed
    assert not topic.files(".deleted")
    assert len(topic.state()) == 10
    bases = {name[:20] for name in topic.files(".log")}
    assert {name[:20] for name in topic.files(".snapshot")} <= bases


def test_indexes_lead_to_every_offset_and_time_afterwards(topic: Compacted) -> None:
    for number in range(80):
        topic.clock.pass_ms(10)
        topic.put((b"%d" % (number * 7 % 23), b"%d" % number))
    topic.seal()
    topic.clean()
    found = records(topic.log)
    for offset in range(80):
        piece = topic.log.read(offset, 1)
        assert piece is not None
        (_, header), *_ = iter_headers(piece.read())
        assert header.base_offset == min(r.offset for r in found if r.offset >= offset)
    for record in found:
        assert topic.log.offset_for_time(record.timestamp_ms) == (record.timestamp_ms, record.offset)


@pytest.mark.parametrize("room", [4, 30, 200])
def test_a_map_that_is_too_small_takes_several_rounds(topic: Compacted, room: int) -> None:
    topic.room_for(room)
    for number in range(100):
        topic.put((b"%d" % (number % 50), b"%d" % number))
    topic.seal()
    rounds = 0
    while topic.clean():
        rounds += 1
        assert len(topic.state()) == 50
        assert rounds < 200
    assert rounds > 1 or room == 200
    assert [offset for offset, _, _ in topic.found()] == list(range(50, 100))


def test_one_batch_with_more_keys_than_the_map_has_room_for_is_compacted(topic: Compacted) -> None:
    topic.room_for(4)
    for _ in range(2):
        topic.put(*((b"%d" % number, b"") for number in range(40)))
    topic.seal()
    while topic.clean():
        pass
    assert [offset for offset, _, _ in topic.found()] == list(range(40, 80))


class TestMeanwhile:
    """What others do while a round is on its way."""

    def filled(self, topic: Compacted) -> None:
        for number in range(40):
            topic.put((b"%d" % (number % 5), b"%d:" % number + bytes(60)))
        topic.seal()

    def interrupt(self, topic: Compacted, action: object, at: int = 3) -> None:
        """Do `action` at the cleaner's n-th step."""
        assert callable(action)
        steps = iter(range(1000))
        throttled = topic.cleaner._resources

        def resources(pause: object) -> object:
            given = throttled(pause)  # type: ignore[arg-type]

            def step(size_bytes: int) -> None:
                if next(steps) == at:
                    action()
                given.step(size_bytes)

            return given._replace(step=step)

        topic.cleaner._resources = resources  # type: ignore[assignment]

    def test_appends_and_reads_go_on(self, topic: Compacted) -> None:
        self.filled(topic)
        slices = []

        def meanwhile() -> None:
            assert not topic.log.lock.is_owned()
            topic.put((b"0", b"newest"))
            piece = topic.log.read(0, 1 << 20)
            assert piece is not None
            slices.append((piece, piece.read()))

        self.interrupt(topic, meanwhile)
        assert topic.clean()
        assert topic.state()[b"0"] == b"newest"
        assert len(topic.found()) == 6
        for piece, data in slices:
            assert piece.read() == data

    def test_retention_wins(self) -> None:
        topic = Compacted(sim_disk(), cleanup_policy=("compact", "delete"), retention_ms=HOUR_MS)
        self.filled(topic)

        def meanwhile() -> None:
            topic.clock.pass_ms(2 * HOUR_MS)
            topic.logs.tick()

        self.interrupt(topic, meanwhile)
        topic.clean()
        assert topic.log.log_start_offset == 40
        assert topic.found() == []
        assert not topic.files(".cleaned")
        assert not topic.files(".swap")

    def test_a_truncated_log_is_left_as_the_truncation_made_it(self, topic: Compacted) -> None:
        self.filled(topic)
        before = topic.found()
        self.interrupt(topic, lambda: topic.log.truncate_to(10))
        assert not topic.clean()
        assert topic.found() == before[:10]
        topic.disk.kill()
        topic.open()
        assert topic.found() == before[:10]

    def test_a_deleted_topic_is_gone(self, topic: Compacted) -> None:
        self.filled(topic)
        log = topic.log
        self.interrupt(topic, lambda: topic.logs.delete("topic", 0))
        assert not topic.clean()
        topic.logs.tick()
        assert log.directory.failure is None
        assert not [name for name in topic.disk.list_dir("/data") if name.startswith("topic")]

    def test_a_stopping_broker_does_not_wait_for_it(self, topic: Compacted) -> None:
        self.filled(topic)
        self.interrupt(topic, topic.cleaner.stop)
        before = topic.found()
        assert not topic.clean()
        assert not topic.clean()
        assert topic.found() == before
        assert not topic.files(".cleaned")


def filled_for_death(disk: SimDisk) -> Compacted:
    """Several groups, with keys that live in one of them and keys that live in all; the last not flushed."""
    topic = Compacted(disk, delete_retention_ms=0)
    for number in range(30):
        topic.put((b"once%d" % number, bytes(50)), (b"often", b"%d" % number))
        topic.put((b"often%d" % (number % 4), b"%d" % number if number % 5 else None))
        if number % 2:
            topic.log.roll()  # small segments, so that several of them become one
    topic.seal()
    assert topic.clean()
    topic.put(*((b"once%d" % number, None) for number in range(0, 30, 2)))
    topic.put(*((b"once%d" % number, b"again") for number in range(1, 30, 6)))
    for number in range(12):
        topic.put((b"filling%d" % (number % 3), bytes(100)))
    return topic


@pytest.mark.claim("A4")
@pytest.mark.parametrize("power_cut", [False, True])
def test_nothing_is_lost_when_the_process_dies_at_any_operation_of_a_round(power_cut: bool) -> None:
    operation = 0
    while True:
        topic = filled_for_death(FrailDisk(Random(operation)))
        disk = topic.disk
        assert isinstance(disk, FrailDisk)
        topic.seal()
        expected, end = topic.state(), topic.log.log_end_offset
        disk.arm(operation)
        try:
            topic.clean()
            finished = True
        except Died:
            finished = False
        if power_cut:
            disk.crash()
        else:
            disk.kill()
        topic.open()
        assert (topic.state(), topic.log.log_end_offset) == (expected, end), operation
        assert not topic.files(".cleaned") + topic.files(".swap") + topic.files(".deleted")
        while topic.clean():
            pass
        assert topic.state() == expected, operation
        if finished:
            break
        operation += 1
    assert operation > 60


def test_a_power_cut_never_takes_a_value_together_with_the_one_it_replaced() -> None:
    for seed in range(60):
        topic = filled_for_death(FrailDisk(Random(seed)))
        disk = topic.disk
        assert isinstance(disk, FrailDisk)
        topic.log.roll()  # sealed, but not flushed
        everything = topic.found()
        disk.arm(seed)
        with contextlib.suppress(Died):
            topic.clean()
        disk.crash()
        topic.open()
        state: dict[bytes | None, bytes | None] = {}
        for offset, key, value in everything:
            if offset < topic.log.log_end_offset:
                state[key] = value
        assert topic.state() == {key: value for key, value in state.items() if value is not None}, seed
