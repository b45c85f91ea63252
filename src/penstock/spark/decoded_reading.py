"""A range of a partition with its keys and values decoded: what a task of the source does with formats."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np
import pyarrow as pa
from pyspark.sql.types import StructType

from penstock.spark import dead_letters
from penstock.spark.arrow import full_schema
from penstock.spark.dead_letters import Failure
from penstock.spark.decoding import ColumnDecoder, Decoding
from penstock.spark.limits import OffsetRange
from penstock.spark.options import ReadOptions
from penstock.spark.reading import read_range

_LONGEST_REASON: Final = 1000


class DecodeFailed(RuntimeError):
    """A value that cannot be decoded, while the query was told to fail then."""


def read_decoded(
    wanted: OffsetRange, schema: StructType, options: ReadOptions, decodings: Sequence[Decoding]
) -> Iterator[pa.RecordBatch]:
    """As `read_range`, decoded. `schema` has the columns of the result."""
    names = schema.fieldNames()
    decoders = {each.field.field: ColumnDecoder(each) for each in decodings if each.field.field in names}
    for batch in read_range(wanted, _raw(names, options), options):
        arrays = {name: batch.column(name) for name in names}
        failures: dict[int, Failure] = {}
        for field, decoder in decoders.items():
            arrays[field], failed = decoder.decode(batch.column(field))
            for row, reason in failed:
                failures.setdefault(row, Failure(row, field, reason[:_LONGEST_REASON]))
        decoded = pa.RecordBatch.from_arrays([arrays[name] for name in names], names=names)
        yield _settle(decoded, batch, [failures[row] for row in sorted(failures)], wanted, options)


def _raw(names: Sequence[str], options: ReadOptions) -> StructType:
    """What must be read: the offset to name a failure by, and everything for a dead letter."""
    everything = options.decode_errors.topic is not None
    fields = full_schema(include_headers=True).fields
    return StructType(
        [field for field in fields if everything or field.name in names or field.name == "offset"]
    )


def _settle(
    decoded: pa.RecordBatch,
    raw: pa.RecordBatch,
    failures: list[Failure],
    wanted: OffsetRange,
    options: ReadOptions,
) -> pa.RecordBatch:
    """Do with failures what the options say."""
    errors = options.decode_errors
    if not failures or errors.action == "null":
        return decoded
    if errors.topic is not None:
        dead_letters.send(options.client, errors.topic, raw, failures)
        kept = np.ones(decoded.num_rows, dtype=bool)
        kept[[failure.row for failure in failures]] = False
        return decoded.filter(pa.array(kept))
    first = failures[0]
    raise DecodeFailed(
        f"the {first.field} at offset {raw.column('offset')[first.row]} of {wanted.topic}-{wanted.partition} "
        f"cannot be decoded: {first.reason}. Set onDecodeError to null to read it as null, or to deadLetter "
        "with deadLetterTopic to put such records aside"
    )
