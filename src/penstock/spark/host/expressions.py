"""Column expressions on Spark: the chains of `plan/expressions.py` as columns of a batch's frame, computed by
the JVM before Python gets the rows.

What is computed travels as bytes to the task, in a form that its type decides; the source in the task's
plan reads that form. A row whose bytes the JVM cannot read is marked `UNREADABLE` and left as it is: the task
does with it what it does with every poison pill. Where a chain ends in a sink and nothing keeps state, its
rows are marked `FINAL`, and no Python function ever sees them one by one.

Rows that a filter leaves out go no further, except where something keeps state: there they still move stream
time, and have their place when partitions are merged, so they travel on without key and value (`Kept`,
`Sieve`).
"""

from __future__ import annotations

import json
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, Final

from pyspark.errors import AnalysisException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as f
from pyspark.sql import types as t

from penstock.kernels.context import Context, Process
from penstock.kernels.operation import Operation
from penstock.kernels.record import Record
from penstock.kernels.serdes import BytesSerde, IntSerde, LongSerde, Serde, ShortSerde, StringSerde
from penstock.kernels.stateless import Filter, Map, MapValues, PassThrough
from penstock.kernels.timestamps import FailOnInvalidTimestamp
from penstock.plan.errors import TopologyError
from penstock.plan.expressions import Head, Rest, expression_of, heads
from penstock.plan.groups import subtopologies
from penstock.plan.nodes import Node, Sink
from penstock.plan.plan import Plan
from penstock.spark.host.rows import FINAL, RUN, UNDECIDED, UNREADABLE
from penstock.spark.host.stages import keeps_state

_KEY, _VALUE, _MINE, _READ, _KEPT, _PAIR = "_key", "_value", "_mine", "_read", "_kept", "_pair"
_NUMBERS: Final[dict[type, int]] = {LongSerde: 8, IntSerde: 4, ShortSerde: 2}  # and their bytes
_SAME: Final = (StringSerde, BytesSerde, *_NUMBERS)
"""Serdes that give the same bytes again for whatever they can read."""
_DROPPED: Final = object()


@dataclass(frozen=True)
class JsonText:
    """How a computed value travels that has no simpler form."""

    def serialize(self, topic: str, value: Any) -> bytes:
        return json.dumps(value).encode()

    def deserialize(self, topic: str, data: bytes) -> Any:
        return json.loads(data)


@dataclass(frozen=True)
class Kept:
    """A value with what the filters said of it in the first byte: left out, a value, or null."""

    inner: Serde[Any]

    def serialize(self, topic: str, value: Any) -> bytes:
        return b"\x02" if value is None else b"\x01" + self.inner.serialize(topic, value)

    def deserialize(self, topic: str, data: bytes) -> Any:
        if data[0] == 1:
            return self.inner.deserialize(topic, data[1:])
        return _DROPPED if data[0] == 0 else None


@dataclass(frozen=True)
class Sieve(Operation):
    """Where records end that a filter left out."""

    def bind(self, context: Context) -> Process:
        forward = context.forward

        def process(record: Record) -> None:
            if record.value is not _DROPPED:
                forward(record)

        return process


