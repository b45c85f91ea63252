"""One topology for each operator; `java/Topologies.java` has the same ones for Kafka Streams, under the
same names.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from penstock.streams import (
    BufferConfig,
    EmitStrategy,
    JoinWindows,
    KeyValueSpec,
    KGroupedStream,
    KTable,
    LongSerde,
    Materialized,
    Processor,
    ProcessorContext,
    PunctuationType,
    Record,
    SessionSpec,
    SessionWindows,
    SlidingWindows,
    StreamsBuilder,
    StringSerde,
    Suppressed,
    TimeWindows,
    Topology,
    UnlimitedWindows,
    Windowed,
    WindowSpec,
)

ALL: dict[str, Callable[[StreamsBuilder], None]] = {}
S = StringSerde()
DAY = 24 * 3600 * 1000


def build(name: str) -> Topology:
    if name == "topology by hand":
        return by_hand()
    builder = StreamsBuilder(key_serde=S, value_serde=S)
    ALL[name](builder)
    return builder.build()


def topology(function: Callable[[StreamsBuilder], None]) -> Callable[[StreamsBuilder], None]:
    """Registered under the function's name, with blanks."""
    ALL[function.__name__.replace("__", ", ").replace("_", " ")] = function
    return function


def java(value: Any) -> str:
    return "null" if value is None else str(value)


def shown(key: Windowed) -> str:
    return f"{key.key}@{key.start}/{key.end}"


def text(value: Any) -> str | None:
    return None if value is None else str(value)


def out(table: KTable[Any, Any]) -> None:
    table.to_stream().map_values(text).to("out")


def out_windowed(table: KTable[Any, Any]) -> None:
    table.to_stream(lambda k, v: shown(k)).map_values(text).to("out")


def join(left: Any, right: Any) -> str:
    return f"({java(left)},{java(right)})"


def lively(value: str | None) -> bool:
    return value is not None and not value.startswith("x")


def append(key: str, value: str, aggregate: str) -> str:
    return java(aggregate) + java(value)


def plus(one: str, other: str) -> str:
    return f"{java(one)}+{java(other)}"


def minus(one: str, other: str) -> str:
    return f"{java(one)}-{java(other)}"


def both(key: str, one: str, other: str) -> str:
    return f"<{one}{other}>"


def foreign(value: str) -> str | None:
    return None if value.startswith("x") else value[0]


def grouped(b: StreamsBuilder) -> KGroupedStream[str, str]:
    return b.stream("a").group_by_key()


STRINGS = Materialized(key_serde=S, value_serde=S)

# Without state

ALL["filter"] = lambda b: b.stream("a").filter(lambda k, v: lively(v)).to("out")
ALL["filter not"] = lambda b: b.stream("a").filter_not(lambda k, v: lively(v)).to("out")
ALL["map"] = lambda b: b.stream("a").map(lambda k, v: (v, k)).to("out")
ALL["map values"] = lambda b: b.stream("a").map_values(lambda v: java(v) + "!").to("out")
ALL["map values with key"] = lambda b: (
    b.stream("a").map_values(lambda k, v: java(k) + java(v), with_key=True).to("out")
)
ALL["flat map"] = lambda b: (
    b.stream("a").flat_map(lambda k, v: [] if v is None else [(v, k), (k, v)]).to("out")
)
ALL["flat map values"] = lambda b: b.stream("a").flat_map_values(lambda v: list(v or "")).to("out")
ALL["select key"] = lambda b: b.stream("a").select_key(lambda k, v: v).to("out")
ALL["peek"] = lambda b: b.stream("a").peek(lambda k, v: None).to("out")


@topology
def for_each(b: StreamsBuilder) -> None:
    a = b.stream("a")
    a.for_each(lambda k, v: None)
    a.to("out")


@topology
def split(b: StreamsBuilder) -> None:
    found = (
        b.stream("a")
        .split(name="by-")
        .branch(lambda k, v: k is None, name="null")
        .branch(lambda k, v: lively(v))
        .default_branch(name="rest")
    )
    found["by-null"].to("nulls")
    found["by-2"].to("out")
    found["by-rest"].to("rest")


