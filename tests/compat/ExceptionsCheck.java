import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.RemoveMembersFromConsumerGroupOptions;
import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.IntegerDeserializer;
import org.apache.kafka.common.serialization.Serializer;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/** Puts the client through situations, and prints for each what was raised, or was in the future, or nothing. */
public class ExceptionsCheck {
    static String servers;

    interface Situation {
        Future<?> run() throws Exception;
    }

    static void tell(String name, Situation situation) {
        String told;
        try {
            Future<?> future = situation.run();
            if (future != null) {
                future.get();
            }
            told = "nothing";
        } catch (ExecutionException failed) {
            told = "future " + failed.getCause().getClass().getSimpleName();
        } catch (Exception raised) {
            told = "raised " + raised.getClass().getSimpleName();
        }
        System.out.println(name + "\t" + told);
    }

    static KafkaProducer<String, String> producer(Object... more) {
        Map<String, Object> settings = new HashMap<>(Map.of("bootstrap.servers", servers, "max.block.ms", 10000));
        for (int each = 0; each < more.length; each += 2) {
            settings.put((String) more[each], more[each + 1]);
        }
        return new KafkaProducer<>(settings, new StringSerializer(), new StringSerializer());
    }

    static KafkaConsumer<String, String> consumer(String group, Object... more) {
        Map<String, Object> settings = new HashMap<>(Map.of("bootstrap.servers", servers, "auto.offset.reset", "earliest"));
        if (group != null) {
            settings.put("group.id", group);
        }
        for (int each = 0; each < more.length; each += 2) {
            settings.put((String) more[each], more[each + 1]);
        }
        return new KafkaConsumer<>(settings, new StringDeserializer(), new StringDeserializer());
    }

    static Future<?> send(String topic, String key, String value, Long timestamp, Object... more) {
        try (var producer = producer(more)) {
            return producer.send(new ProducerRecord<>(topic, null, timestamp, key, value));
        }
    }

    static Future<?> poll(KafkaConsumer<?, ?> consumer, int rounds) {
        for (int each = 0; each < rounds; each++) {
            if (!consumer.poll(Duration.ofMillis(500)).isEmpty()) {
                break;
            }
        }
        return null;
    }

    public static void main(String[] arguments) throws Exception {
        servers = arguments[0];
        if (arguments.length > 2) {
            failover(Path.of(arguments[1]));
            return;
        }
        if (arguments.length > 1) {
            away(Path.of(arguments[1]));
            return;
        }
        producing();
        consuming();
        rebalancing();
        administering();
    }

    static void producing() {
        String large = "x".repeat(3000);
        tell("a record above max.request.size", () -> send("plain", null, large, null, "max.request.size", 2000));
        tell("a record above buffer.memory", () -> send("plain", null, large, null, "buffer.memory", 2500L, "batch.size", 1000));
        tell("a record above the topic's max.message.bytes", () -> send("small", null, large, null));
        tell("an unknown topic", () -> send("not-there", null, "a", null, "max.block.ms", 1500));
        tell("a partition that is not there", () -> {
            try (var producer = producer("max.block.ms", 1500)) {
                return producer.send(new ProducerRecord<>("plain", 7, null, "a"));
            }
        });
        tell("a topic's name that is not allowed", () -> send("no/name", null, "a", null));
        tell("a timestamp that the topic refuses", () -> send("timed", null, "a", 1L));
        tell("no key for a compacted topic", () -> send("compacted", null, "a", null));
        tell("a serializer that fails", () -> {
            Serializer<String> failing = (topic, data) -> { throw new org.apache.kafka.common.errors.SerializationException("no"); };
            Map<String, Object> settings = Map.of("bootstrap.servers", servers);
            try (var producer = new KafkaProducer<>(settings, new StringSerializer(), failing)) {
                return producer.send(new ProducerRecord<>("plain", "a"));
            }
        });
        tell("sending with a closed producer", () -> {
            var producer = producer();
            producer.close();
            return producer.send(new ProducerRecord<>("plain", "a"));
        });
        tell("a setting with a wrong value", () -> { producer("linger.ms", "soon").close(); return null; });
        tell("idempotence without acks=all", () -> { producer("enable.idempotence", true, "acks", "1").close(); return null; });
        tell("a transaction without transactional.id", () -> {
            try (var producer = producer()) {
                producer.initTransactions();
            }
            return null;
        });
        tell("committing when another producer has the id", () -> {
            try (var first = producer("transactional.id", "fenced"); var second = producer("transactional.id", "fenced")) {
                first.initTransactions();
                first.beginTransaction();
                first.send(new ProducerRecord<>("plain", "a")).get();
                second.initTransactions();
                first.commitTransaction();
            }
            return null;
        });
    }

