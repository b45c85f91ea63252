"""What a start makes of the files that a compaction left behind, whichever moment it was killed in."""

from __future__ import annotations

import os

import pytest

from penstock.records.record import Record, encode_batch
from penstock.storage.errors import Corruption
from penstock.storage.segment import file_name
from penstock.storage.swap import complete_swaps, discard_swaps, segment_bases
from penstock.testing.disk import SimDisk
from tests.storage.builders import NOW_MS, sim_disk

PATH = "/data/topic-0"


@pytest.fixture
def disk() -> SimDisk:
    disk = sim_disk()
    disk.make_dir(PATH)
    return disk


def write(disk: SimDisk, base: int, suffix: str, data: bytes = b"") -> None:
    disk.create(os.path.join(PATH, file_name(base, suffix))).append(data)


def segment(disk: SimDisk, base: int, records: int, suffix: str = "") -> bytes:
    """A segment with one batch; what its log holds."""
    data = bytes(encode_batch([Record(b"k", b"", timestamp_ms=NOW_MS)] * records, base_offset=base))
    for kind in (".index", ".timeindex"):
        write(disk, base, kind + suffix, b"of the swap" if suffix else b"")
    write(disk, base, ".log" + suffix, data)
    return data


def read(disk: SimDisk, base: int, suffix: str) -> bytes:
    return disk.read_bytes(os.path.join(PATH, file_name(base, suffix)))


def test_what_was_not_decided_is_thrown_away(disk: SimDisk) -> None:
    old = segment(disk, 0, 5)
    segment(disk, 0, 1, ".cleaned")
    segment(disk, 5, 1, ".deleted")
    complete_swaps(disk, PATH)
    assert disk.list_dir(PATH) == [file_name(0, kind) for kind in (".index", ".log", ".timeindex")]
    assert read(disk, 0, ".log") == old


def test_indexes_that_came_without_their_log_are_thrown_away(disk: SimDisk) -> None:
    old = segment(disk, 0, 5)
    write(disk, 0, ".index.swap", b"of the swap")
    write(disk, 0, ".log.cleaned", b"half of it")
    complete_swaps(disk, PATH)
    assert (read(disk, 0, ".log"), read(disk, 0, ".index")) == (old, b"")
    assert len(disk.list_dir(PATH)) == 3


@pytest.mark.parametrize("gone", [[], [5], [5, 10]])
def test_what_was_decided_is_completed(disk: SimDisk, gone: list[int]) -> None:
    for base in (0, 5, 10, 15):
        if base not in gone:
            segment(disk, base, 5)
            write(disk, base, ".snapshot")
    new = segment(disk, 0, 12, ".swap")
    complete_swaps(disk, PATH)
    assert segment_bases(disk.list_dir(PATH)) == [0, 15]
    assert (read(disk, 0, ".log"), read(disk, 0, ".index")) == (new, b"of the swap")
    assert not [name for name in disk.list_dir(PATH) if name.endswith(".swap")]
    assert not [
        name for name in disk.list_dir(PATH) if name.startswith((file_name(5, ""), file_name(10, "")))
    ]


def test_a_segment_that_the_swap_does_not_reach_stays(disk: SimDisk) -> None:
    for base in (0, 5, 10):
        segment(disk, base, 5)
    segment(disk, 0, 7, ".swap")
    complete_swaps(disk, PATH)
    assert segment_bases(disk.list_dir(PATH)) == [0, 10]


def test_a_swap_whose_indexes_have_their_names_already_is_completed(disk: SimDisk) -> None:
    segment(disk, 0, 5)
    new = segment(disk, 0, 5, ".swap")
    disk.rename(f"{PATH}/{file_name(0, '.index.swap')}", f"{PATH}/{file_name(0, '.index')}")
    complete_swaps(disk, PATH)
    assert (read(disk, 0, ".log"), read(disk, 0, ".index")) == (new, b"of the swap")


def test_a_swap_that_is_no_log_is_corruption(disk: SimDisk) -> None:
    segment(disk, 0, 5)
    write(disk, 0, ".log.swap", b"this was never synced" * 10)
    with pytest.raises(Corruption):
        complete_swaps(disk, PATH)


def test_a_log_that_is_cut_forgets_its_swap(disk: SimDisk) -> None:
    old = segment(disk, 0, 5)
    segment(disk, 0, 1, ".swap")
    discard_swaps(disk, PATH)
    complete_swaps(disk, PATH)
    assert read(disk, 0, ".log") == old