@topology
def split_behind_a_filter(b: StreamsBuilder) -> None:
    a = b.stream("a").filter(lambda k, v: v is not None)
    a.map_values(lambda v: v + "!").to("first")
    found = (
        a.split(name="by-")
        .branch(lambda k, v: k is None, name="null")
        .branch(lambda k, v: lively(v))
        .default_branch(name="rest")
    )
    found["by-rest"].to("rest")
    found["by-null"].to("nulls")
    found["by-2"].to("out")
    a.to("last")


@topology
def split_into_five_behind_an_operator(b: StreamsBuilder) -> None:
    def none(s: Any) -> None:
        s.filter(lambda k, v: True).peek(lambda k, v: None).map_values(lambda v: "none").to("rest")

    a = b.stream("a").map_values(lambda v: v).peek(lambda k, v: None)
    split = a.split().branch(lambda k, v: k is None, chain=lambda s: s.to("nulls"))
    split.branch(lambda k, v: v is None, chain=none)
    split.branch(lambda k, v: v[0] == "a", chain=lambda s: s.map_values(lambda v: v + "!").to("out"))
    split.branch(lambda k, v: v[0] == "b")
    split.default_branch(chain=lambda s: s.group_by_key().count().to_stream().map_values(str).to("counts"))
    a.filter(lambda k, v: lively(v)).map_values(lambda v: v + "?").to("last")


@topology
def split_behind_a_new_key(b: StreamsBuilder) -> None:
    def counted(s: Any) -> None:
        s.group_by_key().count().to_stream().map_values(str).to("out")

    split = b.stream("a").select_key(lambda k, v: v).split()
    split.branch(lambda k, v: lively(v), chain=counted).default_branch(chain=lambda s: s.to("rest"))


@topology
def split_without_default(b: StreamsBuilder) -> None:
    b.stream("a").split().branch(lambda k, v: lively(v), chain=lambda s: s.to("out")).no_default_branch()


ALL["merge"] = lambda b: b.stream("a").merge(b.stream("b")).to("out")
ALL["repartition"] = lambda b: b.stream("a").repartition().map_values(lambda v: java(v) + "!").to("out")
ALL["repartition by name"] = lambda b: (
    b.stream("a").select_key(lambda k, v: v).repartition(name="mine").to("out")
)
ALL["through"] = lambda b: b.stream("a").through("between").map_values(lambda v: java(v) + "!").to("out")
ALL["to by extractor"] = lambda b: b.stream("a").to(lambda k, v, c: "out" if lively(v) else "rest")


@topology
def two_streams_of_one_topic(b: StreamsBuilder) -> None:
    b.stream("a").map_values(lambda v: java(v) + "1").to("out")
    b.stream("a").map_values(lambda v: java(v) + "2").to("out2")


ALL["several topics"] = lambda b: b.stream(["a", "b"]).to("out")
ALL["pattern"] = lambda b: b.stream(re.compile("[ab]")).to("out")
ALL["named nodes"] = lambda b: (
    b.stream("a", name="from")
    .filter(lambda k, v: lively(v), name="lively")
    .select_key(lambda k, v: v, name="by-value")
    .group_by_key(name="grouped", key_serde=S)
    .count(name="counted", materialized="counts")
    .to_stream(name="changes")
    .map_values(text, name="as-text")
    .to("out", name="into")
)

# Aggregations

ALL["count"] = lambda b: out(grouped(b).count())
ALL["count by name"] = lambda b: out(grouped(b).count(materialized="counts"))
ALL["count with unnamed store"] = lambda b: out(
    grouped(b).count(materialized=Materialized(key_serde=S, value_serde=LongSerde()))
)
ALL["group by"] = lambda b: out(b.stream("a").group_by(lambda k, v: v).count())


@topology
def group_by__named(b: StreamsBuilder) -> None:
    group = b.stream("a").group_by(lambda k, v: v, name="by-value")
    group.count().to_stream().map_values(text).to("out")
    group.reduce(plus).to_stream().to("out2")