    static void consuming() {
        TopicPartition at = new TopicPartition("plain", 0);
        send("plain", null, "text", null);
        tell("polling without a subscription", () -> { try (var c = consumer("g")) { return poll(c, 1); } });
        tell("subscribing without a group.id", () -> { try (var c = consumer(null)) { c.subscribe(List.of("plain")); return poll(c, 1); } });
        tell("committing without a group.id", () -> { try (var c = consumer(null)) { c.assign(List.of(at)); c.commitSync(); return null; } });
        tell("subscribing after assigning", () -> { try (var c = consumer("g")) { c.assign(List.of(at)); c.subscribe(List.of("plain")); return null; } });
        tell("seeking in a partition that is not assigned", () -> { try (var c = consumer("g")) { c.seek(at, 0); return null; } });
        tell("no offset, and auto.offset.reset=none", () -> {
            try (var c = consumer("none-java", "auto.offset.reset", "none")) { c.assign(List.of(at)); return poll(c, 20); }
        });
        tell("an offset out of range, and auto.offset.reset=none", () -> {
            try (var c = consumer("range-java", "auto.offset.reset", "none")) { c.assign(List.of(at)); c.seek(at, 1000); return poll(c, 20); }
        });
        tell("wakeup() before a poll", () -> { try (var c = consumer("g")) { c.assign(List.of(at)); c.wakeup(); return poll(c, 1); } });
        tell("a value that the deserializer cannot read", () -> {
            Map<String, Object> settings = Map.of("bootstrap.servers", servers, "auto.offset.reset", "earliest");
            try (var c = new KafkaConsumer<>(settings, new StringDeserializer(), new IntegerDeserializer())) {
                c.assign(List.of(new TopicPartition("words", 0)));
                return poll(c, 20);
            }
        });
        tell("using a closed consumer", () -> { var c = consumer("g"); c.close(); return poll(c, 1); });
        tell("committing after the group gave the member up", () -> {
            try (var c = consumer("removed", "heartbeat.interval.ms", 500, "enable.auto.commit", false); var admin = Admin.create(Map.of("bootstrap.servers", servers))) {
                c.subscribe(List.of("plain"));
                poll(c, 40);
                admin.removeMembersFromConsumerGroup("removed", new RemoveMembersFromConsumerGroupOptions()).all().get();
                c.commitSync(Map.of(at, new OffsetAndMetadata(0)));
            }
            return null;
        });
    }

    static void rebalancing() {
        TopicPartition at = new TopicPartition("plain", 0);
        Object[] eager = {"enable.auto.commit", false, "heartbeat.interval.ms", 500,
            "partition.assignment.strategy", "org.apache.kafka.clients.consumer.RangeAssignor"};
        tell("committing in the middle of a rebalance", () -> {
            try (var first = consumer("moving", eager); var second = consumer("moving", eager)) {
                first.subscribe(List.of("plain"));
                poll(first, 40);
                second.subscribe(List.of("plain"));
                while (!first.assignment().isEmpty()) {
                    second.poll(Duration.ofMillis(100));
                    first.poll(Duration.ZERO);
                }
                first.commitSync(Map.of(at, new OffsetAndMetadata(0)));
            }
            return null;
        });
        tell("committing in the middle of a rebalance, after polls that ended it", () -> {
            try (var first = consumer("moved", eager); var second = consumer("moved", eager)) {
                first.subscribe(List.of("plain"));
                poll(first, 40);
                second.subscribe(List.of("plain"));
                while (!first.assignment().isEmpty()) {
                    second.poll(Duration.ofMillis(100));
                    first.poll(Duration.ZERO);
                }
                while (first.assignment().isEmpty() && second.assignment().isEmpty()) {
                    first.poll(Duration.ofMillis(100));
                    second.poll(Duration.ofMillis(100));
                }
                (first.assignment().isEmpty() ? second : first).commitSync(Map.of(at, new OffsetAndMetadata(0)));
            }
            return null;
        });
        tell("committing in on_partitions_revoked", () -> {
            Exception[] caught = new Exception[1];
            try (var first = consumer("listened", eager); var second = consumer("listened", eager)) {
                first.subscribe(List.of("plain"), new ConsumerRebalanceListener() {
                    public void onPartitionsAssigned(Collection<TopicPartition> partitions) { }
                    public void onPartitionsRevoked(Collection<TopicPartition> partitions) {
                        try {
                            first.commitSync(Map.of(at, new OffsetAndMetadata(0)));
                        } catch (Exception error) {
                            caught[0] = error;
                        }
                    }
                });
                poll(first, 40);
                second.subscribe(List.of("plain"));
                while (!first.assignment().isEmpty()) {
                    second.poll(Duration.ofMillis(100));
                    first.poll(Duration.ZERO);
                }
            }
            if (caught[0] != null) {
                throw caught[0];
            }
            return null;
        });
    }