@dataclass(frozen=True)
class Computed:
    """A head as Spark computes it."""

    head: Head
    key: Serde[Any] | None
    """How the computed key travels; none if no step changes it, then its bytes stay."""
    value: Serde[Any] | None
    keeps_state: bool
    """Whether the sub-topology does: rows that are left out still move its time."""
    to_sink: bool

    @property
    def sieved(self) -> bool:
        return self.keeps_state and any(isinstance(step.operation, Filter) for step in self.head.steps)

    @property
    def rest(self) -> Rest:
        value = self.value or self.head.source.value_serde
        operation = Sieve() if self.sieved else PassThrough()
        return Rest(self.key or self.head.source.key_serde, Kept(value) if self.sieved else value, operation)

    def on(self, frame: DataFrame, topics: Collection[str]) -> DataFrame:
        """The frame with the rows of these topics computed; with a column `RUN`, which it may have before."""
        columns = list(dict.fromkeys([*frame.columns, RUN]))
        undecided = f.col(RUN) if RUN in frame.columns else f.lit(UNDECIDED)
        source = self.head.source
        read = _readable("key", source.key_serde) & _readable("value", source.value_serde)
        mine = _fixed(f.col("topic").isin(*topics))
        frame = frame.withColumns(
            {_KEY: f.col("key"), _VALUE: f.col("value"), RUN: undecided, _MINE: mine}
        ).withColumn(_READ, f.col(_MINE) & read)
        frame = frame.withColumns(
            {
                _KEPT: _fixed(f.col(_READ)),
                "key": f.when(f.col(_READ), _decoded("key", source.key_serde)),
                "value": f.when(f.col(_READ), _decoded("value", source.value_serde)),
            }
        )
        for step in self.head.steps:
            frame = _stepped(frame, step)
        if not self.keeps_state:
            frame = frame.filter(~f.col(_READ) | f.col(_KEPT))
        return frame.withColumns({"key": self._key_bytes(), "value": self._value_bytes(), **self._marks()})[
            columns
        ]

    def _key_bytes(self) -> Column:
        computed = f.col(_KEY) if self.key is None else _encoded("key", self.key)
        return f.when(f.col(_KEPT), computed).when(~f.col(_READ), f.col(_KEY))

    def _value_bytes(self) -> Column:
        computed = f.col(_VALUE) if self.value is None else _encoded("value", self.value)
        if self.sieved:
            computed = f.coalesce(f.concat(_byte(1), computed), _byte(2))
        left_out = _byte(0) if self.sieved else f.lit(None)
        return f.when(f.col(_KEPT), computed).when(~f.col(_READ), f.col(_VALUE)).otherwise(left_out)

    def _marks(self) -> dict[str, Column]:
        unreadable = f.col(_MINE) & ~f.col(_READ)
        run = f.when(unreadable, f.lit(UNREADABLE))
        if not self.to_sink:
            return {RUN: run.otherwise(f.col(RUN))}
        assert self.head.sink is not None
        assert isinstance(self.head.sink.operation, Sink)
        final = f.col(_KEPT) & (f.unix_micros("timestamp") >= 0)  # without a time: what the extractor says
        return {
            RUN: run.when(final, f.lit(FINAL)).otherwise(f.col(RUN)),
            "topic": f.when(final, f.lit(self.head.sink.operation.topic)).otherwise(f.col("topic")),
            "partition": f.when(~final, f.col("partition")),
        }


def compiled(spark: SparkSession, plan: Plan) -> tuple[Computed, ...]:
    """All expressions of a plan."""
    stateful = {node.name for group in subtopologies(plan) if keeps_state(group) for node in group.nodes}
    return tuple(
        _compiled(spark, head, head.node.name in stateful, plan.internal_names) for head in heads(plan)
    )


def _compiled(spark: SparkSession, head: Head, stateful: bool, internal: Collection[str]) -> Computed:
    """Let Spark look at the expressions, and decide how what they give travels. A `TopologyError` with the
    user's line and Spark's words if an expression is wrong."""
    source = head.source
    frame = spark.range(0).select(
        _decoded("key", source.key_serde, f.lit(None).cast("binary")).alias("key"),
        _decoded("value", source.value_serde, f.lit(None).cast("binary")).alias("value"),
        f.lit(None).cast("timestamp").alias("timestamp"),
        f.lit(True).alias(_KEPT),
    )
    for step in head.steps:
        try:
            frame = _stepped(frame, step)
        except AnalysisException as error:
            raise _refused(step, str(error).strip().splitlines()[0]) from None
    mapped = any(isinstance(step.operation, Map) for step in head.steps)
    rekeyed = mapped or not all(isinstance(step.operation, Filter | MapValues) for step in head.steps)
    valued = mapped or any(isinstance(step.operation, MapValues) for step in head.steps)
    key = _serde_of(head, frame.schema["key"].dataType) if rekeyed else None
    value = _serde_of(head, frame.schema["value"].dataType) if valued else None
    return Computed(head, key, value, stateful, not stateful and _ends(head, key, value, internal))


