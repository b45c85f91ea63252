"""Records that could not be decoded, written to a topic as they were, with headers that say why.

Key and value are the original bytes, the original headers come first, then `penstock.error.*`. The write is
acknowledged before the rows around it go on; a task that Spark runs again writes its dead letters again.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final, NamedTuple

import pyarrow as pa

from penstock.security.client_settings import ClientSettings
from penstock.spark.options import write_options
from penstock.spark.sink import write_rows

HEADER_PREFIX: Final = "penstock.error."
_HEADERS: Final = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))
_COLUMNS: Final = frozenset({"key", "value", "headers", "timestamp"})


class Failure(NamedTuple):
    row: int
    field: str
    """`key` or `value`."""
    reason: str


def send(client: ClientSettings, topic: str, batch: pa.RecordBatch, failures: list[Failure]) -> None:
    """`batch` has all columns of the source with headers, and the original bytes."""
    rows = batch.take(pa.array([failure.row for failure in failures]))
    found = rows.select(["topic", "partition", "offset", "headers"]).to_pylist()
    headers = [[*row["headers"], *_told(failure, row)] for failure, row in zip(failures, found, strict=True)]
    letters = pa.record_batch(
        {
            "key": rows.column("key"),
            "value": rows.column("value"),
            "headers": pa.array(headers, _HEADERS),
            "timestamp": rows.column("timestamp"),
        }
    )
    options = write_options({"kafka.bootstrap.servers": client.bootstrap_servers, "topic": topic})
    write_rows(iter([letters]), _COLUMNS, replace(options, client=client))


def _told(failure: Failure, row: dict[str, object]) -> list[dict[str, object]]:
    said = {
        "reason": failure.reason,
        "field": failure.field,
        "topic": row["topic"],
        "partition": row["partition"],
        "offset": row["offset"],
    }
    return [{"key": HEADER_PREFIX + name, "value": str(text).encode()} for name, text in said.items()]
