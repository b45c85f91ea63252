import java.time.Duration;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.BiFunction;
import java.util.function.Consumer;
import org.apache.kafka.common.serialization.Serde;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.KeyValue;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.Topology;
import org.apache.kafka.streams.kstream.*;
import org.apache.kafka.streams.processor.PunctuationType;
import org.apache.kafka.streams.processor.api.*;
import org.apache.kafka.streams.processor.api.Record;
import org.apache.kafka.streams.state.*;

/** One topology for each operator; `topologies.py` has the same ones in Python, under the same names. */
class Topologies {
    static final Map<String, Consumer<StreamsBuilder>> ALL = new HashMap<>();
    static final Serde<String> S = Serdes.String();

    static Topology build(String name, StreamsBuilder builder) {
        if (name.equals("topology by hand")) {
            return byHand();
        }
        ALL.get(name).accept(builder);
        return builder.build();
    }

    static String text(Object value) {
        return value == null ? null : String.valueOf(value);
    }

    static String shown(Windowed<String> key) {
        return key.key() + "@" + key.window().start() + "/" + key.window().end();
    }

    static Duration ms(long millis) {
        return Duration.ofMillis(millis);
    }

    static <V> void out(KTable<String, V> table) {
        table.toStream().mapValues(v -> text(v)).to("out");
    }

    static <V> void outWindowed(KTable<Windowed<String>, V> table) {
        table.toStream((k, v) -> shown(k)).mapValues(v -> text(v)).to("out");
    }

    static String join(Object left, Object right) {
        return "(" + left + "," + right + ")";
    }

    static <K, V, S extends org.apache.kafka.streams.processor.StateStore> Materialized<String, String, S> strings() {
        return Materialized.with(Serdes.String(), Serdes.String());
    }

    static Materialized<String, String, KeyValueStore<Bytes, byte[]>> store(String name) {
        return Materialized.<String, String, KeyValueStore<Bytes, byte[]>>as(name).withKeySerde(S).withValueSerde(S);
    }

    static boolean lively(String value) {
        return value != null && !value.startsWith("x");
    }

    static final Aggregator<String, String, String> APPEND = (k, v, a) -> a + v;
    static final Reducer<String> PLUS = (a, b) -> a + "+" + b;
    static final Reducer<String> MINUS = (a, b) -> a + "-" + b;
    static final Merger<String, String> BOTH = (k, a, b) -> "<" + a + b + ">";

    static KGroupedStream<String, String> grouped(StreamsBuilder b) {
        return b.<String, String>stream("a").groupByKey();
    }