ALL["reduce"] = lambda b: out(grouped(b).reduce(plus))
ALL["aggregate"] = lambda b: out(grouped(b).aggregate(str, append))
ALL["aggregate to null"] = lambda b: out(
    grouped(b).aggregate(str, lambda k, v, a: None if v.startswith("x") else a + v)
)


def cogrouped(b: StreamsBuilder) -> Any:
    return (
        grouped(b)
        .cogroup(lambda k, v, a: f"{a}a{java(v)}")
        .cogroup(b.stream("b").group_by_key(), lambda k, v, a: f"{a}b{java(v)}")
    )


ALL["cogroup"] = lambda b: out(cogrouped(b).aggregate(str, materialized=STRINGS))
ALL["windowed cogroup"] = lambda b: out_windowed(
    cogrouped(b).windowed_by(TimeWindows(10, grace=5)).aggregate(str, materialized=STRINGS)
)
ALL["session cogroup"] = lambda b: out_windowed(
    cogrouped(b).windowed_by(SessionWindows(5, grace=5)).aggregate(str, both, materialized=STRINGS)
)

# Windows


def windowed(name: str, windows: Any, *merger: Any) -> None:
    def stream(b: StreamsBuilder) -> Any:
        return grouped(b).windowed_by(windows)

    def reduced(b: StreamsBuilder) -> None:
        group = b.stream("a")
        if isinstance(windows, TimeWindows):
            group = group.filter(lambda k, v: v is not None)
        out_windowed(group.group_by_key().windowed_by(windows).reduce(plus))

    def aggregated(b: StreamsBuilder) -> Any:
        return stream(b).aggregate(str, append, *merger, materialized=STRINGS)

    ALL[f"{name} count"] = lambda b: out_windowed(stream(b).count())
    ALL[f"{name} reduce"] = reduced
    ALL[f"{name} aggregate"] = lambda b: out_windowed(aggregated(b))
    ALL[f"{name} at close"] = lambda b: out_windowed(
        stream(b)
        .emit_strategy(EmitStrategy.ON_WINDOW_CLOSE)
        .aggregate(str, append, *merger, materialized=STRINGS)
    )
    ALL[f"{name} suppressed"] = lambda b: out_windowed(
        aggregated(b).suppress(Suppressed.until_window_closes())
    )


windowed("tumbling", TimeWindows(10))
windowed("tumbling with grace", TimeWindows(10, grace=15))
windowed("hopping", TimeWindows(10, advance=3, grace=4))
windowed("sliding", SlidingWindows(10))
windowed("sliding with grace", SlidingWindows(7, grace=20))
windowed("sessions", SessionWindows(5), both)
windowed("sessions with grace", SessionWindows(5, grace=12), both)
UNNAMED = Materialized(key_serde=S, value_serde=LongSerde())
ALL["count with unnamed settings"] = lambda b: out(grouped(b).count(materialized=UNNAMED))
ALL["windowed count with unnamed settings"] = lambda b: out_windowed(
    grouped(b).windowed_by(TimeWindows(10)).count(materialized=UNNAMED)
)
ALL["sliding count with unnamed settings"] = lambda b: out_windowed(
    grouped(b).windowed_by(SlidingWindows(10)).count(materialized=UNNAMED)
)
ALL["session count with unnamed settings"] = lambda b: out_windowed(
    grouped(b).windowed_by(SessionWindows(5)).count(materialized=UNNAMED)
)
ALL["unnamed settings of a table group count"] = lambda b: out(
    b.table("a").group_by(lambda k, v: (v, k)).count(materialized=UNNAMED)
)
ALL["unlimited windows"] = lambda b: out_windowed(
    grouped(b).windowed_by(UnlimitedWindows(start=20)).aggregate(str, append, materialized=STRINGS)
)
ALL["windows of a new key"] = lambda b: out_windowed(
    b.stream("a").group_by(lambda k, v: v).windowed_by(TimeWindows(10, grace=5)).count(materialized="counts")
)

# Suppression

