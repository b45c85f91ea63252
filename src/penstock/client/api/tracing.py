"""The interceptor that puts a record into a trace. A producer has it when the environment asks for traces."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from penstock.client.api.records import ProducerRecord
from penstock.metrics.tracing import Tracing, parent_of, spans_of, with_parent


class TracingInterceptor:
    """Each record that is sent is a span, under the one that the record names or under the program's own."""

    def __init__(self, tracing: Tracing) -> None:
        self._spans = spans_of(tracing)

    def on_send(self, record: ProducerRecord) -> ProducerRecord:
        name, parent = f"send {record.topic}", parent_of(record.headers)
        span = self._spans.begin(
            name, "producer", parent, destination__name=record.topic, operation__type="send"
        )
        span.end()
        return replace(record, headers=with_parent(record.headers, span.header))

    def close(self) -> None:
        self._spans.flush()


def tracing_interceptors(environ: Mapping[str, str], client_id: str) -> list[TracingInterceptor]:
    tracing = Tracing.asked(environ, client_id or "penstock-producer")
    return [] if tracing is None else [TracingInterceptor(tracing)]
