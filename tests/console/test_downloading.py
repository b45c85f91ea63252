"""Records as files: what is in each format, how many there are, and what a spreadsheet must not run."""

from __future__ import annotations

import asyncio
import csv
import io
import json

import pyarrow.parquet as parquet
import pytest
from starlette.testclient import TestClient

from penstock.console.api import api_app
from penstock.console.fake_backend import FakeBackend
from tests.console.conftest import fake_services_over
from tests.console.fake_services import FakeServices


@pytest.fixture
def client(backend: FakeBackend, others: FakeServices) -> TestClient:
    async def made() -> TestClient:
        return TestClient(api_app(fake_services_over(backend, others)))

    return asyncio.run(made())


def test_json_lines_have_every_record_with_its_place(client: TestClient) -> None:
    answer = client.get("/api/topics/orders/download", params={"from": "oldest"})
    assert answer.status_code == 200
    assert answer.headers["content-disposition"] == 'attachment; filename="orders.jsonl"'
    lines = [json.loads(line) for line in answer.text.splitlines()]
    assert [line["value"] for line in lines] == [{"order": number} for number in range(6)]
    assert (lines[0]["partition"], lines[0]["offset"], lines[0]["key"]) == (0, 0, "key-0")


def test_a_limit_and_a_partition_hold(client: TestClient) -> None:
    asked = {"from": "oldest", "limit": "1", "partition": "2"}
    answer = client.get("/api/topics/orders/download", params=asked)
    assert [json.loads(line)["value"] for line in answer.text.splitlines()] == [{"order": 2}]


def test_a_filter_searches_the_topic(client: TestClient) -> None:
    answer = client.get("/api/topics/orders/download", params={"filter": "value.order >= 4"})
    assert [json.loads(line)["value"]["order"] for line in answer.text.splitlines()] == [4, 5]


def test_csv_has_a_head_and_no_formulas(client: TestClient, backend: FakeBackend) -> None:
    backend.append("payments", b"=1+1", b"\xff", (("a", b"b"),))
    answer = client.get("/api/topics/payments/download", params={"format": "csv"})
    (row,) = csv.DictReader(io.StringIO(answer.text))
    assert (row["value"], row["key"], row["headers"]) == ("'=1+1", "hex:ff", '{"a": "b"}')


def test_parquet_is_a_table(client: TestClient, backend: FakeBackend) -> None:
    backend.append("orders", None, partition=1)
    answer = client.get("/api/topics/orders/download", params={"format": "parquet", "from": "oldest"})
    table = parquet.read_table(io.BytesIO(answer.content))
    assert table.column_names == ["partition", "offset", "timestamp", "key", "value", "headers"]
    assert table.num_rows == 7
    assert table["value"].to_pylist().count(None) == 1


def test_an_empty_topic_is_an_empty_file(client: TestClient) -> None:
    assert client.get("/api/topics/payments/download").text == ""
    whole = client.get("/api/topics/payments/download", params={"format": "parquet"})
    assert parquet.read_table(io.BytesIO(whole.content)).num_rows == 0


@pytest.mark.parametrize(
    ("asked", "sentence"),
    [
        ({"format": "xml"}, "cannot be written as 'xml'"),
        ({"filter": "value ="}, "The filter ends"),
        ({"limit": "0"}, "not a valid limit"),
    ],
)
def test_what_cannot_be_is_refused_before_a_file_begins(
    client: TestClient, asked: dict[str, str], sentence: str
) -> None:
    answer = client.get("/api/topics/orders/download", params=asked)
    assert answer.status_code == 400
    assert sentence in answer.json()["message"]