    static {
        // Without state
        ALL.put("filter", b -> b.<String, String>stream("a").filter((k, v) -> lively(v)).to("out"));
        ALL.put("filter not", b -> b.<String, String>stream("a").filterNot((k, v) -> lively(v)).to("out"));
        ALL.put("map", b -> b.<String, String>stream("a").map((k, v) -> KeyValue.pair(v, k)).to("out"));
        ALL.put("map values", b -> b.<String, String>stream("a").mapValues(v -> v + "!").to("out"));
        ALL.put("map values with key", b -> b.<String, String>stream("a").mapValues((k, v) -> k + v).to("out"));
        ALL.put("flat map", b -> b.<String, String>stream("a")
            .flatMap((k, v) -> v == null ? List.<KeyValue<String, String>>of()
                : List.of(KeyValue.pair(v, k), KeyValue.pair(k, v))).to("out"));
        ALL.put("flat map values", b -> b.<String, String>stream("a")
            .flatMapValues(v -> v == null ? List.<String>of() : Arrays.asList(v.split(""))).to("out"));
        ALL.put("select key", b -> b.<String, String>stream("a").selectKey((k, v) -> v).to("out"));
        ALL.put("peek", b -> b.<String, String>stream("a").peek((k, v) -> { }).to("out"));
        ALL.put("for each", b -> {
            KStream<String, String> a = b.stream("a");
            a.foreach((k, v) -> { });
            a.to("out");
        });
        ALL.put("split", b -> {
            Map<String, KStream<String, String>> found = b.<String, String>stream("a").split(Named.as("by-"))
                .branch((k, v) -> k == null, Branched.as("null"))
                .branch((k, v) -> lively(v))
                .defaultBranch(Branched.as("rest"));
            found.get("by-null").to("nulls");
            found.get("by-2").to("out");
            found.get("by-rest").to("rest");
        });
        ALL.put("split behind a filter", b -> {
            KStream<String, String> a = b.<String, String>stream("a").filter((k, v) -> v != null);
            a.mapValues(v -> v + "!").to("first");
            Map<String, KStream<String, String>> found = a.split(Named.as("by-"))
                .branch((k, v) -> k == null, Branched.as("null"))
                .branch((k, v) -> lively(v))
                .defaultBranch(Branched.as("rest"));
            found.get("by-rest").to("rest");
            found.get("by-null").to("nulls");
            found.get("by-2").to("out");
            a.to("last");
        });
        ALL.put("split into five behind an operator", b -> {
            KStream<String, String> a = b.<String, String>stream("a").mapValues(v -> text(v)).peek((k, v) -> { });
            a.split()
                .branch((k, v) -> k == null, Branched.withConsumer(s -> s.to("nulls")))
                .branch((k, v) -> v == null, Branched.withConsumer(s -> s.filter((k, v) -> true).peek((k, v) -> { })
                    .mapValues(v -> "none").to("rest")))
                .branch((k, v) -> v.startsWith("a"), Branched.withConsumer(s -> s.mapValues(v -> v + "!").to("out")))
                .branch((k, v) -> v.startsWith("b"))
                .defaultBranch(Branched.withConsumer(s -> s.groupByKey().count().toStream().mapValues(v -> text(v))
                    .to("counts")));
            a.filter((k, v) -> lively(v)).mapValues(v -> v + "?").to("last");
        });
        ALL.put("split behind a new key", b -> b.<String, String>stream("a").selectKey((k, v) -> v).split()
            .branch((k, v) -> lively(v), Branched.withConsumer(s -> s.groupByKey().count().toStream()
                .mapValues(v -> text(v)).to("out")))
            .defaultBranch(Branched.withConsumer(s -> s.to("rest"))));
        ALL.put("split without default", b -> b.<String, String>stream("a").split()
            .branch((k, v) -> lively(v), Branched.withConsumer(s -> s.to("out")))
            .noDefaultBranch());
        ALL.put("merge", b -> b.<String, String>stream("a").merge(b.stream("b")).to("out"));
        ALL.put("repartition", b -> b.<String, String>stream("a").repartition().mapValues(v -> v + "!").to("out"));
        ALL.put("repartition by name", b -> b.<String, String>stream("a")
            .selectKey((k, v) -> v).repartition(Repartitioned.as("mine")).to("out"));
        ALL.put("through", b -> {
            b.<String, String>stream("a").to("between");
            b.<String, String>stream("between").mapValues(v -> v + "!").to("out");
        });
        ALL.put("to by extractor", b -> b.<String, String>stream("a").to((k, v, c) -> lively(v) ? "out" : "rest"));
        ALL.put("two streams of one topic", b -> {
            b.<String, String>stream("a").mapValues(v -> v + "1").to("out");
            b.<String, String>stream("a").mapValues(v -> v + "2").to("out2");
        });
        ALL.put("several topics", b -> b.<String, String>stream(List.of("a", "b")).to("out"));
        ALL.put("pattern", b -> b.<String, String>stream(java.util.regex.Pattern.compile("[ab]")).to("out"));
        ALL.put("named nodes", b -> b.<String, String>stream("a", Consumed.as("from"))
            .filter((k, v) -> lively(v), Named.as("lively"))
            .selectKey((k, v) -> v, Named.as("by-value"))
            .groupByKey(Grouped.as("grouped"))
            .count(Named.as("counted"), Materialized.as("counts"))
            .toStream(Named.as("changes"))
            .mapValues(v -> text(v), Named.as("as-text"))
            .to("out", Produced.<String, String>as("into")));

        // Aggregations
        ALL.put("count", b -> out(grouped(b).count()));
        ALL.put("count by name", b -> out(grouped(b).count(Materialized.as("counts"))));
        ALL.put("count with unnamed store", b -> out(grouped(b).count(Materialized.with(S, Serdes.Long()))));
        ALL.put("group by", b -> out(b.<String, String>stream("a").groupBy((k, v) -> v).count()));
        ALL.put("group by, named", b -> {
            KGroupedStream<String, String> g =
                b.<String, String>stream("a").groupBy((k, v) -> v, Grouped.as("by-value"));
            g.count().toStream().mapValues(v -> text(v)).to("out");
            g.reduce(PLUS).toStream().to("out2");
        });
        ALL.put("reduce", b -> out(grouped(b).reduce(PLUS)));
        ALL.put("aggregate", b -> out(grouped(b).aggregate(() -> "", APPEND)));
        ALL.put("aggregate to null", b -> out(grouped(b)
            .aggregate(() -> "", (k, v, a) -> v.startsWith("x") ? null : a + v)));
        ALL.put("cogroup", b -> out(grouped(b).<String>cogroup((k, v, a) -> a + "a" + v)
            .cogroup(b.<String, String>stream("b").groupByKey(), (k, v, a) -> a + "b" + v)
            .aggregate(() -> "", strings())));
        ALL.put("windowed cogroup", b -> outWindowed(grouped(b).<String>cogroup((k, v, a) -> a + "a" + v)
            .cogroup(b.<String, String>stream("b").groupByKey(), (k, v, a) -> a + "b" + v)
            .windowedBy(TimeWindows.ofSizeAndGrace(ms(10), ms(5))).aggregate(() -> "", strings())));
        ALL.put("session cogroup", b -> outWindowed(grouped(b).<String>cogroup((k, v, a) -> a + "a" + v)
            .cogroup(b.<String, String>stream("b").groupByKey(), (k, v, a) -> a + "b" + v)
            .windowedBy(SessionWindows.ofInactivityGapAndGrace(ms(5), ms(5)))
            .aggregate(() -> "", BOTH, strings())));

        // Windows
        Map<String, TimeWindows> times = Map.of(
            "tumbling", TimeWindows.ofSizeWithNoGrace(ms(10)),
            "tumbling with grace", TimeWindows.ofSizeAndGrace(ms(10), ms(15)),
            "hopping", TimeWindows.ofSizeAndGrace(ms(10), ms(4)).advanceBy(ms(3)));
        times.forEach((name, windows) -> {
            ALL.put(name + " count", b -> outWindowed(grouped(b).windowedBy(windows).count()));
            ALL.put(name + " reduce", b -> outWindowed(b.<String, String>stream("a").filter((k, v) -> v != null).groupByKey().windowedBy(windows).reduce(PLUS)));
            ALL.put(name + " aggregate",
                b -> outWindowed(grouped(b).windowedBy(windows).aggregate(() -> "", APPEND, strings())));
            ALL.put(name + " at close", b -> outWindowed(grouped(b).windowedBy(windows)
                .emitStrategy(EmitStrategy.onWindowClose()).aggregate(() -> "", APPEND, strings())));
            ALL.put(name + " suppressed", b -> outWindowed(grouped(b).windowedBy(windows)
                .aggregate(() -> "", APPEND, strings())
                .suppress(Suppressed.untilWindowCloses(Suppressed.BufferConfig.unbounded()))));
        });
        ALL.put("unlimited windows", b -> outWindowed(grouped(b)
            .windowedBy(UnlimitedWindows.of().startOn(java.time.Instant.ofEpochMilli(20)))
            .aggregate(() -> "", APPEND, strings())));
        Map<String, SlidingWindows> slides = Map.of(
            "sliding", SlidingWindows.ofTimeDifferenceWithNoGrace(ms(10)),
            "sliding with grace", SlidingWindows.ofTimeDifferenceAndGrace(ms(7), ms(20)));
        slides.forEach((name, windows) -> {
            ALL.put(name + " count", b -> outWindowed(grouped(b).windowedBy(windows).count()));
            ALL.put(name + " aggregate",
                b -> outWindowed(grouped(b).windowedBy(windows).aggregate(() -> "", APPEND, strings())));
            ALL.put(name + " reduce", b -> outWindowed(grouped(b).windowedBy(windows).reduce(PLUS)));
            ALL.put(name + " at close", b -> outWindowed(grouped(b).windowedBy(windows)
                .emitStrategy(EmitStrategy.onWindowClose()).aggregate(() -> "", APPEND, strings())));
            ALL.put(name + " suppressed", b -> outWindowed(grouped(b).windowedBy(windows)
                .aggregate(() -> "", APPEND, strings())
                .suppress(Suppressed.untilWindowCloses(Suppressed.BufferConfig.unbounded()))));
        });
        Map<String, SessionWindows> sessions = Map.of(
            "sessions", SessionWindows.ofInactivityGapWithNoGrace(ms(5)),
            "sessions with grace", SessionWindows.ofInactivityGapAndGrace(ms(5), ms(12)));
        sessions.forEach((name, windows) -> {
            ALL.put(name + " count", b -> outWindowed(grouped(b).windowedBy(windows).count()));
            ALL.put(name + " reduce", b -> outWindowed(grouped(b).windowedBy(windows).reduce(PLUS)));
            ALL.put(name + " aggregate",
                b -> outWindowed(grouped(b).windowedBy(windows).aggregate(() -> "", APPEND, BOTH, strings())));
            ALL.put(name + " at close", b -> outWindowed(grouped(b).windowedBy(windows)
                .emitStrategy(EmitStrategy.onWindowClose()).aggregate(() -> "", APPEND, BOTH, strings())));
            ALL.put(name + " suppressed", b -> outWindowed(grouped(b).windowedBy(windows)
                .aggregate(() -> "", APPEND, BOTH, strings())
                .suppress(Suppressed.untilWindowCloses(Suppressed.BufferConfig.unbounded()))));
        });
        ALL.put("windows of a new key", b -> outWindowed(b.<String, String>stream("a").groupBy((k, v) -> v)
            .windowedBy(TimeWindows.ofSizeAndGrace(ms(10), ms(5))).count(Materialized.as("counts"))));

        // Suppression
        ALL.put("suppress for a time", b -> out(b.<String, String>table("a")
            .suppress(Suppressed.untilTimeLimit(ms(10), Suppressed.BufferConfig.unbounded()))));
        ALL.put("suppress few records", b -> out(b.<String, String>table("a")
            .suppress(Suppressed.untilTimeLimit(ms(100), Suppressed.BufferConfig.maxRecords(1)))));
        ALL.put("suppress few bytes", b -> out(b.<String, String>table("a")
            .suppress(Suppressed.untilTimeLimit(ms(100), Suppressed.BufferConfig.maxBytes(60)))));
        ALL.put("suppress, then group", b -> out(grouped(b).count()
            .suppress(Suppressed.<String>untilTimeLimit(ms(5), Suppressed.BufferConfig.unbounded()).withName("calm"))
            .groupBy((k, v) -> KeyValue.pair("all", v), Grouped.with(S, Serdes.Long()))
            .reduce(Long::sum, (x, y) -> x - y)));

        // Tables
        ALL.put("table", b -> out(b.<String, String>table("a")));
        ALL.put("table by name", b -> out(b.<String, String>table("a", Materialized.as("rows"))));
        ALL.put("to table", b -> out(b.<String, String>stream("a").toTable()));
        ALL.put("to table of a new key", b -> out(b.<String, String>stream("a").selectKey((k, v) -> v).toTable()));
        ALL.put("table filter", b -> out(b.<String, String>table("a").filter((k, v) -> lively(v))));
        ALL.put("table filter not", b -> out(b.<String, String>table("a").filterNot((k, v) -> lively(v))));
        ALL.put("table filter by name",
            b -> out(b.<String, String>table("a").filter((k, v) -> lively(v), store("kept"))));
        ALL.put("table filter of a kept table",
            b -> out(b.<String, String>table("a", Materialized.as("rows")).filter((k, v) -> lively(v))));
        ALL.put("table map values", b -> out(b.<String, String>table("a").mapValues(v -> v + "!")));
        ALL.put("table map values by name",
            b -> out(b.<String, String>table("a").mapValues((k, v) -> k + v, store("mapped"))));
        ALL.put("table group count", b -> out(b.<String, String>table("a")
            .groupBy((k, v) -> KeyValue.pair(v.substring(0, 1), v)).count()));
        ALL.put("table group reduce", b -> out(b.<String, String>table("a")
            .groupBy((k, v) -> KeyValue.pair(v.substring(0, 1), v)).reduce(PLUS, MINUS)));
        ALL.put("table group aggregate", b -> out(b.<String, String>table("a")
            .groupBy((k, v) -> KeyValue.pair(v.substring(0, 1), v), Grouped.as("letters"))
            .aggregate(() -> "", (k, v, a) -> a + "+" + v, (k, v, a) -> a + "-" + v, store("gathered"))));
        ALL.put("table group of a count", b -> out(grouped(b).count()
            .groupBy((k, v) -> KeyValue.pair("all", v), Grouped.with(S, Serdes.Long()))
            .reduce(Long::sum, (x, y) -> x - y)));
        ALL.put("group of a filtered table", b -> out(b.<String, String>table("a").filter((k, v) -> lively(v))
            .mapValues(v -> v + "!").groupBy((k, v) -> KeyValue.pair("all", v)).reduce(PLUS, MINUS)));

        // Joins of streams
        Map<String, JoinWindows> joins = Map.of(
            "join", JoinWindows.ofTimeDifferenceWithNoGrace(ms(10)),
            "join with grace", JoinWindows.ofTimeDifferenceAndGrace(ms(5), ms(8)),
            "join before", JoinWindows.ofTimeDifferenceAndGrace(ms(10), ms(3)).after(ms(0)),
            "join after", JoinWindows.ofTimeDifferenceAndGrace(ms(2), ms(3)).after(ms(9)));
        joins.forEach((name, windows) -> {
            ALL.put("stream " + name, b -> b.<String, String>stream("a")
                .join(b.<String, String>stream("b"), Topologies::join, windows).to("out"));
            ALL.put("stream left " + name, b -> b.<String, String>stream("a")
                .leftJoin(b.<String, String>stream("b"), Topologies::join, windows).to("out"));
            ALL.put("stream outer " + name, b -> b.<String, String>stream("a")
                .outerJoin(b.<String, String>stream("b"), Topologies::join, windows).to("out"));
        });
        JoinWindows near = JoinWindows.ofTimeDifferenceAndGrace(ms(5), ms(5));
        ALL.put("stream join, named", b -> b.<String, String>stream("a").selectKey((k, v) -> v)
            .leftJoin(b.<String, String>stream("b").selectKey((k, v) -> v), Topologies::join, near,
                StreamJoined.with(S, S, S).withName("met").withStoreName("meeting")).to("out"));
        ALL.put("stream join with key", b -> b.<String, String>stream("a")
            .join(b.<String, String>stream("b"), (k, x, y) -> k + join(x, y), near).to("out"));
        ALL.put("stream join with itself", b -> {
            KStream<String, String> a = b.stream("a");
            a.join(a, Topologies::join, near).to("out");
        });
        ALL.put("stream join with itself behind another child", b -> {
            KStream<String, String> a = b.stream("a");
            a.mapValues(v -> text(v) + "!").to("rest");
            a.join(a, Topologies::join, near).to("out");
        });
        ALL.put("stream join with itself before another child", b -> {
            KStream<String, String> a = b.stream("a");
            a.join(a, Topologies::join, near).to("out");
            a.mapValues(v -> text(v) + "!").filter((k, v) -> lively(v)).to("rest");
        });
        ALL.put("stream join with itself of a new key, with other children", b -> {
            KStream<String, String> a = b.<String, String>stream("a").map((k, v) -> KeyValue.pair(v, v));
            a.to("first");
            a.leftJoin(a, Topologies::join, near).to("out");
            a.filter((k, v) -> lively(v)).to("rest");
        });
        ALL.put("stream outer join of new keys", b -> b.<String, String>stream("a").selectKey((k, v) -> v)
            .outerJoin(b.<String, String>stream("b").selectKey((k, v) -> v), Topologies::join, near).to("out"));
        ALL.put("join, then count", b -> outWindowed(b.<String, String>stream("a")
            .join(b.<String, String>stream("b"), Topologies::join, near)
            .groupByKey().windowedBy(TimeWindows.ofSizeWithNoGrace(ms(20))).count()));

        // Unnamed settings of a count, whose numbers later names show
        ALL.put("count with unnamed settings", b -> out(grouped(b).count(Materialized.with(S, Serdes.Long()))));
        ALL.put("windowed count with unnamed settings", b -> outWindowed(grouped(b)
            .windowedBy(TimeWindows.ofSizeWithNoGrace(ms(10))).count(Materialized.with(S, Serdes.Long()))));
        ALL.put("sliding count with unnamed settings", b -> outWindowed(grouped(b)
            .windowedBy(SlidingWindows.ofTimeDifferenceWithNoGrace(ms(10))).count(Materialized.with(S, Serdes.Long()))));
        ALL.put("session count with unnamed settings", b -> outWindowed(grouped(b)
            .windowedBy(SessionWindows.ofInactivityGapWithNoGrace(ms(5))).count(Materialized.with(S, Serdes.Long()))));
        ALL.put("unnamed settings of a table group count", b -> out(b.<String, String>table("a")
            .groupBy((k, v) -> KeyValue.pair(v, k), Grouped.with(S, S)).count(Materialized.with(S, Serdes.Long()))));

        // Joins with tables
        ALL.put("stream table join", b -> b.<String, String>stream("a")
            .join(b.<String, String>table("b"), Topologies::join).to("out"));
        ALL.put("stream table left join", b -> b.<String, String>stream("a")
            .leftJoin(b.<String, String>table("b"), (k, x, y) -> k + join(x, y)).to("out"));
        ALL.put("stream table left join of a new key", b -> b.<String, String>stream("a").selectKey((k, v) -> v)
            .leftJoin(b.<String, String>table("b"), Topologies::join).to("out"));
        ALL.put("stream table join of a new key", b -> b.<String, String>stream("a").selectKey((k, v) -> v)
            .join(b.<String, String>table("b").mapValues(v -> v + "!"), Topologies::join).to("out"));
        ALL.put("global table join", b -> b.<String, String>stream("a")
            .join(b.<String, String>globalTable("b"), (k, v) -> v, Topologies::join).to("out"));
        ALL.put("global table left join", b -> b.<String, String>stream("a")
            .leftJoin(b.<String, String>globalTable("b"), (k, v) -> k, Topologies::join).to("out"));
        ALL.put("global table left join by value", b -> b.<String, String>stream("a")
            .leftJoin(b.<String, String>globalTable("b"), (k, v) -> v == null ? null : foreign(v), Topologies::join)
            .to("out"));
        Duration day = Duration.ofDays(1);
        ALL.put("versioned table join", b -> b.<String, String>stream("a")
            .join(b.<String, String>table("b",
                Materialized.as(Stores.persistentVersionedKeyValueStore("versions", day))), Topologies::join)
            .to("out"));
        Map<String, BiFunction<KTable<String, String>, KTable<String, String>, KTable<String, String>>> tables =
            Map.of(
                "table join", (x, y) -> x.join(y, Topologies::join),
                "table left join", (x, y) -> x.leftJoin(y, Topologies::join),
                "table outer join", (x, y) -> x.outerJoin(y, Topologies::join),
                "table join by name", (x, y) -> x.join(y, Topologies::join, store("joined")),
                "table left join by name", (x, y) -> x.leftJoin(y, Topologies::join, Named.as("mine"), store("joined")),
                "table outer join by name", (x, y) -> x.outerJoin(y, Topologies::join, strings()));
        tables.forEach((name, join) -> {
            ALL.put(name, b -> out(join.apply(b.table("a"), b.table("b"))));
            ALL.put(name + ", then group", b -> out(join.apply(b.table("a"), b.table("b"))
                .groupBy((k, v) -> KeyValue.pair("all", v)).reduce(PLUS, MINUS)));
        });
        ALL.put("table join of filtered tables", b -> out(b.<String, String>table("a").filter((k, v) -> lively(v))
            .outerJoin(b.<String, String>table("b").mapValues(v -> v + "!"), Topologies::join)));
        ALL.put("table join with a count", b -> out(grouped(b).count()
            .leftJoin(b.<String, String>table("b"), Topologies::join)));
        ALL.put("table join of three", b -> out(b.<String, String>table("a")
            .join(b.<String, String>table("b"), Topologies::join)
            .leftJoin(b.<String, String>table("c"), Topologies::join)));
        ALL.put("foreign key join", b -> out(b.<String, String>table("a", Consumed.with(S, S))
            .join(b.<String, String>table("b", Consumed.with(S, S)), v -> foreign(v), Topologies::join, strings())));
        ALL.put("foreign key left join", b -> out(b.<String, String>table("a", Consumed.with(S, S))
            .leftJoin(b.<String, String>table("b", Consumed.with(S, S)), v -> foreign(v), Topologies::join, strings())));
        ALL.put("foreign key join, named", b -> out(b.<String, String>table("a", Consumed.with(S, S))
            .join(b.<String, String>table("b", Consumed.with(S, S)), v -> foreign(v), Topologies::join,
                TableJoined.as("orders"), store("joined"))));

        // Processors
        ALL.put("processor with store", b -> {
            b.addStateStore(Stores.keyValueStoreBuilder(Stores.inMemoryKeyValueStore("seen"), S, S));
            b.<String, String>stream("a").process(Counter::new, "seen").to("out");
        });
        ALL.put("processor of values", b -> {
            b.addStateStore(Stores.keyValueStoreBuilder(Stores.inMemoryKeyValueStore("seen"), S, S));
            b.<String, String>stream("a").processValues(ValueCounter::new, "seen").to("out");
        });
        ALL.put("processor with punctuators", b -> {
            b.addStateStore(Stores.keyValueStoreBuilder(Stores.inMemoryKeyValueStore("seen"), S, S));
            b.<String, String>stream("a").process(Ticker::new, "seen").to("out");
        });
        ALL.put("processor with windows", b -> {
            b.addStateStore(Stores.windowStoreBuilder(
                Stores.persistentWindowStore("windows", ms(100_000), ms(10), false), S, S));
            b.<String, String>stream("a").process(Windows::new, "windows").to("out");
        });
        ALL.put("processor with sessions", b -> {
            b.addStateStore(Stores.sessionStoreBuilder(Stores.persistentSessionStore("sessions", ms(100_000)), S, S));
            b.<String, String>stream("a").process(Sessions::new, "sessions").to("out");
        });
    }