ALL["suppress for a time"] = lambda b: out(
    b.table("a").suppress(Suppressed.until_time_limit(10, BufferConfig()))
)
ALL["suppress few records"] = lambda b: out(
    b.table("a").suppress(Suppressed.until_time_limit(100, BufferConfig(max_records=1, emit_early=True)))
)
ALL["suppress few bytes"] = lambda b: out(
    b.table("a").suppress(Suppressed.until_time_limit(100, BufferConfig(max_bytes=60, emit_early=True)))
)
ALL["suppress, then group"] = lambda b: out(
    grouped(b)
    .count()
    .suppress(Suppressed.until_time_limit(5, BufferConfig(), name="calm"))
    .group_by(lambda k, v: ("all", v), key_serde=S, value_serde=LongSerde())
    .reduce(lambda x, y: x + y, lambda x, y: x - y)
)

# Tables

ALL["table"] = lambda b: out(b.table("a"))
ALL["table by name"] = lambda b: out(b.table("a", materialized="rows"))
ALL["to table"] = lambda b: out(b.stream("a").to_table())
ALL["to table of a new key"] = lambda b: out(b.stream("a").select_key(lambda k, v: v).to_table())
ALL["table filter"] = lambda b: out(b.table("a").filter(lambda k, v: lively(v)))
ALL["table filter not"] = lambda b: out(b.table("a").filter_not(lambda k, v: lively(v)))
ALL["table filter by name"] = lambda b: out(b.table("a").filter(lambda k, v: lively(v), materialized="kept"))
ALL["table filter of a kept table"] = lambda b: out(
    b.table("a", materialized="rows").filter(lambda k, v: lively(v))
)
ALL["table map values"] = lambda b: out(b.table("a").map_values(lambda v: v + "!"))
ALL["table map values by name"] = lambda b: out(
    b.table("a").map_values(lambda k, v: k + v, with_key=True, materialized="mapped")
)
ALL["table group count"] = lambda b: out(b.table("a").group_by(lambda k, v: (v[0], v)).count())
ALL["table group reduce"] = lambda b: out(b.table("a").group_by(lambda k, v: (v[0], v)).reduce(plus, minus))
ALL["table group aggregate"] = lambda b: out(
    b.table("a")
    .group_by(lambda k, v: (v[0], v), name="letters")
    .aggregate(
        str, lambda k, v, a: f"{java(a)}+{v}", lambda k, v, a: f"{java(a)}-{v}", materialized="gathered"
    )
)
ALL["table group of a count"] = lambda b: out(
    grouped(b)
    .count()
    .group_by(lambda k, v: ("all", v), key_serde=S, value_serde=LongSerde())
    .reduce(lambda x, y: x + y, lambda x, y: x - y)
)
ALL["group of a filtered table"] = lambda b: out(
    b.table("a")
    .filter(lambda k, v: lively(v))
    .map_values(lambda v: v + "!")
    .group_by(lambda k, v: ("all", v))
    .reduce(plus, minus)
)

# Joins of streams


def joined(name: str, windows: JoinWindows) -> None:
    ALL[f"stream {name}"] = lambda b: b.stream("a").join(b.stream("b"), join, windows).to("out")
    ALL[f"stream left {name}"] = lambda b: b.stream("a").left_join(b.stream("b"), join, windows).to("out")
    ALL[f"stream outer {name}"] = lambda b: b.stream("a").outer_join(b.stream("b"), join, windows).to("out")


joined("join", JoinWindows(10))
joined("join with grace", JoinWindows(5, grace=8))
joined("join before", JoinWindows(10, after=0, grace=3))
joined("join after", JoinWindows(2, after=9, grace=3))
NEAR = JoinWindows(5, grace=5)


@topology
def stream_join__named(b: StreamsBuilder) -> None:
    other = b.stream("a").select_key(lambda k, v: v)
    other.left_join(
        b.stream("b").select_key(lambda k, v: v), join, NEAR, key_serde=S, name="met", store_name="meeting"
    ).to("out")


ALL["stream join with key"] = lambda b: (
    b.stream("a").join(b.stream("b"), lambda k, x, y: k + join(x, y), NEAR, with_key=True).to("out")
)


