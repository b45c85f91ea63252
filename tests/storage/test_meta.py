"""meta.properties and partition.metadata, in Kafka's formats."""

from __future__ import annotations

from random import Random
from uuid import UUID

import pytest

from penstock.storage.errors import Corruption
from penstock.storage.meta import Meta, new_id, read_meta, read_topic_id, write_meta, write_topic_id
from penstock.testing.disk import SimDisk
from tests.storage.builders import sim_disk

TOPIC_ID = UUID("01234567-89ab-cdef-0123-456789abcdef").bytes


@pytest.fixture
def disk() -> SimDisk:
    disk = sim_disk()
    disk.make_dir("/data")
    return disk


def test_a_new_directory_belongs_to_nobody(disk: SimDisk) -> None:
    assert read_meta(disk, "/data") is None
    assert read_topic_id(disk, "/data") is None


def test_what_is_written_comes_back(disk: SimDisk) -> None:
    meta = Meta("Bw_UL0tYSv-EW0sTJ3VZGA", 3, "7ZhFBQmMTgKNfRXqk9WE6A")
    write_meta(disk, "/data", meta)
    assert read_meta(disk, "/data") == meta


def test_a_file_that_kafka_wrote_is_understood(disk: SimDisk) -> None:
    disk.write_atomic(
        "/data/meta.properties",
        b"#\n#Tue Nov 14 22:13:20 UTC 2023\nnode.id=1\ndirectory.id=jm7lYJ3lQ0W3KjvjpUzqSQ\n"
        b"version=1\ncluster.id=4L6g3nShT-eMCtK--X86sw\n",
    )
    assert read_meta(disk, "/data") == Meta("4L6g3nShT-eMCtK--X86sw", 1, "jm7lYJ3lQ0W3KjvjpUzqSQ")


def test_ids_of_topics_are_spelt_as_kafka_spells_them(disk: SimDisk) -> None:
    write_topic_id(disk, "/data", TOPIC_ID)
    assert disk.read_bytes("/data/partition.metadata") == b"version: 0\ntopic_id: ASNFZ4mrze8BI0VniavN7w\n"
    assert read_topic_id(disk, "/data") == TOPIC_ID


def test_ids_come_from_the_generator_and_have_22_characters() -> None:
    assert new_id(Random(1)) == new_id(Random(1)) != new_id(Random(2))
    assert len(new_id(Random(1))) == 22


@pytest.mark.parametrize(
    "text", [b"", b"version=0\ncluster.id=a\nnode.id=1\n", b"version=1\nnode.id=x\n", b"\xff"]
)
def test_damaged_meta_properties_are_corruption(disk: SimDisk, text: bytes) -> None:
    disk.write_atomic("/data/meta.properties", text)
    with pytest.raises(Corruption):
        read_meta(disk, "/data")


@pytest.mark.parametrize("text", [b"", b"version: 0\n", b"version: 0\ntopic_id: x\n", b"nonsense", b"\xff"])
def test_damaged_partition_metadata_is_corruption(disk: SimDisk, text: bytes) -> None:
    disk.write_atomic("/data/partition.metadata", text)
    with pytest.raises(Corruption):
        read_topic_id(disk, "/data")
