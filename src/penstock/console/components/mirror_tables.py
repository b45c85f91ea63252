"""The mirrors of the pipelines page: a table of flows, and one of their partitions."""

from __future__ import annotations

from collections.abc import Sequence

from penstock.console.components.grid import Column, Grid, Row
from penstock.console.components.layout import panel
from penstock.console.mirrors import MirroredPartition, MirrorFlow

NUMBERS = (
    Column("lag", "Lag, records", "number", "120px"),
    Column("seconds", "Lag, time", "seconds", "100px"),
    Column("rate", "Records/s", "rate", "110px"),
    Column("bytes", "Bytes/s", "bytes_rate", "110px", "wide-only"),
)
FLOWS = (
    Column("flow", "Flow"),
    Column("state", "State", "tag", "120px"),
    *NUMBERS,
    Column("errors", "Errors since its start", "text", "240px", "wide-only"),
)
PARTITIONS = (
    Column("topic", "Topic"),
    Column("flow", "Flow", "text", "140px"),
    Column("partition", "Partition", "number", "100px"),
    *NUMBERS,
)
NONE = {"title": "No mirror runs here", "text": "penstock mirror --config mm2.properties starts one."}
NO_PARTITIONS = {"title": "No partition is mirrored", "text": "A flow shows those that it copies."}


class MirrorTables:
    """Made inside a page; `show` brings both tables up to date."""

    def __init__(self) -> None:
        with panel("Mirrors", "Copies between this cluster and others"):
            self._flows = Grid("Mirrors", FLOWS, NONE, sort="lag", descending=True)
            self._partitions = Grid(
                "Mirrored partitions", PARTITIONS, NO_PARTITIONS, sort="lag", descending=True
            )

    def show(self, flows: Sequence[MirrorFlow]) -> None:
        self._flows.show(_flow_row(flow) for flow in flows)
        rows = [_partition_row(flow, each) for flow in flows for each in flow.partitions]
        # The table holds a bounded number of lines: those that are behind come first.
        self._partitions.show(sorted(rows, key=lambda row: -row["lag"]))


def _flow_row(flow: MirrorFlow) -> Row:
    errors = ", ".join(f"{duty}: {count:,}" for duty, count in sorted(flow.errors.items()))
    return {
        "id": f"{flow.name} {flow.url}",
        "flow": flow.name,
        "state": {"text": flow.state, "tone": flow.tone},
        "lag": flow.lag_records,
        "seconds": flow.lag_seconds,
        "rate": flow.records_per_second,
        "bytes": flow.bytes_per_second,
        "errors": errors or "none",
    }


def _partition_row(flow: MirrorFlow, each: MirroredPartition) -> Row:
    return {
        "id": f"{flow.name} {flow.url} {each.topic} {each.partition}",
        "flow": flow.name,
        "topic": each.topic,
        "partition": each.partition,
        "lag": each.lag_records,
        "seconds": each.lag_seconds,
        "rate": each.records_per_second,
        "bytes": each.bytes_per_second,
    }