def _stepped(frame: DataFrame, step: Node) -> DataFrame:
    """One operator. What earlier filters left out is not computed."""
    expression = expression_of(step)
    assert expression is not None
    operation, kept = step.operation, f.col(_KEPT)
    made = f.when(kept, f.expr(expression.sql))
    if isinstance(operation, Filter):
        if not isinstance(frame.select(made).schema[0].dataType, t.BooleanType):
            raise _refused(step, "a filter needs an expression that is true or false")
        holds = f.coalesce(made, f.lit(False))
        return frame.withColumn(_KEPT, _fixed(kept & (~holds if operation.negate else holds)))
    if isinstance(operation, Map):
        kind = frame.select(made).schema[0].dataType
        if not isinstance(kind, t.StructType) or len(kind) != 2:
            raise _refused(step, "map needs a key and a value: write struct(KEY, VALUE)")
        key, value = (f.col(_PAIR).getField(name) for name in kind.names)
        return frame.withColumn(_PAIR, made).withColumns({"key": key, "value": value})
    return frame.withColumn("value" if isinstance(operation, MapValues) else "key", made)


def _refused(step: Node, reason: str) -> TopologyError:
    expression = expression_of(step)
    assert expression is not None
    return TopologyError(f"{step.name} computes {expression.sql!r}: {reason}", step.origin)


def _fixed(condition: Column) -> Column:
    """Not to be moved. Spark writes what one step computes into each place of the next that mentions it, and
    moves filters before both; with a few steps and sources such a plan is too large to be made. What is not
    deterministic stays where it is, so each condition gets a part that is always true, which Spark cannot
    know.
    """
    return condition & (f.monotonically_increasing_id() >= 0)


def _readable(column: str, serde: Serde[Any]) -> Column:
    if isinstance(serde, StringSerde):
        fits = f.is_valid_utf8(f.col(column).cast("string"))
    elif type(serde) in _NUMBERS:
        fits = f.octet_length(column) == _NUMBERS[type(serde)]
    else:
        return f.lit(True)  # bytes; if no step changes them, the task will read them
    return f.col(column).isNull() | fits


def _decoded(column: str, serde: Serde[Any], raw: Column | None = None) -> Column:
    """Text and whole numbers as such, everything else as the bytes that it is."""
    raw = f.col(column) if raw is None else raw
    if isinstance(serde, StringSerde):
        return raw.cast("string")
    if type(serde) in _NUMBERS:
        widened = f.conv(f.rpad(f.hex(raw), 16, "0"), 16, -10).cast("bigint")
        return f.shiftright(widened, 64 - 8 * _NUMBERS[type(serde)])
    return raw


def _serde_of(head: Head, kind: t.DataType) -> Serde[Any]:
    if isinstance(kind, t.StringType):
        return StringSerde()
    if isinstance(kind, t.BinaryType):
        return BytesSerde()
    if isinstance(kind, t.ByteType | t.ShortType | t.IntegerType | t.LongType):
        return LongSerde()
    json_kinds = (t.BooleanType, t.FloatType, t.DoubleType, t.StructType, t.ArrayType, t.MapType)
    if isinstance(kind, json_kinds):
        return JsonText()
    raise _refused(head.steps[-1], f"Python has no such value: cast {kind.simpleString()} to another type")


def _encoded(column: str, serde: Serde[Any]) -> Column:
    made = f.col(column)
    if isinstance(serde, StringSerde):
        return made.cast("binary")
    if isinstance(serde, BytesSerde):
        return made
    if isinstance(serde, LongSerde):
        return f.unhex(f.lpad(f.hex(made.cast("bigint")), 16, "0"))
    # In an array of one, so that every kind of value is JSON of the same kind; brackets go again.
    listed = f.to_json(f.array(made), {"ignoreNullFields": "false"})
    text = f.substring(listed, f.lit(2), f.char_length(listed) - 2)
    return f.when(made.isNotNull(), text.cast("binary"))


def _ends(head: Head, key: Serde[Any] | None, value: Serde[Any] | None, internal: Collection[str]) -> bool:
    """Whether what is computed is what the sink would write."""
    if head.sink is None or not isinstance(head.source.extractor, FailOnInvalidTimestamp):
        return False
    sink = head.sink.operation
    assert isinstance(sink, Sink)
    fixed = sink.topic is not None and sink.topic not in internal and sink.partitioner is None
    return (
        fixed
        and sink.key_serde == (key or head.source.key_serde)
        and sink.value_serde == (value or head.source.value_serde)
        and isinstance(sink.key_serde, _SAME)
        and isinstance(sink.value_serde, _SAME)
    )


def _byte(number: int) -> Column:
    return f.lit(bytes([number]))
