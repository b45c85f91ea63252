// The jobs of the section `streams` on Kafka Streams. It prints the seconds from the start of the
// application until the given number of records was aggregated and everything is committed.

import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.Arrays;
import java.util.Properties;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.kstream.Materialized;
import org.apache.kafka.streams.kstream.Produced;
import org.apache.kafka.streams.kstream.TimeWindows;
import org.apache.kafka.streams.kstream.WindowedSerdes;

public class StreamsJobs {
    private static final AtomicLong aggregated = new AtomicLong();
    private static final CountDownLatch done = new CountDownLatch(1);
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
        settings.put(StreamsConfig.DEFAULT_KEY_SERDE_CLASS_CONFIG, Serdes.StringSerde.class);
        settings.put(StreamsConfig.DEFAULT_VALUE_SERDE_CLASS_CONFIG, Serdes.StringSerde.class);
        settings.put("auto.offset.reset", "earliest");
        StreamsBuilder builder = new StreamsBuilder();
        if (job.equals("words")) {
            words(builder, input, output);
        } else {
            trades(builder, input, output);
        }
        KafkaStreams streams = new KafkaStreams(builder.build(), settings);
        long began = System.nanoTime();
        streams.start();
        done.await();
        streams.close(Duration.ofMinutes(5));
        System.out.printf("seconds %.3f%n", (System.nanoTime() - began) / 1e9);
    }

    private static void note() {
        if (aggregated.incrementAndGet() == wanted) {
            done.countDown();
        }
    }

    private static void words(StreamsBuilder builder, String input, String output) {
        builder.<String, String>stream(input)
            .flatMapValues(line -> Arrays.asList(line.toLowerCase().split(" ")))
            .groupBy((key, word) -> word)
            .aggregate(() -> 0L, (key, word, count) -> { note(); return count + 1; },
                Materialized.with(Serdes.String(), Serdes.Long()))
            .toStream()
            .to(output, Produced.with(Serdes.String(), Serdes.Long()));
    }

    private static void trades(StreamsBuilder builder, String input, String output) {
        TimeWindows windows = TimeWindows.ofSizeAndGrace(Duration.ofSeconds(5), Duration.ofSeconds(10))
            .advanceBy(Duration.ofSeconds(1));
        builder.<String, String>stream(input)
            .peek((symbol, price) -> note())
            .groupByKey()
            .windowedBy(windows)
            .aggregate(() -> new byte[0], StreamsJobs::add, Materialized.with(Serdes.String(), Serdes.ByteArray()))
            .toStream()
            .to(output, Produced.with(
                WindowedSerdes.timeWindowedSerdeFrom(String.class, windows.sizeMs), Serdes.ByteArray()));
    }

    private static byte[] add(String symbol, String text, byte[] before) {
        double price = Double.parseDouble(text), minimum = price, sum = price;
        long count = 1;
        if (before.length > 0) {
            ByteBuffer known = ByteBuffer.wrap(before);
            minimum = Math.min(price, known.getDouble());
            count += known.getLong();
            sum += known.getDouble();
        }
        return ByteBuffer.allocate(24).putDouble(minimum).putLong(count).putDouble(sum).array();
    }
}
