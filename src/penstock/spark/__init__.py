"""Spark, on which every pipeline runs: a session, topics as a source, topics as a sink.

`penstock.spark.session()` gives a session that knows `format("penstock")`. No jar is needed. Nothing below
this package imports pyspark, and importing this package does not either until something is asked of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from penstock.spark.datasource import PenstockDataSource as PenstockDataSource
    from penstock.spark.launch import session as session
    from penstock.spark.pipeline_metrics import serve_metrics as serve_metrics
    from penstock.spark.query_lag import lag as lag
    from penstock.spark.writing import write_stream as write_stream

__all__ = ["PenstockDataSource", "lag", "serve_metrics", "session", "write_stream"]


def __getattr__(name: str) -> Any:
    if name == "session":
        from penstock.spark.launch import session

        return session
    if name == "write_stream":
        from penstock.spark.writing import write_stream

        return write_stream
    if name == "lag":
        from penstock.spark.query_lag import lag

        return lag
    if name == "serve_metrics":
        from penstock.spark.pipeline_metrics import serve_metrics

        return serve_metrics
    if name == "PenstockDataSource":
        from penstock.spark.datasource import PenstockDataSource

        return PenstockDataSource
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