    static String foreign(String value) {
        return value.startsWith("x") ? null : value.substring(0, 1);
    }

    static class Counter extends ContextualProcessor<String, String, String, String> {
        public void process(Record<String, String> record) {
            if (record.key() == null) {
                return;
            }
            KeyValueStore<String, String> seen = context().getStateStore("seen");
            String before = seen.get(record.key());
            seen.put(record.key(), (before == null ? "" : before) + record.value());
            context().forward(record.withValue(seen.get(record.key()))
                .withHeaders(record.headers().add("seen", "yes".getBytes())));
        }
    }

    static class ValueCounter extends ContextualFixedKeyProcessor<String, String, String> {
        public void process(FixedKeyRecord<String, String> record) {
            KeyValueStore<String, String> seen = context().getStateStore("seen");
            String key = String.valueOf(record.value()).substring(0, 1);
            String before = seen.putIfAbsent(key, record.key() + "");
            context().forward(record.withValue(before + "," + context().recordMetadata().get().offset()));
        }
    }

    static class Ticker extends ContextualProcessor<String, String, String, String> {
        private int records;

        public void init(ProcessorContext<String, String> context) {
            super.init(context);
            context.schedule(ms(10), PunctuationType.STREAM_TIME, time -> tick("stream", time));
            context.schedule(ms(100), PunctuationType.WALL_CLOCK_TIME, time -> tick("wall", time));
        }

