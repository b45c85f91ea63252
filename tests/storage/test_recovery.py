"""After an unclean stop a log ends at its last whole batch, and every damaged byte is noticed (claim A3)."""

from __future__ import annotations

from typing import Any, ClassVar

import pytest

from penstock.records.batch import HEADER_SIZE, read_header
from penstock.records.codecs import Codec
from penstock.storage.errors import Corruption
from penstock.storage.incoming import examine_fetched
from penstock.storage.log import Log
from penstock.testing.disk import SimDisk
from tests.storage.builders import (
    NOW_MS,
    StillClock,
    append,
    append_many,
    batch,
    headers,
    open_log,
    records,
    settings,
    sim_disk,
    values,
)

PATH = "/data/topic-0"
SEGMENT = f"{PATH}/{0:020d}.log"
# Whoever dies without a word leaves its newest epochs here.
EPOCHS = f"{PATH}/leader-epoch-checkpoint.unsynced"

# What stands in front of the CRC, and which check of recovery notices when it changes.
OUTSIDE_THE_CRC = {
    "base offset": range(8),  # offsets are dense unless the topic is compacted
    "batch length": range(8, 12),  # then the CRC is that of other bytes, or the batch exceeds the file
    "leader epoch": range(12, 16),  # every epoch is on record in leader-epoch-checkpoint
    "magic": range(16, 17),
    "crc": range(17, 21),
}


@pytest.fixture
def disk() -> SimDisk:
    return sim_disk()


def small(**changes: Any) -> Any:
    return settings(**{"segment_bytes": 1000, "index_interval_bytes": 100, **changes})


def replace(disk: SimDisk, path: str, data: bytes) -> None:
    disk.create(path).append(data)


def killed(log: Log, disk: SimDisk) -> None:
    """The process dies without a word."""
    disk.kill()
    del log


def files(disk: SimDisk, suffix: str) -> dict[str, bytes]:
    return {name: disk.read_bytes(f"{PATH}/{name}") for name in disk.list_dir(PATH) if name.endswith(suffix)}


@pytest.mark.claim("A3")
@pytest.mark.parametrize("codec", [Codec.NONE, Codec.ZSTD])
def test_a_log_cut_at_any_byte_of_its_last_batch_ends_at_the_last_whole_one(
    disk: SimDisk, codec: Codec
) -> None:
    log = open_log(disk)
    append(log, b"a", b"b", leader_epoch=1)
    append(log, b"c", leader_epoch=2)
    whole = disk.size(SEGMENT)
    append(log, b"d" * 50, b"e", b"f", leader_epoch=3, codec=codec)
    killed(log, disk)
    full = disk.read_bytes(SEGMENT)
    epochs = disk.read_bytes(EPOCHS)
    for size in range(whole, len(full)):
        replace(disk, SEGMENT, full[:size])
        replace(disk, EPOCHS, epochs)
        log = open_log(disk)
        assert (log.log_end_offset, values(log)) == (3, [b"a", b"b", b"c"])
        assert disk.size(SEGMENT) == whole
        assert log.epochs.entries() == [(1, 0), (2, 2)]
        append(log, b"next", leader_epoch=4)
        assert values(log)[-1] == b"next"
        disk.kill()
    replace(disk, SEGMENT, full)
    replace(disk, EPOCHS, epochs)
    assert open_log(disk).log_end_offset == 6


@pytest.mark.claim("A3")
def test_every_flipped_bit_of_the_last_batch_is_noticed(disk: SimDisk) -> None:
    log = open_log(disk)
    append(log, b"a", b"b", leader_epoch=1)
    start = disk.size(SEGMENT)
    append(log, b"c", leader_epoch=2, producer_id=7, producer_epoch=0, base_sequence=0)
    killed(log, disk)
    sound = disk.read_bytes(SEGMENT)
    epochs = disk.read_bytes(EPOCHS)
    for position in range(start, len(sound)):
        for bit in range(8):
            flipped = bytearray(sound)
            flipped[position] ^= 1 << bit
            replace(disk, SEGMENT, bytes(flipped))
            replace(disk, EPOCHS, epochs)
            log = open_log(disk)
            assert (log.log_end_offset, values(log)) == (2, [b"a", b"b"]), (position - start, bit)
            disk.kill()


def test_the_fields_outside_the_crc_are_all_listed() -> None:
    listed = sorted(position for field in OUTSIDE_THE_CRC.values() for position in field)
    assert listed == list(range(21))


