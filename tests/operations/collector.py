"""A collector of traces on loopback: OTLP over HTTP."""

from __future__ import annotations

import gzip
import http.server
import threading
from typing import Any, NamedTuple

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest


class Got(NamedTuple):
    service: str
    name: str
    trace: bytes
    span: bytes
    parent: bytes


class Collector(http.server.ThreadingHTTPServer):
    """What OTLP over HTTP brings, on loopback."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Receiver)
        self.spans: list[Got] = []
        self.thread = threading.Thread(target=self.serve_forever)
        self.thread.start()

    def received(self, request: ExportTraceServiceRequest) -> None:
        for resource in request.resource_spans:
            named = {each.key: each.value.string_value for each in resource.resource.attributes}
            for scope in resource.scope_spans:
                self.spans += [
                    Got(named["service.name"], span.name, span.trace_id, span.span_id, span.parent_span_id)
                    for span in scope.spans
                ]


class _Receiver(http.server.BaseHTTPRequestHandler):
    server: Collector

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.headers.get("Content-Encoding") == "gzip":
            body = gzip.decompress(body)
        self.server.received(ExportTraceServiceRequest.FromString(body))
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *arguments: Any) -> None:
        """Nothing."""
