"""A segment by itself: which batches are indexed, and how it cools and warms up again."""

from __future__ import annotations

import struct
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from penstock.records.batch import read_header
from penstock.storage.disk import OsDisk
from penstock.storage.errors import Corruption
from penstock.storage.segment import Place, Segment
from penstock.storage.warm import WarmSegments
from penstock.testing.disk import SimDisk
from tests.storage.builders import NOW_MS, append_many, batch, open_log, settings, sim_disk, values

BASE = 1000


@pytest.fixture
def disk() -> SimDisk:
    disk = sim_disk()
    disk.make_dir("/data")
    return disk


@pytest.fixture
def place(disk: SimDisk) -> Place:
    return Place(disk, "/data", WarmSegments())


def write(segment: Segment, count: int, size: int = 39) -> None:
    """Batches of one record, 120 bytes each unless told otherwise, a millisecond apart."""
    for number in range(count):
        offset = segment.base_offset + number
        data = batch(b"v" * size, base_offset=offset, timestamp_ms=NOW_MS + number)
        position = segment.append(data, offset)
        segment.note(position, len(data), offset, NOW_MS + number)


def test_a_batch_is_indexed_when_enough_bytes_have_passed_since_the_last_one(
    place: Place, disk: SimDisk
) -> None:
    segment = Segment.create(place, BASE, 250, NOW_MS)
    write(segment, 10)
    size = segment.size // 10
    segment.write_indexes()
    entries = list(struct.iter_unpack(">ii", disk.read_bytes(f"/data/{BASE:020d}.index")))
    # 250 bytes are exceeded by three batches: the fourth, seventh and tenth are indexed.
    assert entries == [(3, 3 * size), (6, 6 * size), (9, 9 * size)]
    times = list(struct.iter_unpack(">qi", disk.read_bytes(f"/data/{BASE:020d}.timeindex")))
    assert times == [(NOW_MS + 3, 3), (NOW_MS + 6, 6), (NOW_MS + 9, 9)]


def test_the_time_index_ends_with_the_largest_timestamp(place: Place, disk: SimDisk) -> None:
    segment = Segment.create(place, BASE, 10_000, NOW_MS)
    write(segment, 5)
    segment.write_indexes()
    assert disk.read_bytes(f"/data/{BASE:020d}.index") == b""
    assert disk.read_bytes(f"/data/{BASE:020d}.timeindex") == struct.pack(">qi", NOW_MS + 4, 4)


def test_every_offset_is_found_whatever_the_interval(place: Place) -> None:
    for interval in (0, 100, 300, 100_000):
        segment = Segment.create(place, BASE, interval, NOW_MS)
        write(segment, 40)
        for offset in range(BASE, BASE + 40):
            found = segment.find(offset)
            assert found is not None
            assert found[1].base_offset == offset
        assert segment.find(BASE + 40) is None
        assert segment.next_offset() == BASE + 40


def test_a_batch_larger_than_a_chunk_is_stepped_over(place: Place) -> None:
    segment = Segment.create(place, BASE, 4096, NOW_MS)
    write(segment, 5, size=50_000)
    found = segment.find(BASE + 3)
    assert found is not None
    assert read_header(segment.file.read(found[0], 61)).base_offset == BASE + 3


def test_a_log_that_is_damaged_cannot_be_indexed(place: Place, disk: SimDisk) -> None:
    segment = Segment.create(place, BASE, 0, NOW_MS)
    write(segment, 3)
    data = bytearray(disk.read_bytes(segment.path))
    data[segment.size // 3 + 16] = 9
    disk.create(segment.path).append(data)
    with pytest.raises(Corruption, match="no batch begins here") as caught:
        segment.reindex()
    assert (caught.value.path, caught.value.position) == (segment.path, segment.size // 3)


def test_cooled_segments_are_read_again_from_disk(disk: SimDisk) -> None:
    warm = WarmSegments(max_segments=1)
    log = open_log(disk, settings=settings(segment_bytes=1000, index_interval_bytes=100), warm=warm)
    written = append_many(log, 30, size=200)
    for _ in range(2):
        assert values(log) == written
        assert len(warm) == 1


def test_logs_of_many_threads_share_the_cache(tmp_path: Path) -> None:
    warm = WarmSegments(max_segments=2)
    small = settings(segment_bytes=1000, index_interval_bytes=100)
    logs = [
        open_log(OsDisk(), path=str(tmp_path / f"t-{number}"), settings=small, warm=warm)
        for number in range(4)
    ]
    written = [append_many(log, 20, size=200) for log in logs]

    def read_over_and_over(number: int) -> bool:
        with logs[number].lock:
            return all(values(logs[number]) == written[number] for _ in range(25))

    with ThreadPoolExecutor(4) as threads:
        assert all(threads.map(read_over_and_over, range(4), timeout=60))
    assert len(warm) <= 2


def test_a_deleted_segment_is_not_kept_warm(disk: SimDisk) -> None:
    warm = WarmSegments()
    log = open_log(disk, settings=settings(segment_bytes=1000), warm=warm)
    append_many(log, 10, size=300)
    assert len(values(log)) == 10
    assert len(warm) == 4
    log.delete()
    assert len(warm) == 0
