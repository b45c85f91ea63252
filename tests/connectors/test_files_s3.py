"""The files sink and source on a server that answers as S3 does (moto)."""

from __future__ import annotations

import gzip
import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fastavro
import pytest
from pyarrow import fs

from penstock.connect.api import ConnectRecord
from penstock.connect.api.source import SourceOffsets
from penstock.connect.api.test_kit import run_sink, run_source
from penstock.connect.connectors.files.sink import FilesSink
from penstock.connect.connectors.files.source import FilesSource
from penstock.connect.data import schema as s
from penstock.connect.data.struct import Struct
from penstock.connect.errors import DataError
from penstock.protocol.topic_partition import TopicPartition

USER = s.struct_schema({"id": s.INT32, "at": s.TIMESTAMP.as_optional()}, name="user")


@pytest.fixture(scope="module")
def store() -> Iterator[tuple[dict[str, str], Any]]:
    """The settings of a bucket, and its files."""
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    files = fs.S3FileSystem(
        access_key="k", secret_key="s", region="eu-west-1", scheme="http",
        endpoint_override=f"{host}:{port}", allow_bucket_creation=True,
    )  # fmt: skip
    files.create_dir("lake")
    config = {
        "s3.bucket.name": "lake", "store.url": f"http://{host}:{port}", "s3.region": "eu-west-1",
        "aws.access.key.id": "k", "aws.secret.access.key": "s",
    }  # fmt: skip
    yield config, files
    server.stop()


def user(number: int) -> ConnectRecord:
    value = Struct(USER, {"id": number})
    return ConnectRecord("users", 0, None, None, value, USER, timestamp=number, offset=number)


def names(files: Any, folder: str) -> list[str]:
    chosen = fs.FileSelector(f"lake/{folder}", recursive=True, allow_not_found=True)
    found = [each.path for each in files.get_file_info(chosen) if each.type == fs.FileType.File]
    return sorted(each.rpartition("/")[2] for each in found if ".penstock" not in each)


def read(files: Any, path: str) -> bytes:
    with files.open_input_stream(f"lake/{path}", compression=None) as file:
        return bytes(file.read())


def test_a_topic_becomes_objects_and_a_batch_that_died_leaves_none(store: tuple[dict[str, str], Any]) -> None:
    place, files = store
    config = {**place, "format.class": "avro", "flush.size": "2", "avro.codec": "deflate"}
    run_sink(FilesSink, config, [user(number) for number in range(3)])
    task: Any = FilesSink.TASK(config)
    assert task.stored_offsets([TopicPartition("users", 0)]) == {TopicPartition("users", 0): 3}
    task.put([user(number) for number in range(3, 9)])  # and it never flushes
    assert len(names(files, "topics")) > 2
    run_sink(FilesSink, config, [user(number) for number in range(5)])
    assert names(files, "topics") == [f"users+0+000000000{number}.avro" for number in (0, 2, 3)]
    data = read(files, "topics/users/partition=0/users+0+0000000000.avro")
    assert [each["id"] for each in fastavro.reader(io.BytesIO(data))] == [0, 1]  # type: ignore[index,call-overload]


def test_json_objects_may_be_compressed_and_nulls_fail_or_are_left_out(
    store: tuple[dict[str, str], Any],
) -> None:
    place, files = store
    config = {
        **place, "format.class": "json", "flush.size": "9", "s3.compression.type": "gzip", "topics.dir": "z",
        "rotate.schedule.interval.ms": "1000",
    }  # fmt: skip
    gone = ConnectRecord("users", 0, offset=1)
    with pytest.raises(DataError, match="no value"):
        run_sink(FilesSink, config, [user(0), gone])
    run_sink(FilesSink, {**config, "behavior.on.null.values": "ignore"}, [user(0), gone])
    data = read(files, "z/users/partition=0/users+0+0000000000.json.gz")
    assert json.loads(gzip.decompress(data)) == {"id": 0, "at": None}


def test_objects_become_records_and_are_moved(store: tuple[dict[str, str], Any], tmp_path: Path) -> None:
    place, files = store
    for number in range(3):
        with files.open_output_stream(f"lake/in/{number}.json") as file:
            file.write(json.dumps({"n": number}).encode() + b"\n")
    config = {
        **place, "input.path": "in", "topic": "t", "cleanup.policy": "MOVE", "finished.path": "done",
    }  # fmt: skip
    assert FilesSource.check(config) == []
    emitted = run_source(FilesSource, config, polls=9)
    assert [each.record.value["n"] for each in emitted if each.record is not None] == [0, 1, 2]
    offsets = SourceOffsets().advanced([(each.partition, each.offset) for each in emitted])
    made = FilesSource(config)
    made.committed(offsets)
    assert names(files, "done") == ["0.json", "1.json", "2.json"]
    assert not made.has_news(offsets)
