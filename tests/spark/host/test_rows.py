"""Rows of records: the order in which a task takes them, and Python records in and out."""

from __future__ import annotations

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.plan.raw_records import ProducedColumns, RawRecord, merged
from penstock.spark.host import rows
from penstock.spark.host.rows import FINAL

PLACES = st.sampled_from([("a", 0), ("a", 1), ("b", 0)])


def table_of(records: list[RawRecord]) -> pa.Table:
    topics, partitions, offsets, times, keys, values, headers = (
        list(column) for column in zip(*records, strict=True)
    )
    columns = ProducedColumns(keys, values, topics, partitions, times, headers)
    return rows.with_columns(
        rows.produced_table(columns, FINAL, 0, 0, 0), offset=pa.array(offsets, pa.int64())
    )


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(PLACES, st.integers(0, 9)), min_size=1, max_size=30), st.randoms())
def test_the_order_is_that_of_heads_however_the_rows_were_shuffled(
    taken: list[tuple[tuple[str, int], int]], random
) -> None:  # type: ignore[no-untyped-def]
    records = [RawRecord(*place, at, time, None, b"%d" % at) for at, (place, time) in enumerate(taken)]
    expected = [record.offset for record in merged(sorted(records, key=lambda one: one[:3]))]
    shuffled = list(records)
    random.shuffle(shuffled)
    table = table_of(shuffled)
    assert table["offset"].take(pa.array(rows.merge_order(table))).to_pylist() == expected
    negated = [record._replace(timestamp=-record.timestamp) for record in shuffled]
    order = rows.merge_order(table_of(negated), lambda found: (-rows.milliseconds(found)).tolist())
    assert table["offset"].take(pa.array(order)).to_pylist() == expected


def test_records_come_out_as_they_went_in() -> None:
    record = RawRecord("t", 1, 5, 12, b"k", None, (("h", b"x"), ("n", None)))
    assert [RawRecord._make(found) for found in rows.records(table_of([record]))] == [record]
    plain = RawRecord("t", 1, 5, -1, None, b"", ())
    assert [RawRecord._make(found) for found in rows.records(table_of([plain]))] == [plain]


def test_keys_go_where_every_producer_sends_them() -> None:
    from penstock.wire.partitioner import partition_for_key

    keys = [b"a", b"bb", None, b"ccc"]
    expected = [2 if key is None else partition_for_key(key, 7) for key in keys]
    assert rows.partitions_by_key(keys, 7, 2).tolist() == expected
