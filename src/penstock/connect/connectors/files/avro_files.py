"""Avro files: records with Connect's schema in, and out."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from typing import Any

import fastavro

from penstock.connect.converters import avro_data
from penstock.connect.data.record import ConnectRecord
from penstock.connect.data.schema import Schema
from penstock.connect.errors import DataError


def avro_file(records: Sequence[ConnectRecord], codec: str) -> bytes:
    """One file; its records have one schema."""
    schema = records[0].value_schema
    if schema is None:
        raise DataError("an Avro file needs records with a schema")
    out = io.BytesIO()
    values = [avro_data.to_avro(schema, each.value) for each in records]
    fastavro.writer(out, fastavro.parse_schema(avro_data.avro_schema(schema)), values, codec=codec)
    return out.getvalue()


def avro_records(file: Any, first: int) -> Iterator[tuple[Schema, Any]]:
    """The records from a number on. Blocks before it are not decoded."""
    blocks = fastavro.block_reader(file)
    schema = avro_data.connect_schema(blocks.writer_schema)
    physical = fastavro.parse_schema(_physical(blocks.writer_schema))
    number = 0
    for block in blocks:
        if number + block.num_records > first:
            for _ in range(block.num_records):
                value = fastavro.schemaless_reader(
                    block.bytes_,  # type: ignore[attr-defined]
                    physical,
                    None,
                    return_record_name=True,
                    return_record_name_override=True,
                )
                if number >= first:
                    yield schema, avro_data.from_avro(schema, value)
                number += 1
        else:
            number += block.num_records


def _physical(shape: Any) -> Any:
    """Without logical types, which `avro_data` reads from plain values."""
    if isinstance(shape, list):
        return [_physical(each) for each in shape]
    if isinstance(shape, dict):
        hidden = ("logicalType", "__fastavro_parsed__", "__named_schemas")
        return {name: _physical(part) for name, part in shape.items() if name not in hidden}
    return shape
