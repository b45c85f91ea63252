"""What the formats have in common: what each of them offers, and the errors they raise."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import pyarrow as pa
from pyspark.sql.types import DataType, StructType

from penstock.client.schema_registry import Schema

Decode = Callable[[bytes], Any]
"""One value without its frame to what `pyarrow.array` takes; `UnreadableValue` when it cannot."""
Encode = Callable[[Any], bytes]
"""One Python value, as `pyarrow` gives it, to bytes without a frame."""


class SchemaProblem(ValueError):
    """A schema that is broken, or that no column can hold; the message says where and why."""


class UnreadableValue(ValueError):
    """Bytes that are not a value of their schema."""


class Column(NamedTuple):
    """The column that a reader's schema makes."""

    spark: DataType
    arrow: pa.DataType
    """As values come from `Decode`; cast to Spark's own form of the type where they differ."""


class Format(Protocol):
    schema_type: str
    """AVRO, JSON or PROTOBUF, as registries say."""

    def column(self, reader: Schema, message: str | None) -> Column:
        """`message` names one of several in a Protobuf file; others have no use for it."""
        ...

    def decoder(self, writer: Schema, reader: Schema, message: str | None, path: tuple[int, ...]) -> Decode:
        """For values of `writer`; `path` is what a Protobuf value says of its message."""
        ...

    def encoder(self, schema: Schema, message: str | None) -> Encode: ...

    def prefix(self, schema: Schema, message: str | None) -> bytes:
        """What stands between the frame and the value: Protobuf's path of the message, nothing in others."""
        ...

    def derived(self, columns: StructType, name: str) -> Schema:
        """A schema for rows that come without one."""
        ...