@pytest.mark.claim("A3")
def test_every_flipped_byte_in_the_middle_cuts_the_log_there(disk: SimDisk) -> None:
    log = open_log(disk)
    append(log, b"a")
    start = disk.size(SEGMENT)
    append(log, b"b", b"c")
    end = disk.size(SEGMENT)
    append(log, b"d")
    killed(log, disk)
    sound = disk.read_bytes(SEGMENT)
    for position in range(start, end):
        flipped = bytearray(sound)
        flipped[position] ^= 0xFF
        replace(disk, SEGMENT, bytes(flipped))
        assert values(open_log(disk)) == [b"a"], position - start
        disk.kill()


@pytest.mark.claim("A3")
def test_garbage_behind_the_last_batch_is_cut_away(disk: SimDisk) -> None:
    log = open_log(disk)
    append(log, b"a")
    killed(log, disk)
    sound = disk.read_bytes(SEGMENT)
    for garbage in (bytes(1), bytes(500), b"\xff" * 500, sound, sound[:HEADER_SIZE]):
        replace(disk, SEGMENT, sound + garbage)
        assert values(open_log(disk)) == [b"a"]
        disk.kill()


def test_what_follows_a_torn_segment_goes_with_its_tail(disk: SimDisk) -> None:
    log = open_log(disk, settings=small())
    written = append_many(log, 12, size=300)
    killed(log, disk)
    third = f"{PATH}/{4:020d}.log"
    replace(disk, third, disk.read_bytes(third)[:-1])
    log = open_log(disk, settings=small())
    assert values(log) == written[:5]
    assert list(files(disk, ".log")) == [f"{base:020d}.log" for base in (0, 2, 4)]
    assert list(files(disk, ".index")) == [f"{base:020d}.index" for base in (0, 2, 4)]
    assert max(files(disk, ".snapshot")) <= f"{5:020d}.snapshot"


def test_what_follows_a_missing_segment_goes_too(disk: SimDisk) -> None:
    log = open_log(disk, settings=small())
    written = append_many(log, 12, size=300)
    killed(log, disk)
    disk.remove(f"{PATH}/{4:020d}.log")
    assert values(open_log(disk, settings=small())) == written[:4]


def test_gaps_are_kept_in_a_compacted_topic(disk: SimDisk) -> None:
    compacted = small(cleanup_policy=("compact",))
    log = open_log(disk, settings=compacted)
    for offset in (3, 10, 500, 501):
        log.append_fetched(examine_fetched(batch(b"v" * 400, base_offset=offset)))
    killed(log, disk)
    assert [header.base_offset for header in headers(open_log(disk, settings=compacted))] == [3, 10, 500, 501]


def test_damage_below_the_recovery_point_is_corruption_and_nothing_is_cut(disk: SimDisk) -> None:
    log = open_log(disk)
    append(log, b"a")
    append(log, b"b")
    log.flush()
    append(log, b"c")
    killed(log, disk)
    damaged = bytearray(disk.read_bytes(SEGMENT))
    position = read_header(damaged).size_bytes
    damaged[position + 70] ^= 1
    replace(disk, SEGMENT, bytes(damaged))
    with pytest.raises(Corruption, match="CRC") as caught:
        open_log(disk, recovery_point=2)
    assert (caught.value.path, caught.value.position) == (SEGMENT, position)
    assert disk.read_bytes(SEGMENT) == damaged


def test_segments_below_the_recovery_point_are_not_read_again(disk: SimDisk) -> None:
    log = open_log(disk, settings=small())
    append_many(log, 12, size=300)
    log.flush()
    killed(log, disk)
    first = bytearray(disk.read_bytes(SEGMENT))
    first[70] ^= 1
    replace(disk, SEGMENT, bytes(first))
    assert open_log(disk, settings=small(), recovery_point=12).log_end_offset == 12


def test_a_recovery_point_beyond_a_clean_cut_is_forgiven(disk: SimDisk) -> None:
    log = open_log(disk)
    append_many(log, 5)
    log.flush()
    log.truncate_to(3)
    killed(log, disk)
    assert open_log(disk, recovery_point=5).log_end_offset == 3


def test_what_was_recovered_is_durable(disk: SimDisk) -> None:
    log = open_log(disk, settings=small())
    written = append_many(log, 12, size=300)
    killed(log, disk)
    log = open_log(disk, settings=small())
    assert log.recovery_point == 12
    disk.crash()
    assert values(open_log(disk, settings=small(), recovery_point=12)) == written