    /** Waits for the leader of the topic to be killed: files say when. */
    static void failover(Path directory) throws Exception {
        TopicPartition at = new TopicPartition("plain", 0);
        try (var producer = producer(); var reader = consumer("failover", "enable.auto.commit", false)) {
            producer.send(new ProducerRecord<>("plain", "before")).get();
            reader.subscribe(List.of("plain"));
            poll(reader, 60);
            Files.createFile(directory.resolve("ready"));
            await(directory.resolve("killed"));
            tell("sending when the leader was killed", () -> producer.send(new ProducerRecord<>("plain", "after")));
            tell("reading on when the leader was killed", () -> {
                long deadline = System.nanoTime() + 60_000_000_000L;
                while (System.nanoTime() < deadline) {
                    for (var record : reader.poll(Duration.ofMillis(500))) {
                        if (record.value().equals("after")) {
                            return null;
                        }
                    }
                }
                throw new IllegalArgumentException("the record did not come");
            });
            tell("committing when a broker was killed", () -> { reader.commitSync(); return null; });
        }
        try (var producer = producer("transactional.id", "failover")) {
            tell("a transaction when a broker was killed", () -> {
                producer.initTransactions();
                producer.beginTransaction();
                producer.send(new ProducerRecord<>("plain", "a")).get();
                producer.commitTransaction();
                return null;
            });
        }
    }

    static void administering() {
        try (var admin = Admin.create(Map.of("bootstrap.servers", servers))) {
            Optional<Short> one = Optional.of((short) 1);
            tell("creating a topic that is there", () -> admin.createTopics(List.of(new NewTopic("plain", Optional.of(1), one))).all());
            tell("creating a topic without partitions", () -> admin.createTopics(List.of(new NewTopic("a", 0, (short) 1))).all());
            tell("creating a topic with more replicas than brokers", () -> admin.createTopics(List.of(new NewTopic("b", 1, (short) 9))).all());
            tell("creating a topic with a wrong setting", () -> admin.createTopics(List.of(new NewTopic("c", 1, (short) 1).configs(Map.of("retention.ms", "soon")))).all());
            tell("deleting a topic that is not there", () -> admin.deleteTopics(List.of("not-there")).all().toCompletionStage().toCompletableFuture());
            tell("describing a topic that is not there", () -> admin.describeTopics(List.of("not-there")).allTopicNames());
            tell("deleting a group that is not there", () -> admin.deleteConsumerGroups(List.of("not-there")).all());
        }
    }

    /** Waits for the broker to go and to come back: files say when. */
    static void away(Path directory) throws Exception {
        try (var producer = producer("delivery.timeout.ms", 120000)) {
            producer.send(new ProducerRecord<>("plain", "before")).get();
            Files.createFile(directory.resolve("ready"));
            await(directory.resolve("restarted"));
            tell("a broker that was restarted", () -> producer.send(new ProducerRecord<>("plain", "after")));
        }
        try (var late = producer("delivery.timeout.ms", 3000, "request.timeout.ms", 2000, "linger.ms", 0);
                var full = producer("buffer.memory", 40000L, "max.block.ms", 1000, "metadata.recovery.strategy", "none")) {
            for (var each : List.of(late, full)) {
                each.send(new ProducerRecord<>("plain", "before")).get();
            }
            Files.createFile(directory.resolve("again"));
            await(directory.resolve("gone"));
            tell("no broker within delivery.timeout.ms", () -> late.send(new ProducerRecord<>("plain", "lost")));
            tell("a full buffer for max.block.ms", () -> {
                Future<?> last = null;
                for (int each = 0; each < 5; each++) {
                    last = full.send(new ProducerRecord<>("plain", "x".repeat(15000)));
                }
                return last;
            });
            full.close(Duration.ZERO);
        }
    }

    static void await(Path file) throws Exception {
        while (!Files.exists(file)) {
            Thread.sleep(50);
        }
    }
}
