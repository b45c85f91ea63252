"""The columns of the Spark source: those of Spark's own Kafka source, and how they are made."""

from __future__ import annotations

from typing import Final

from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from penstock.client.arrow.columns import BatchMaker

_HEADER: Final = StructType([StructField("key", StringType()), StructField("value", BinaryType())])
_FIELDS: Final = (
    StructField("key", BinaryType()),
    StructField("value", BinaryType()),
    StructField("topic", StringType()),
    StructField("partition", IntegerType()),
    StructField("offset", LongType()),
    StructField("timestamp", TimestampType()),
    StructField("timestampType", IntegerType()),
)
_HEADERS: Final = StructField("headers", ArrayType(_HEADER))


def full_schema(*, include_headers: bool) -> StructType:
    """Every column there can be, in the order of Spark's own Kafka source."""
    return StructType([*_FIELDS, _HEADERS] if include_headers else list(_FIELDS))


def batch_maker(schema: StructType, topic: str, partition: int) -> BatchMaker:
    """Makes record batches of one partition with the columns of `schema`."""
    return BatchMaker(to_arrow_schema(schema, timezone="UTC"), topic, partition)
