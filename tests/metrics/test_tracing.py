"""When traces are asked for, and what of a record's headers names one."""

from __future__ import annotations

import pytest

from penstock.metrics.tracing import Tracing, parent_of, with_parent

PARENT = b"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


@pytest.mark.parametrize(
    ("environ", "endpoint"),
    [
        ({}, None),
        ({"OTEL_TRACES_EXPORTER": "none"}, None),
        ({"OTEL_TRACES_EXPORTER": "otlp", "OTEL_SDK_DISABLED": "true"}, None),
        ({"OTEL_TRACES_EXPORTER": "otlp"}, "http://localhost:4318/v1/traces"),
        (
            {"OTEL_TRACES_EXPORTER": "otlp", "OTEL_EXPORTER_OTLP_ENDPOINT": "http://c:1/"},
            "http://c:1/v1/traces",
        ),
        ({"OTEL_TRACES_EXPORTER": "otlp", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://c/x"}, "http://c/x"),
    ],
)
def test_only_the_environment_asks_for_traces(environ: dict[str, str], endpoint: str | None) -> None:
    tracing = Tracing.asked(environ, "mine")
    assert (None if tracing is None else tracing.endpoint) == endpoint
    assert tracing is None or tracing.service == "mine"


def test_the_last_header_of_the_right_form_counts_and_is_replaced() -> None:
    headers = [("a", b"1"), ("traceparent", b"nonsense"), ("traceparent", PARENT), ("traceparent", None)]
    assert parent_of(headers) == PARENT
    assert parent_of(headers[:2]) is None
    other = PARENT.replace(b"b7", b"c8")
    assert with_parent(headers, other) == (("a", b"1"), ("traceparent", other))