        void tick(String kind, long time) {
            context().forward(new Record<>(kind, String.valueOf(records), time));
        }

        public void process(Record<String, String> record) {
            records++;
        }
    }

    static class Windows extends ContextualProcessor<String, String, String, String> {
        public void process(Record<String, String> record) {
            if (record.key() == null) {
                return;
            }
            WindowStore<String, String> windows = context().getStateStore("windows");
            long start = record.timestamp() / 10 * 10;
            windows.put(record.key(), record.value(), start);
            StringBuilder found = new StringBuilder();
            windows.fetch(record.key(), start - 20, start + 10).forEachRemaining(w -> found.append(w.key + w.value + ";"));
            found.append("|");
            windows.fetchAll(start - 10, start).forEachRemaining(
                w -> found.append(shown(w.key)).append(w.value).append(";"));
            context().forward(record.withValue(found.toString()));
        }
    }

    static class Sessions extends ContextualProcessor<String, String, String, String> {
        public void process(Record<String, String> record) {
            if (record.key() == null) {
                return;
            }
            SessionStore<String, String> sessions = context().getStateStore("sessions");
            long time = record.timestamp();
            sessions.put(new Windowed<>(record.key(), new org.apache.kafka.streams.kstream.internals.SessionWindow(
                time / 10 * 10, time)), record.value());
            StringBuilder found = new StringBuilder();
            sessions.findSessions(record.key(), time - 10, time + 10).forEachRemaining(
                s -> found.append(shown(s.key)).append(s.value).append(";"));
            context().forward(record.withValue(found.toString()));
        }
    }

    static class Router extends ContextualProcessor<String, String, String, String> {
        public void process(Record<String, String> record) {
            context().forward(record, lively(record.value()) ? "lively" : "rest");
        }
    }

    static Topology byHand() {
        return new Topology()
            .addSource("from", S.deserializer(), S.deserializer(), "a")
            .addProcessor("router", Router::new, "from")
            .addProcessor("counter", Counter::new, "router")
            .addStateStore(Stores.keyValueStoreBuilder(Stores.inMemoryKeyValueStore("seen"), S, S), "counter")
            .addSink("lively", "out", S.serializer(), S.serializer(), "router")
            .addSink("rest", "rest", S.serializer(), S.serializer(), "router", "counter");
    }
}
