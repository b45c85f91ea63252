// The pipelines of the section `sql` on Kafka Streams, over JSON. It prints the seconds from the start of
// the application until the given number of records has gone through and everything is committed.

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.time.Duration;
import java.util.Properties;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.kafka.common.serialization.Serde;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.kstream.Consumed;
import org.apache.kafka.streams.kstream.Grouped;
import org.apache.kafka.streams.kstream.Joined;
import org.apache.kafka.streams.kstream.KStream;
import org.apache.kafka.streams.kstream.Materialized;
import org.apache.kafka.streams.kstream.Produced;
import org.apache.kafka.streams.kstream.TimeWindows;
import org.apache.kafka.streams.kstream.WindowedSerdes;

public class SqlJobs {
    private static final ObjectMapper mapper = new ObjectMapper();
    private static final AtomicLong seen = new AtomicLong();
    private static final CountDownLatch done = new CountDownLatch(1);
    private static final Serde<String> text = Serdes.String();
    private static final Serde<JsonNode> json =
        Serdes.serdeFrom((topic, node) -> write(node), (topic, data) -> read(data));
    private static long wanted;

    public static void main(String[] arguments) throws Exception {
        String job = arguments[0], servers = arguments[1], input = arguments[2], output = arguments[3];
        wanted = Long.parseLong(arguments[4]);
        Properties settings = new Properties();
        settings.put(StreamsConfig.APPLICATION_ID_CONFIG, arguments[6]);
        settings.put(StreamsConfig.BOOTSTRAP_SERVERS_CONFIG, servers);
        settings.put(StreamsConfig.NUM_STREAM_THREADS_CONFIG, arguments[5]);
        settings.put(StreamsConfig.STATE_DIR_CONFIG, arguments[7]);
        settings.put(StreamsConfig.PROCESSING_GUARANTEE_CONFIG, StreamsConfig.EXACTLY_ONCE_V2);
        settings.put("auto.offset.reset", "earliest");
        StreamsBuilder builder = new StreamsBuilder();
        KStream<String, JsonNode> trades =
            builder.stream(input, Consumed.with(text, json)).peek((key, value) -> note());
        switch (job) {
            case "filter" -> filter(trades, output);
            case "count" -> count(trades, output);
            case "hopping" -> hopping(trades, output);
            case "join" -> join(builder, trades, arguments[8], output);
            default -> throw new IllegalArgumentException(job);
        }
        KafkaStreams streams = new KafkaStreams(builder.build(), settings);
        long began = System.nanoTime();
        streams.start();
        done.await();
        streams.close(Duration.ofMinutes(5));
        System.out.printf("seconds %.3f%n", (System.nanoTime() - began) / 1e9);
    }

    private static void filter(KStream<String, JsonNode> trades, String output) {
        trades.filter((key, value) -> value.get("PRICE").doubleValue() > 102)
            .mapValues(value -> (JsonNode) mapper.createObjectNode()
                .put("TOTAL", value.get("PRICE").doubleValue() * value.get("AMOUNT").intValue()))
            .to(output, Produced.with(text, json));
    }

    private static void count(KStream<String, JsonNode> trades, String output) {
        trades.groupByKey(Grouped.with(text, json))
            .count(Materialized.with(text, Serdes.Long()))
            .toStream()
            .mapValues(number -> (JsonNode) mapper.createObjectNode().put("N", number))
            .to(output, Produced.with(text, json));
    }

    private static void hopping(KStream<String, JsonNode> trades, String output) {
        TimeWindows windows = TimeWindows.ofSizeAndGrace(Duration.ofSeconds(5), Duration.ofSeconds(10))
            .advanceBy(Duration.ofSeconds(1));
        trades.groupByKey(Grouped.with(text, json))
            .windowedBy(windows)
            .aggregate(() -> null, SqlJobs::add, Materialized.with(text, json))
            .toStream()
            .to(output, Produced.with(
                WindowedSerdes.timeWindowedSerdeFrom(String.class, windows.sizeMs), json));
    }

    private static JsonNode add(String key, JsonNode trade, JsonNode before) {
        double price = trade.get("PRICE").doubleValue();
        ObjectNode next = mapper.createObjectNode();
        boolean first = before == null;
        next.put("LEAST", first ? price : Math.min(price, before.get("LEAST").doubleValue()));
        next.put("N", first ? 1 : before.get("N").longValue() + 1);
        next.put("TOTAL", first ? price : before.get("TOTAL").doubleValue() + price);
        return next;
    }

    private static void join(
            StreamsBuilder builder, KStream<String, JsonNode> trades, String table, String output) {
        trades.join(
                builder.table(table, Consumed.with(text, json)),
                (trade, company) -> (JsonNode) mapper.createObjectNode()
                    .put("PRICE", trade.get("PRICE").doubleValue())
                    .put("NAME", company.get("NAME").textValue()),
                Joined.with(text, json, json))
            .to(output, Produced.with(text, json));
    }

    private static void note() {
        if (seen.incrementAndGet() == wanted) {
            done.countDown();
        }
    }

    private static byte[] write(JsonNode node) {
        try {
            return node == null ? null : mapper.writeValueAsBytes(node);
        } catch (Exception error) {
            throw new IllegalStateException(error);
        }
    }

    private static JsonNode read(byte[] data) {
        try {
            return data == null ? null : mapper.readTree(data);
        } catch (Exception error) {
            throw new IllegalStateException(error);
        }
    }
}