@topology
def stream_join_with_itself(b: StreamsBuilder) -> None:
    a = b.stream("a")
    a.join(a, join, NEAR).to("out")


@topology
def stream_join_with_itself_behind_another_child(b: StreamsBuilder) -> None:
    a = b.stream("a")
    a.map_values(lambda v: java(v) + "!").to("rest")
    a.join(a, join, NEAR).to("out")


@topology
def stream_join_with_itself_before_another_child(b: StreamsBuilder) -> None:
    a = b.stream("a")
    a.join(a, join, NEAR).to("out")
    a.map_values(lambda v: java(v) + "!").filter(lambda k, v: lively(v)).to("rest")


@topology
def stream_join_with_itself_of_a_new_key__with_other_children(b: StreamsBuilder) -> None:
    a = b.stream("a").map(lambda k, v: (v, v))
    a.to("first")
    a.left_join(a, join, NEAR).to("out")
    a.filter(lambda k, v: lively(v)).to("rest")


@topology
def stream_outer_join_of_new_keys(b: StreamsBuilder) -> None:
    a = b.stream("a").select_key(lambda k, v: v)
    a.outer_join(b.stream("b").select_key(lambda k, v: v), join, NEAR).to("out")


ALL["join, then count"] = lambda b: out_windowed(
    b.stream("a").join(b.stream("b"), join, NEAR).group_by_key().windowed_by(TimeWindows(20)).count()
)

# Joins with tables

ALL["stream table join"] = lambda b: b.stream("a").join(b.table("b"), join).to("out")
ALL["stream table left join"] = lambda b: (
    b.stream("a").left_join(b.table("b"), lambda k, x, y: java(k) + join(x, y), with_key=True).to("out")
)
ALL["stream table left join of a new key"] = lambda b: (
    b.stream("a").select_key(lambda k, v: v).left_join(b.table("b"), join).to("out")
)
ALL["stream table join of a new key"] = lambda b: (
    b.stream("a").select_key(lambda k, v: v).join(b.table("b").map_values(lambda v: v + "!"), join).to("out")
)
ALL["global table join"] = lambda b: (
    b.stream("a").join(b.global_table("b"), join, key_selector=lambda k, v: v).to("out")
)
ALL["global table left join"] = lambda b: (
    b.stream("a").left_join(b.global_table("b"), join, key_selector=lambda k, v: k).to("out")
)
ALL["global table left join by value"] = lambda b: (
    b.stream("a").left_join(b.global_table("b"), join, key_selector=lambda k, v: foreign(v)).to("out")
)
ALL["versioned table join"] = lambda b: (
    b.stream("a").join(b.table("b", materialized=Materialized("versions", history=DAY)), join).to("out")
)
TABLES: dict[str, Callable[[Any, Any], Any]] = {
    "table join": lambda x, y: x.join(y, join),
    "table left join": lambda x, y: x.left_join(y, join),
    "table outer join": lambda x, y: x.outer_join(y, join),
    "table join by name": lambda x, y: x.join(y, join, materialized="joined"),
    "table left join by name": lambda x, y: x.left_join(y, join, name="mine", materialized="joined"),
    "table outer join by name": lambda x, y: x.outer_join(y, join, materialized=STRINGS),
}


def of_tables(name: str, function: Callable[[Any, Any], Any]) -> None:
    ALL[name] = lambda b: out(function(b.table("a"), b.table("b")))
    ALL[f"{name}, then group"] = lambda b: out(
        function(b.table("a"), b.table("b")).group_by(lambda k, v: ("all", v)).reduce(plus, minus)
    )


for table_join, function in TABLES.items():
    of_tables(table_join, function)
