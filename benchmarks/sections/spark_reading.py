"""Reading a topic with Spark: our source beside Spark's own Kafka connector, on one broker, in turns.

`decoding` says what typed columns cost, on one core and without Spark: rows of ten fields to Arrow.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from functools import partial
from typing import Final

import pyarrow as pa
from pyspark.sql import SparkSession

from benchmarks.bench import Bench
from benchmarks.results import Metric, Row, Sample, Table
from benchmarks.spark_rig import CONNECTORS, Connector, fill, session, timed
from benchmarks.systems import System, running
from benchmarks.topics import topic
from penstock.client.schema_registry import Schema
from penstock.spark.decoding import ColumnDecoder, Decoding
from penstock.spark.format_options import FieldFormat
from penstock.spark.formats.table import format_named
from tests.peers.apache_kafka import Unavailable

PARTITIONS: Final = 4
TOTAL_BYTES: Final = 400_000_000
QUICK_BYTES: Final = 40_000_000
DECODED_ROWS: Final = 10_000
METRICS: Final = (Metric("k rows/s", 0), Metric("CPU s/M rows", 2))
JOBS: Final = ("to noop", "count by key")
_FIELDS: Final = {
    **{f"number{index}": index * 1_000_003 for index in range(4)},
    **{f"text{index}": f"a text of some length {index}" for index in range(4)},
    **{f"part{index}": index / 7 for index in range(2)},
}


def run(bench: Bench) -> Iterator[Table]:
    table = Table("Spark: reading a topic of four partitions", METRICS)
    try:
        with session() as spark, running(bench.work, with_kafka=False) as (system,):
            for record_bytes in (100, 1000):
                table.rows += _read_both(bench, spark, system, record_bytes)
    except Unavailable as reason:
        table.notes.append(f"Not measured: {reason}.")
    yield table


def _read_both(bench: Bench, spark: SparkSession, system: System, record_bytes: int) -> Iterator[Row]:
    rows = (QUICK_BYTES if bench.effort.quick else TOTAL_BYTES) // record_bytes
    with topic(system, PARTITIONS) as name:
        fill(spark, system.address, name, rows, record_bytes)
        for job in JOBS:
            read = partial(_read, spark, system, name, rows, job)
            for connector in CONNECTORS:  # for the JVM to compile what it runs
                read(connector)
            yield bench.alternate(f"{record_bytes} B {job}", CONNECTORS, read)


def _read(
    spark: SparkSession, system: System, name: str, rows: int, job: str, connector: Connector
) -> Sample:
    reader = spark.read.format(connector.format).option("kafka.bootstrap.servers", system.address)
    frame = reader.option("subscribe", name).option("startingOffsets", "earliest").load()
    if job == "count by key":
        frame = frame.groupBy("key").count()
    writer = frame.write.format("noop").mode("overwrite")
    return timed(writer.save, rows, system.pid)


def decoding(bench: Bench) -> Iterator[Table]:
    """One decoder of each format, over batches as the source makes them."""
    table = Table("Spark: values to typed columns, ten fields, one core", (Metric("k rows/s", 0),))
    for form in ("avro", "json", "protobuf"):
        row = Row(form, {"Penstock": []})
        for _ in range(bench.effort.rounds):
            row.samples["Penstock"].append({"k rows/s": _decoded_per_second(form) / 1e3})
        table.rows.append(row)
    yield table


def _decoded_per_second(form: str) -> float:
    schema = _schema(form)
    value = format_named(form).encoder(schema, None)(_FIELDS)
    column = pa.array([value] * DECODED_ROWS, pa.binary())
    decoder = ColumnDecoder(Decoding(FieldFormat("value", form, None, None, schema.text, None, None), schema))
    assert decoder.decode(column).failures == []
    began = time.process_time()
    decoder.decode(column)
    return DECODED_ROWS / (time.process_time() - began)


def _schema(form: str) -> Schema:
    kinds = {int: ("long", "integer", "int64"), str: ("string",) * 3, float: ("double", "number", "double")}
    named = [(name, kinds[type(value)]) for name, value in _FIELDS.items()]
    if form == "avro":
        fields = [{"name": name, "type": kind[0]} for name, kind in named]
        return Schema("AVRO", json.dumps({"type": "record", "name": "Row", "fields": fields}))
    if form == "json":
        return Schema("JSON", json.dumps({"properties": {name: {"type": kind[1]} for name, kind in named}}))
    lines = [f"{kind[2]} {name} = {number};" for number, (name, kind) in enumerate(named, 1)]
    return Schema("PROTOBUF", f'syntax = "proto3"; message Row {{ {" ".join(lines)} }}')
