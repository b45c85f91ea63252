"""`write_stream`: a streaming frame to topics, exactly once, or at least once for less."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from pyspark.sql import DataFrame
from pyspark.sql.streaming import StreamingQuery

from penstock.spark.checkpoints import Checkpoint
from penstock.spark.encoding import encoded
from penstock.spark.options import SERVERS, OptionError, WriteOptions, write_options
from penstock.spark.sink import checked_columns
from penstock.spark.transactional import TRANSACTION_TIMEOUT_MS, TransactionalWriter

EXACTLY_ONCE: Final = "exactly-once"
AT_LEAST_ONCE: Final = "at-least-once"
_MODES: Final = ("append", "complete", "update")

OnBatch = Callable[[DataFrame, int], None]


def write_stream(
    df: DataFrame,
    *,
    bootstrap_servers: str,
    checkpoint: str,
    topic: str | None = None,
    output_mode: str = "append",
    trigger: Mapping[str, Any] | None = None,
    guarantee: str = EXACTLY_ONCE,
    query_name: str | None = None,
    transaction_timeout_ms: int = TRANSACTION_TIMEOUT_MS,
    options: Mapping[str, str] | None = None,
) -> StreamingQuery:
    """Write `df` to `topic`, or to the topic that each row names, and return the query that does.

    `trigger` are the keywords of Spark's own `trigger`; `options` those of the sink (`kafka.…`). Each
    micro-batch is one transaction, so readers with `read_committed` see each row once, whatever fails;
    `guarantee="at-least-once"` needs no transaction and may repeat rows after a failure.
    `transaction_timeout_ms` must be longer than the longest batch takes.
    """
    if not df.isStreaming:
        raise OptionError('this frame is not a stream: write it with df.write.format("penstock")')
    if output_mode not in _MODES:
        raise OptionError(f"output_mode is one of {', '.join(_MODES)}, not {output_mode!r}")
    sink = {**(options or {}), SERVERS: bootstrap_servers}
    if topic is not None:
        sink["topic"] = topic
    checked = write_options(sink)
    df, sink = encoded(df, sink, checked.topic)
    checked_columns(df.schema, checked)
    if guarantee == EXACTLY_ONCE:
        on_batch = _exactly_once(df, checked, checkpoint, transaction_timeout_ms)
    elif guarantee == AT_LEAST_ONCE:
        on_batch = _at_least_once(sink)
    else:
        raise OptionError(f"guarantee is {EXACTLY_ONCE} or {AT_LEAST_ONCE}, not {guarantee!r}")
    writer = df.writeStream.outputMode(output_mode).option("checkpointLocation", checkpoint)
    if query_name is not None:
        writer = writer.queryName(query_name)
    if trigger is not None:
        writer = writer.trigger(**trigger)
    return writer.foreachBatch(on_batch).start()


def _exactly_once(df: DataFrame, options: WriteOptions, location: str, timeout_ms: int) -> OnBatch:
    spark = df.sparkSession
    if spark.conf.get("spark.dynamicAllocation.enabled", "false") == "true":
        raise OptionError(
            "writing exactly once needs a barrier stage, which Spark does not run with "
            "spark.dynamicAllocation.enabled: set it to false, or write at least once"
        )
    checkpoint = Checkpoint(spark, location)
    writers: list[TransactionalWriter] = []  # one, made when the query has an id

    def write(rows: DataFrame, batch_id: int) -> None:
        batch = checkpoint.batch(batch_id)
        if not writers:
            name = f"penstock-sink-{batch.query_id}"
            writers.append(
                TransactionalWriter(options, transactional_id=name, group_id=name, timeout_ms=timeout_ms)
            )
        writers[0].write(rows, batch)

    return write


def _at_least_once(sink: Mapping[str, str]) -> OnBatch:
    def write(rows: DataFrame, batch_id: int) -> None:
        rows.write.format("penstock").options(**sink).mode("append").save()

    return write
