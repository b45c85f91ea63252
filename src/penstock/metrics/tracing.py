"""Traces by OpenTelemetry, when they are asked for: spans of records, and W3C's `traceparent` in headers.

`OTEL_TRACES_EXPORTER=otlp` in the environment asks for them, `OTEL_EXPORTER_OTLP_ENDPOINT` says where they
go, `OTEL_SERVICE_NAME` what the process is called. OpenTelemetry itself is an extra (`penstock[telemetry]`)
and is imported with the first span. `Tracing` is data: a driver hands it to the processes of its tasks.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final, Literal

TRACEPARENT: Final = "traceparent"
DEFAULT_ENDPOINT: Final = "http://localhost:4318"
FLUSH_MS: Final = 5_000
_FORM: Final = re.compile(rb"[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}")

Headers = Sequence[tuple[str, bytes | None]]
Kind = Literal["producer", "consumer"]


@dataclass(frozen=True)
class Tracing:
    """Where spans go, and in whose name."""

    endpoint: str
    service: str

    @classmethod
    def asked(cls, environ: Mapping[str, str], service: str) -> Tracing | None:
        """None unless the environment asks for traces. `service` is the name where it gives none."""
        if environ.get("OTEL_TRACES_EXPORTER") != "otlp" or environ.get("OTEL_SDK_DISABLED") == "true":
            return None
        base = environ.get("OTEL_EXPORTER_OTLP_ENDPOINT") or DEFAULT_ENDPOINT
        endpoint = environ.get("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT") or f"{base.rstrip('/')}/v1/traces"
        return cls(endpoint, environ.get("OTEL_SERVICE_NAME") or service)


def parent_of(headers: Iterable[tuple[str, bytes | None]]) -> bytes | None:
    """The trace that a record belongs to; None if it belongs to none."""
    found = None
    for name, value in headers:
        if name == TRACEPARENT and value is not None and _FORM.fullmatch(value):
            found = value
    return found


def with_parent(headers: Headers, parent: bytes) -> tuple[tuple[str, bytes | None], ...]:
    """The headers with this trace in place of the one before."""
    return (*(each for each in headers if each[0] != TRACEPARENT), (TRACEPARENT, parent))


class Span:
    """Something that is done with a record. `header` is what the record carries on."""

    __slots__ = ("_span", "header")

    def __init__(self, span: Any) -> None:
        self._span = span
        context = span.get_span_context()
        flags = int(context.trace_flags)
        self.header = f"00-{context.trace_id:032x}-{context.span_id:016x}-{flags:02x}".encode()

    def end(self, error: str = "") -> None:
        if error:
            from opentelemetry.trace import Status, StatusCode

            self._span.set_status(Status(StatusCode.ERROR, error))
        self._span.end()


class Spans:
    """The spans of a process for one `Tracing`."""

    def __init__(self, tracing: Tracing) -> None:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
        from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

        self._provider = TracerProvider(resource=Resource.create({"service.name": tracing.service}))
        self._provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(endpoint=tracing.endpoint)))
        self._tracer = self._provider.get_tracer("penstock")
        self._propagator = TraceContextTextMapPropagator()

    def begin(self, name: str, kind: Kind, parent: bytes | None, **attributes: str | int) -> Span:
        """Under the span that `parent` names, or under the current one of the program."""
        from opentelemetry.trace import SpanKind

        context = None if parent is None else self._propagator.extract({TRACEPARENT: parent.decode()})
        named = {f"messaging.{key.replace('__', '.')}": value for key, value in attributes.items()}
        kinds = {"producer": SpanKind.PRODUCER, "consumer": SpanKind.CONSUMER}
        attributes_of_all = {"messaging.system": "kafka", **named}
        return Span(self._tracer.start_span(name, context, kinds[kind], attributes_of_all))

    def flush(self) -> None:
        """What has ended is sent, or given up."""
        self._provider.force_flush(FLUSH_MS)


@lru_cache(maxsize=8)
def spans_of(tracing: Tracing) -> Spans:
    """One for a process. ImportError, with what to install, where OpenTelemetry is missing."""
    try:
        return Spans(tracing)
    except ImportError as error:
        raise ImportError(
            "OTEL_TRACES_EXPORTER asks for traces, and OpenTelemetry is not installed: "
            "pip install 'penstock[telemetry]'"
        ) from error