def test_a_lost_epoch_file_is_made_anew_from_the_batches(disk: SimDisk) -> None:
    log = open_log(disk)
    for epoch in (1, 1, 4, 7):
        append(log, b"v", leader_epoch=epoch)
    killed(log, disk)
    disk.remove(EPOCHS)
    assert open_log(disk).epochs.entries() == [(1, 0), (4, 2), (7, 3)]


def test_without_an_epoch_file_an_epoch_that_goes_back_ends_the_log(disk: SimDisk) -> None:
    log = open_log(disk)
    append(log, b"a", leader_epoch=5)
    position = disk.size(SEGMENT)
    append(log, b"b", leader_epoch=5)
    killed(log, disk)
    disk.remove(EPOCHS)
    damaged = bytearray(disk.read_bytes(SEGMENT))
    damaged[position + 15] = 4
    replace(disk, SEGMENT, bytes(damaged))
    assert values(open_log(disk)) == [b"a"]


def test_batches_before_the_log_start_are_not_held_against_the_epochs_after_it(disk: SimDisk) -> None:
    log = open_log(disk)
    for epoch in (1, 2, 3):
        append(log, b"v", leader_epoch=epoch)
    log.delete_records_before(2)
    killed(log, disk)
    log = open_log(disk, log_start_offset=2)
    assert (log.log_start_offset, log.log_end_offset) == (2, 3)


class TestIndexes:
    @pytest.fixture
    def closed(self, disk: SimDisk) -> list[bytes]:
        """A log of several segments that was closed cleanly; its values."""
        log = open_log(disk, settings=small())
        for number in range(30):
            append(log, b"%d" % number, timestamp_ms=NOW_MS + number)
        written = values(log)
        log.close()
        disk.kill()
        return [value for value in written if value is not None]

    def check(self, disk: SimDisk, expected: list[bytes], indexes: dict[str, bytes], *, clean: bool) -> None:
        log = open_log(disk, settings=small(), clean=clean)
        for offset in range(30):
            piece = log.read(offset, 1)
            assert piece is not None
            assert read_header(piece.read()).base_offset == offset
            assert log.offset_for_time(NOW_MS + offset) == (NOW_MS + offset, offset)
        assert values(log) == expected
        log.close()
        disk.kill()
        assert files(disk, "index") == indexes

    @pytest.mark.parametrize("clean", [True, False])
    def test_deleted_indexes_are_rebuilt(self, disk: SimDisk, closed: list[bytes], clean: bool) -> None:
        indexes = files(disk, "index")
        assert sum(map(len, indexes.values())) > 100
        for name in indexes:
            disk.remove(f"{PATH}/{name}")
        self.check(disk, closed, indexes, clean=clean)

    @pytest.mark.parametrize("clean", [True, False])
    @pytest.mark.parametrize("garbage", [b"\xff" * 24, b"\x00" * 48, b"short"])
    def test_garbage_in_indexes_is_noticed_and_rebuilt(
        self, disk: SimDisk, closed: list[bytes], garbage: bytes, clean: bool
    ) -> None:
        indexes = files(disk, "index")
        for name in indexes:
            replace(disk, f"{PATH}/{name}", garbage)
        self.check(disk, closed, indexes, clean=clean)

    @pytest.mark.claim("A3")
    @pytest.mark.parametrize("clean", [True, False])
    @pytest.mark.parametrize("times_first", [True, False])
    def test_every_flipped_byte_of_the_indexes_is_noticed_when_it_matters(
        self, disk: SimDisk, closed: list[bytes], times_first: bool, clean: bool
    ) -> None:
        for name, sound in files(disk, "index").items():
            for position in range(len(sound)):
                damaged = bytearray(sound)
                damaged[position] ^= 0x15
                replace(disk, f"{PATH}/{name}", bytes(damaged))
                log = open_log(disk, settings=small(), clean=clean)
                if times_first:
                    assert log.max_timestamp() == (NOW_MS + 29, 29)
                    for number in range(30):
                        assert log.offset_for_time(NOW_MS + number) == (NOW_MS + number, number)
                for offset in range(30):
                    piece = log.read(offset, 1)
                    assert piece is not None
                    assert read_header(piece.read()).base_offset == offset
                assert values(log) == closed
                disk.kill()
                replace(disk, f"{PATH}/{name}", sound)

    def test_an_index_without_a_log_is_swept_away(self, disk: SimDisk, closed: list[bytes]) -> None:
        replace(disk, f"{PATH}/{999:020d}.index", b"")
        replace(disk, f"{PATH}/{999:020d}.log.deleted", b"")
        replace(disk, f"{PATH}/leader-epoch-checkpoint.tmp", b"")
        names = set(disk.list_dir(PATH))
        open_log(disk, settings=small(), clean=True)
        assert {name for name in names if "999" in name or ".tmp" in name} == names - set(disk.list_dir(PATH))


