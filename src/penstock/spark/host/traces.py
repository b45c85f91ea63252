"""Records of an application in their traces: a span each, from its arrival until its shard is done.

Only records that carry a `traceparent` have one, and only if the driver was asked for traces. What is made of
a record carries the span on, as every header. A batch that is tried again has spans for each attempt.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pyarrow as pa

from penstock.metrics.tracing import Span, Spans, Tracing, parent_of, spans_of, with_parent
from penstock.spark.host import rows


class ShardTraces:
    """The spans of one shard in one batch."""

    def __init__(self, tracing: Tracing, application_id: str) -> None:
        self._spans: Spans = spans_of(tracing)
        self._application_id = application_id
        self._open: list[Span] = []

    def taken(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The same rows, whose headers name the spans that begin here."""
        for batch in batches:
            headers = rows.headers_of(batch)
            parents = [parent_of(each) for each in headers]
            if not any(parents):
                yield batch
                continue
            topics, offsets = batch["topic"].to_pylist(), batch["offset"].to_pylist()
            new = [
                each if parent is None else with_parent(each, self._begun(parent, topic, offset))
                for each, parent, topic, offset in zip(headers, parents, topics, offsets, strict=True)
            ]
            at = batch.schema.get_field_index("headers")
            yield batch.set_column(at, batch.schema.field(at), rows.header_column(new))

    def finished(self, produced: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Spans end with the last row, or with a failure."""
        error = "the batch was not finished"
        try:
            yield from produced
            error = ""
        finally:
            for span in self._open:
                span.end(error)
            self._spans.flush()

    def _begun(self, parent: bytes, topic: str, offset: int) -> bytes:
        span = self._spans.begin(
            f"process {topic}",
            "consumer",
            parent,
            destination__name=topic,
            operation__type="process",
            kafka__offset=offset,
            consumer__group__name=self._application_id,
        )
        self._open.append(span)
        return span.header