ALL["table join of filtered tables"] = lambda b: out(
    b.table("a").filter(lambda k, v: lively(v)).outer_join(b.table("b").map_values(lambda v: v + "!"), join)
)
ALL["table join with a count"] = lambda b: out(grouped(b).count().left_join(b.table("b"), join))
ALL["table join of three"] = lambda b: out(
    b.table("a").join(b.table("b"), join).left_join(b.table("c"), join)
)
ALL["foreign key join"] = lambda b: out(
    b.table("a").join(b.table("b"), join, foreign_key=foreign, materialized=STRINGS)
)
ALL["foreign key left join"] = lambda b: out(
    b.table("a").left_join(b.table("b"), join, foreign_key=foreign, materialized=STRINGS)
)
ALL["foreign key join, named"] = lambda b: out(
    b.table("a").join(b.table("b"), join, foreign_key=foreign, name="orders", materialized="joined")
)

# Processors


class Counter(Processor):
    def process(self, record: Record) -> None:
        if record.key is None:
            return
        seen = self.context.store("seen")
        seen.put(record.key, (seen.get(record.key) or "") + java(record.value))
        headers = (*record.headers, ("seen", b"yes"))
        self.context.forward(record.with_value(seen.get(record.key)).with_headers(headers))


class ValueCounter(Processor):
    def process(self, record: Record) -> None:
        before = self.context.store("seen").put_if_absent(java(record.value)[0], java(record.key))
        metadata = self.context.record_metadata
        assert metadata is not None
        self.context.forward(record.with_value(f"{java(before)},{metadata.offset}"))


class Ticker(Processor):
    def init(self, context: ProcessorContext) -> None:
        super().init(context)
        self._records = 0
        context.schedule(10, PunctuationType.STREAM_TIME, lambda time: self._tick("stream", time))
        context.schedule(100, PunctuationType.WALL_CLOCK_TIME, lambda time: self._tick("wall", time))

    def _tick(self, kind: str, time: int) -> None:
        self.context.forward(Record(kind, str(self._records), time))

    def process(self, record: Record) -> None:
        self._records += 1


class Windows(Processor):
    def process(self, record: Record) -> None:
        if record.key is None:
            return
        windows = self.context.store("windows")
        start = record.timestamp // 10 * 10
        windows.put(record.key, record.value, start)
        near = "".join(
            f"{at}{row.value};" for at, row in windows.fetch_range(record.key, start - 20, start + 10)
        )
        everybody = "".join(f"{shown(key)}{value};" for key, value in windows.fetch_all(start - 10, start))
        self.context.forward(record.with_value(f"{near}|{everybody}"))


class Sessions(Processor):
    def process(self, record: Record) -> None:
        if record.key is None:
            return
        sessions, time = self.context.store("sessions"), record.timestamp
        sessions.put(Windowed(record.key, time // 10 * 10, time), record.value)
        found = sessions.find_sessions(record.key, time - 10, time + 10)
        self.context.forward(record.with_value("".join(f"{shown(key)}{value};" for key, value in found)))


class Router(Processor):
    def process(self, record: Record) -> None:
        self.context.forward(record, to="lively" if lively(record.value) else "rest")


def with_store(supplier: Callable[[], Processor], store: Any, *, values: bool = False) -> Any:
    def build(b: StreamsBuilder) -> None:
        stream = b.add_state_store(store).stream("a")
        if values:
            stream.process_values(supplier, stores=[store.name]).to("out")
        else:
            stream.process(supplier, stores=[store.name]).to("out")

    return build


ALL["processor with store"] = with_store(Counter, KeyValueSpec("seen", S, S))
ALL["processor of values"] = with_store(ValueCounter, KeyValueSpec("seen", S, S), values=True)
ALL["processor with punctuators"] = with_store(Ticker, KeyValueSpec("seen", S, S))
ALL["processor with windows"] = with_store(
    Windows, WindowSpec("windows", S, S, size_ms=10, retention_ms=100_000)
)
ALL["processor with sessions"] = with_store(Sessions, SessionSpec("sessions", S, S, retention_ms=100_000))


def by_hand() -> Topology:
    return (
        Topology(key_serde=S, value_serde=S)
        .add_source("from", "a")
        .add_processor("router", Router, "from")
        .add_processor("counter", Counter, "router")
        .add_state_store(KeyValueSpec("seen", S, S), "counter")
        .add_sink("lively", "out", "router")
        .add_sink("rest", "rest", "router", "counter")
    )
