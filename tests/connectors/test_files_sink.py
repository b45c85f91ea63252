"""Topics to files: names, folders, formats, batches that die. On local paths; no S3 or HDFS server was
there."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from penstock.connect.api import ConnectRecord
from penstock.connect.api.guards import ALLOWED_PATHS
from penstock.connect.api.test_kit import run_sink
from penstock.connect.connectors.files.partitioners import NAMES
from penstock.connect.connectors.files.sink import FilesSink
from penstock.connect.data import schema as s
from penstock.connect.data.struct import Struct
from penstock.connect.errors import ConnectError
from penstock.protocol.topic_partition import TopicPartition
from penstock.testing.broker import Broker
from tests.connectors.worker import Worker, eventually

USER = s.struct_schema({"id": s.INT32, "city": s.STRING.as_optional()})
DAY = 86_400_000


def user(offset: int, city: str | None = "a", timestamp: int = 0) -> ConnectRecord:
    value = Struct(USER, {"id": offset, "city": city})
    return ConnectRecord("users", 0, None, None, value, USER, timestamp=timestamp, offset=offset)


def settings(tmp_path: Path, **more: str) -> dict[str, str]:
    config = {
        "store.url": f"file://{tmp_path}",
        "format.class": "json",
        "flush.size": "3",
        ALLOWED_PATHS: str(tmp_path),
    }
    return config | {name.replace("_", "."): value for name, value in more.items()}


def written(tmp_path: Path) -> list[str]:
    root = tmp_path / "topics" / "users"
    return sorted(str(each.relative_to(root)) for each in root.rglob("*") if each.is_file())


def ids(tmp_path: Path) -> list[int]:
    root = tmp_path / "topics" / "users"
    return sorted(
        json.loads(line)["id"] for each in root.rglob("*.json") for line in each.read_text().splitlines()
    )


def test_a_file_has_so_many_records_and_is_named_by_its_first_offset(tmp_path: Path) -> None:
    run_sink(FilesSink, settings(tmp_path), [user(number) for number in range(7)])
    folder = "partition=0/users+0+000000000"
    assert written(tmp_path) == [f"{folder}0.json", f"{folder}3.json", f"{folder}6.json"]
    run_sink(FilesSink, settings(tmp_path), [user(number) for number in range(9)])
    assert ids(tmp_path) == list(range(9))


def test_files_of_a_batch_that_died_are_deleted(tmp_path: Path) -> None:
    config = settings(tmp_path)
    run_sink(FilesSink, config, [user(0), user(1)])
    task: Any = FilesSink.TASK(config)
    place = TopicPartition("users", 0)
    assert task.stored_offsets([place]) == {place: 2}
    task.put([user(number) for number in range(2, 20)])  # most of it is written, and it never flushes
    assert len(ids(tmp_path)) > 10
    run_sink(FilesSink, {**config, "flush.size": "4"}, [user(number) for number in range(2, 6)])
    assert ids(tmp_path) == list(range(6))


def test_files_that_another_sink_has_left_stay_where_ours_goes_on(tmp_path: Path) -> None:
    """A topic that was Confluent's sink's so far: its offsets are the group's, and there is no note."""
    folder = tmp_path / "topics" / "users" / "partition=0"
    folder.mkdir(parents=True)
    (folder / "users+0+0000000000.json").write_text('{"id": 0}\n{"id": 1}\n')
    config, place = settings(tmp_path), TopicPartition("users", 0)
    task: Any = FilesSink.TASK(config)
    assert task.stored_offsets([place]) == {}
    task.put([user(number) for number in range(2, 20)])  # and it never flushes
    assert len(ids(tmp_path)) > 10
    task = FilesSink.TASK({**config, "flush.size": "4"})
    assert task.stored_offsets([place]) == {place: 2}
    task.put([user(number) for number in range(2, 6)])
    task.flush({place: 6})
    assert ids(tmp_path) == list(range(6))


