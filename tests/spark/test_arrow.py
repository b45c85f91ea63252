"""Columns of records as Arrow batches: what Spark would choke on does not reach it."""

from __future__ import annotations

import pyarrow as pa

from penstock.client.arrow.columns import ROWS
from penstock.records.batch import HEADER_SIZE
from penstock.records.record import Record, encode_batch
from penstock.records.walk import ColumnBuilder
from penstock.spark.arrow import batch_maker, full_schema


def batches(records: list[Record], payload: bytes | None = None, times: int = 1) -> list[pa.RecordBatch]:
    builder = ColumnBuilder()
    payload = bytes(encode_batch(records)[HEADER_SIZE:]) if payload is None else payload
    for _ in range(times):
        builder.add(payload, len(records), 0, records[0].timestamp_ms)
    return list(batch_maker(full_schema(include_headers=True), "t", 3).batches(builder.take()))


def test_times_that_spark_cannot_hold_become_the_nearest_that_it_can() -> None:
    (batch,) = batches([Record(None, b"", (), time) for time in (-(1 << 61), 0, 1 << 61)])
    microseconds = batch.column("timestamp").cast(pa.int64()).to_pylist()
    assert microseconds[1] == 0
    assert -(1 << 63) <= microseconds[0] < -(1 << 62)
    assert 1 << 62 < microseconds[2] < 1 << 63


def test_a_header_key_that_is_no_text_is_shown_as_far_as_it_is() -> None:
    record = Record(None, None, (("good", b"1"), ("zz", b"2")))
    payload = bytes(encode_batch([record])[HEADER_SIZE:]).replace(b"zz", b"z\xff")
    (batch,) = batches([record], payload)
    batch.validate(full=True)
    assert [header["key"] for header in batch.column("headers")[0].as_py()] == ["good", "z\ufffd"]


def test_no_headers_are_an_empty_list_and_never_null() -> None:
    (batch,) = batches([Record(b"k", b"v"), Record(None, None, (("h", None),)), Record(None, None)])
    headers = batch.column("headers")
    assert headers.null_count == 0
    assert headers.to_pylist() == [[], [{"key": "h", "value": None}], []]
    assert batch.column("topic").to_pylist() == ["t"] * 3
    assert batch.column("partition").to_pylist() == [3] * 3


def test_many_rows_are_cut_in_slices() -> None:
    found = batches([Record(None, b"%d" % number) for number in range(1000)], times=26)
    assert [batch.num_rows for batch in found] == [ROWS, ROWS, 6000]
    assert found[2].column("value")[5999].as_py() == b"999"
