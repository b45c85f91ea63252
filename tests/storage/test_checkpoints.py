"""Offset checkpoints in Kafka's text format."""

from __future__ import annotations

import pytest

from penstock.storage.checkpoints import read_offsets, write_offsets
from penstock.storage.errors import Corruption
from penstock.testing.disk import SimDisk
from tests.storage.builders import sim_disk

PATH = "/data/recovery-point-offset-checkpoint"


@pytest.fixture
def disk() -> SimDisk:
    disk = sim_disk()
    disk.make_dir("/data")
    return disk


def test_a_missing_checkpoint_is_empty(disk: SimDisk) -> None:
    assert read_offsets(disk, PATH) == {}


def test_offsets_come_back_from_the_format_that_kafka_writes(disk: SimDisk) -> None:
    offsets = {("orders", 0): 1571, ("orders", 1): 0, ("__consumer_offsets", 49): 2**40}
    write_offsets(disk, PATH, offsets)
    assert disk.read_bytes(PATH) == b"0\n3\norders 0 1571\norders 1 0\n__consumer_offsets 49 1099511627776\n"
    assert read_offsets(disk, PATH) == offsets


def test_a_crash_leaves_the_old_checkpoint_or_the_new_one(disk: SimDisk) -> None:
    write_offsets(disk, PATH, {("t", 0): 1})
    disk.fail_next("sync", OSError("power is going"))
    with pytest.raises(OSError, match="power"):
        write_offsets(disk, PATH, {("t", 0): 2})
    disk.crash()
    assert read_offsets(disk, PATH) == {("t", 0): 1}


@pytest.mark.parametrize(
    "text", ["", "0", "7\n0\n", "0\n1\n", "0\n1\nt 0\n", "0\n1\nt x 5\n", "0\n1\nt 0 5 5\n", "\xff"]
)
def test_a_damaged_checkpoint_is_corruption_and_names_its_path(disk: SimDisk, text: str) -> None:
    disk.write_atomic(PATH, text.encode("latin-1"))
    with pytest.raises(Corruption) as caught:
        read_offsets(disk, PATH)
    assert caught.value.path == PATH