def test_a_second_sink_of_a_topic_does_not_take_the_files_of_the_first_for_its_own(tmp_path: Path) -> None:
    run_sink(FilesSink, settings(tmp_path, name="first"), [user(0), user(1)])
    with pytest.raises(ConnectError, match="belong to the connector first"):
        run_sink(FilesSink, settings(tmp_path, name="second"), [user(0), user(1), user(2)])
    assert ids(tmp_path) == [0, 1]
    run_sink(FilesSink, settings(tmp_path, name="second", topics_dir="more"), [user(0)])
    run_sink(FilesSink, settings(tmp_path, name="first"), [user(2)])
    assert ids(tmp_path) == [0, 1, 2]
    assert list((tmp_path / "more" / "users").rglob("*.json"))


@pytest.mark.parametrize(
    ("kind", "more", "folders"),
    [
        ("Field", {"partition.field.name": "city"}, {"city=a", "city=%2E%2E", "city=..%2Fb", "city=null"}),
        ("Daily", {}, {"year=1970/month=01/day=01", "year=1970/month=01/day=02"}),
        ("Hourly", {"timezone": "Asia/Tokyo"}, {f"year=1970/month=01/day=0{day}/hour=09" for day in (1, 2)}),
        (
            "TimeBased",
            {"path.format": "YYYY/'x'dd", "partition.duration.ms": "1000"},
            {"1970/x01", "1970/x02"},
        ),
    ],
)
def test_partitioners_choose_the_folder(
    tmp_path: Path, kind: str, more: dict[str, str], folders: set[str]
) -> None:
    name = next(each for each in NAMES if each.endswith(f".{kind}Partitioner"))
    cities = ["a", "..", "../b", None]
    records = [user(number, city, DAY * (number % 2)) for number, city in enumerate(cities)]
    run_sink(FilesSink, settings(tmp_path, partitioner_class=name) | more, records)
    assert {each.rpartition("/")[0] for each in written(tmp_path)} == folders
    assert ids(tmp_path) == [0, 1, 2, 3]


def test_parquet_and_csv(tmp_path: Path) -> None:
    run_sink(FilesSink, settings(tmp_path, format_class="parquet"), [user(0), user(1, None)])
    [path] = (tmp_path / "topics" / "users").rglob("*.parquet")
    table = pq.read_table(path, partitioning=None)
    assert table.to_pylist() == [{"id": 0, "city": "a"}, {"id": 1, "city": None}]
    assert str(table.schema.field("id").type) == "int32"
    run_sink(
        FilesSink,
        settings(tmp_path, format_class="csv", topics_dir="other"),
        [user(0, 'x,"y"'), user(1, None)],
    )
    [path] = (tmp_path / "other" / "users").rglob("*.csv")
    assert path.read_text() == 'id,city\n0,"x,""y"""\n1,\n'


def test_a_file_ends_when_its_records_span_too_long(tmp_path: Path) -> None:
    records = [user(number, timestamp=number * 400) for number in range(5)]
    run_sink(FilesSink, settings(tmp_path, flush_size="100", rotate_interval_ms="1000"), records)
    assert len(written(tmp_path)) == 2


def test_every_mistake_is_reported_and_no_path_leads_out(tmp_path: Path) -> None:
    config = settings(
        tmp_path, topics_dir="../x", s3_part_size="1", partitioner_class=NAMES[1], timezone="Mars"
    )
    assert {name for name, _ in FilesSink.check(config)} >= {
        "topics.dir",
        "s3.part.size",
        "partition.field.name",
    }
    for url in ("file:///etc", "http://169.254.169.254", ""):
        assert "store.url" in {name for name, _ in FilesSink.check({**settings(tmp_path), "store.url": url})}


def test_a_topic_becomes_files_through_a_worker(worker: Worker, broker: Broker, files: Path) -> None:
    made = {"connector.class": "DatagenConnector", "kafka.topic": "to-files", "quickstart": "users",
            "iterations": "50", "max.interval": "0", "value.converter": "JsonConverter"}  # fmt: skip
    sink = {"connector.class": "S3SinkConnector", "topics": "to-files", "store.url": f"file://{files}",
            "format.class": "parquet", "flush.size": "20", "value.converter": "JsonConverter"}  # fmt: skip
    worker.create("made", made)
    worker.create("to-files", sink)

    def rows() -> int:
        found = (files / "topics" / "to-files").rglob("to-files*.parquet")
        return sum(pq.read_metadata(each).num_rows for each in found)

    eventually(lambda: rows() == 50, "all rows")
    for name in ("made", "to-files"):
        worker.call("DELETE", f"/connectors/{name}")