class TestCleanStop:
    def test_a_log_goes_on_where_it_was_closed(self, disk: SimDisk) -> None:
        clock = StillClock()
        log = open_log(disk, clock, settings=small())
        written = append_many(log, 7, size=300)
        log.close()
        disk.crash()
        log = open_log(disk, clock, settings=small(), clean=True)
        written += append_many(log, 7, size=300)
        assert values(log) == written
        assert [record.offset for record in records(log)] == list(range(14))

    def test_a_log_closed_and_opened_many_times_is_the_same_log(self, disk: SimDisk) -> None:
        written: list[bytes] = []
        for round_number in range(6):
            log = open_log(disk, settings=small(), clean=round_number > 0)
            assert values(log) == written
            written += append_many(log, 2)
            log.close()
            disk.kill()

    def test_producers_are_remembered(self, disk: SimDisk) -> None:
        options = {"producer_id": 5, "producer_epoch": 0}
        log = open_log(disk)
        append(log, b"a", base_sequence=0, **options)
        log.close()
        log = open_log(disk, clean=True)
        assert append(log, b"a", base_sequence=0, **options).duplicate
        assert not append(log, b"b", base_sequence=1, **options).duplicate

    def test_a_log_start_beyond_what_the_disk_has_begins_anew_there(self, disk: SimDisk) -> None:
        log = open_log(disk)
        append_many(log, 3)
        killed(log, disk)
        log = open_log(disk, log_start_offset=10)
        assert (log.log_start_offset, log.log_end_offset) == (10, 10)
        append(log, b"next")
        assert records(log)[0].offset == 10


class TestProducersAfterAKill:
    options: ClassVar = {"producer_id": 5, "producer_epoch": 0}

    @pytest.mark.parametrize("snapshots", ["kept", "torn", "lost"])
    def test_all_five_batches_are_known_again(self, disk: SimDisk, snapshots: str) -> None:
        log = open_log(disk, settings=small())
        for sequence in range(12):
            append(log, b"%d" % sequence + bytes(200), base_sequence=sequence, **self.options)
        killed(log, disk)
        found = files(disk, ".snapshot")
        assert len(found) > 2
        for name, data in found.items():
            if snapshots == "torn":
                replace(disk, f"{PATH}/{name}", data[:-3])
            elif snapshots == "lost":
                disk.remove(f"{PATH}/{name}")
        log = open_log(disk, settings=small())
        for sequence in range(9, 12):
            duplicate = append(log, b"%d" % sequence + bytes(200), base_sequence=sequence, **self.options)
            assert (duplicate.base_offset, duplicate.duplicate) == (sequence, True)
        assert append(log, b"next", base_sequence=12, **self.options).base_offset == 12

    def test_a_snapshot_beyond_the_recovered_end_is_thrown_away(self, disk: SimDisk) -> None:
        log = open_log(disk)
        append(log, b"a", base_sequence=0, **self.options)
        size = disk.size(SEGMENT)
        append(log, b"b", base_sequence=1, **self.options)
        log.roll()
        killed(log, disk)
        replace(disk, SEGMENT, disk.read_bytes(SEGMENT)[: size + 5])
        log = open_log(disk)
        assert not append(log, b"b", base_sequence=1, **self.options).duplicate
        assert values(log) == [b"a", b"b"]


class TestIndexesAfterACrash:
    @pytest.mark.parametrize("flushed_before_the_roll", [True, False])
    def test_indexes_below_the_recovery_point_are_durable(self, flushed_before_the_roll: bool) -> None:
        for seed in range(30):
            disk = sim_disk(seed)
            log = open_log(disk, settings=small())
            append_many(log, 5, size=50)
            if flushed_before_the_roll:
                log.flush()
            log.roll()
            log.flush()
            indexes = files(disk, "index")
            disk.crash()
            open_log(disk, settings=small(), recovery_point=5)
            assert {name: data for name, data in files(disk, "index").items() if name in indexes} == indexes
