"""Topics to Delta tables: rows once, schemas that grow, two tasks, a directory and a server that answers as
S3 does (moto)."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable

from penstock.connect.api import ConnectRecord
from penstock.connect.api.guards import ALLOWED_PATHS
from penstock.connect.api.test_kit import run_sink
from penstock.connect.connectors.delta.sink import DeltaSink
from penstock.connect.data import schema as s
from penstock.connect.data.struct import Struct
from penstock.connect.errors import ConnectError, DataError
from penstock.protocol.topic_partition import TopicPartition

USER = s.struct_schema(
    {"id": s.INT32, "sum": s.decimal_schema(2), "at": s.TIMESTAMP, "tags": s.array_schema(s.STRING)}
)
MORE = USER.with_fields({**{each.name: each.schema for each in USER.fields}, "city": s.STRING.as_optional()})
PLACE = TopicPartition("users", 0)
AT = dt.datetime(2024, 1, 2, 3, tzinfo=dt.UTC)


def settings(tmp_path: Path, **more: str) -> dict[str, str]:
    config = {"name": "lake", "store.url": f"file://{tmp_path}", ALLOWED_PATHS: str(tmp_path),
              "retry.backoff.ms": "10"}  # fmt: skip
    return config | {name.replace("_", "."): value for name, value in more.items()}


def user(offset: int, schema: Any = USER, partition: int = 0, **more: Any) -> ConnectRecord:
    value = Struct(schema, {"id": offset, "sum": Decimal("1.20"), "at": AT, "tags": ["a"], **more})
    return ConnectRecord("users", partition, None, None, value, schema, offset=offset)


def rows(path: Any, **options: Any) -> list[dict[str, Any]]:
    found = DeltaTable(str(path), **options).to_pyarrow_table().to_pylist()
    return sorted(found, key=lambda each: each["id"])


def test_each_record_is_a_row_once_whatever_comes_again(tmp_path: Path) -> None:
    config = settings(tmp_path)
    run_sink(DeltaSink, config, [user(0), user(1)])
    run_sink(DeltaSink, config, [user(number) for number in range(4)])
    found = rows(tmp_path / "users")
    assert [each["id"] for each in found] == [0, 1, 2, 3]
    assert found[0] == {"id": 0, "sum": Decimal("1.20"), "at": AT, "tags": ["a"]}
    assert DeltaTable(str(tmp_path / "users")).transaction_version("lake/users/0") == 4


def test_two_tasks_share_a_table_and_a_dead_one_writes_nothing(tmp_path: Path) -> None:
    config = settings(tmp_path)
    late: Any = DeltaSink.TASK(config)
    late.stored_offsets([PLACE])
    late.put([user(0), user(1)])
    run_sink(DeltaSink, config, [user(0)])
    run_sink(DeltaSink, config, [user(9, partition=1)])
    with pytest.raises(ConnectError, match="another task"):
        late.flush({PLACE: 2})
    again: Any = DeltaSink.TASK(config)
    assert again.stored_offsets([PLACE]) == {PLACE: 1}
    again.put([user(1), user(2)])
    other: Any = DeltaSink.TASK(config)
    other.stored_offsets([PLACE])
    other.put([user(1)])
    other.flush({PLACE: 2})
    with pytest.raises(ConnectError, match="another task"):
        again.flush({PLACE: 3})
    assert [each["id"] for each in rows(tmp_path / "users")] == [0, 1, 9]


def test_a_schema_grows_within_a_batch_and_between(tmp_path: Path) -> None:
    run_sink(DeltaSink, settings(tmp_path, partition_fields="id"), [user(0), user(1, MORE, city="x")])
    assert [each["city"] for each in rows(tmp_path / "users")] == [None, "x"]
    assert DeltaTable(str(tmp_path / "users")).metadata().partition_columns == ["id"]
    fixed = settings(tmp_path, schema_evolution="false", table_name_format="fixed/${topic}")
    run_sink(DeltaSink, fixed, [user(0)])
    with pytest.raises((DataError, ConnectError)):
        run_sink(DeltaSink, fixed, [user(1, MORE, city="x")])
    assert len(rows(tmp_path / "fixed" / "users")) == 1


def test_values_without_a_schema_and_values_that_are_no_rows(tmp_path: Path) -> None:
    config = settings(tmp_path, behavior_on_null_values="ignore")
    plain = ConnectRecord("p", 0, None, None, {"id": 1, "x": {"y": [1.5]}}, offset=0)
    run_sink(DeltaSink, config, [plain, ConnectRecord("p", 0, offset=1)])
    assert rows(tmp_path / "p") == [{"id": 1, "x": {"y": [1.5]}}]
    with pytest.raises(DataError, match="no fields"):
        run_sink(DeltaSink, config, [ConnectRecord("p", 0, None, None, "text", offset=2)])
    with pytest.raises(DataError, match="no name of a table"):
        run_sink(DeltaSink, settings(tmp_path, table_name_format="../x"), [plain])


@pytest.fixture
def bucket() -> Iterator[dict[str, str]]:
    from moto.server import ThreadedMotoServer
    from pyarrow import fs

    server = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    files = fs.S3FileSystem(
        access_key="k", secret_key="s", region="eu-west-1", scheme="http",
        endpoint_override=f"{host}:{port}", allow_bucket_creation=True,
    )  # fmt: skip
    files.create_dir("deltas")
    yield {
        "name": "lake", "s3.bucket.name": "deltas", "store.url": f"http://{host}:{port}",
        "s3.region": "eu-west-1", "aws.access.key.id": "k", "aws.secret.access.key": "s",
    }  # fmt: skip
    server.stop()


def test_a_table_in_a_bucket(bucket: dict[str, str]) -> None:
    run_sink(DeltaSink, bucket, [user(0), user(1)])
    run_sink(DeltaSink, bucket, [user(number) for number in range(3)])
    task: Any = DeltaSink.TASK(bucket)
    found = rows("s3://deltas/users", storage_options=task._options)
    assert [each["id"] for each in found] == [0, 1, 2]


def test_every_mistake_is_reported(tmp_path: Path) -> None:
    for url in ("file:///etc", "hdfs://localhost/x", "http://localhost", ""):
        assert "store.url" in {name for name, _ in DeltaSink.check({**settings(tmp_path), "store.url": url})}
    guarded = {**settings(tmp_path), "store.url": "http://169.254.169.254", "s3.bucket.name": "b"}
    assert [name for name, _ in DeltaSink.check(guarded)] == ["store.url"]
    assert DeltaSink.check(settings(tmp_path)) == []
