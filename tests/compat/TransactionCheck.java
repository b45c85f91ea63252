import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.TreeSet;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.InvalidProducerEpochException;
import org.apache.kafka.common.errors.ProducerFencedException;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/** The transactions of the Java client, which speaks version 2 (KIP-890). Says "NAME ok" for each thing that went well. */
public class TransactionCheck {
    static String servers;

    public static void main(String[] arguments) throws Exception {
        servers = arguments[0];
        copies();
        fences();
        timesOut();
    }

    /** Consume, transform, produce, with the offsets in the transaction; every third attempt is aborted and done again. */
    static void copies() {
        try (KafkaProducer<String, String> filler = producer(null, 60_000)) {
            for (int number = 0; number < 500; number++) {
                filler.send(new ProducerRecord<>("java-in", number % 2, null, Integer.toString(number)));
            }
        }
        try (KafkaConsumer<String, String> consumer = consumer("java-copy", "read_committed");
                KafkaProducer<String, String> producer = producer("java-copy", 60_000)) {
            consumer.subscribe(List.of("java-in"));
            producer.initTransactions();
            int copied = 0;
            for (int attempt = 0; copied < 500; attempt++) {
                Map<TopicPartition, OffsetAndMetadata> positions = new HashMap<>();
                List<ConsumerRecord<String, String>> taken = new ArrayList<>();
                consumer.poll(Duration.ofMillis(500)).forEach(taken::add);
                if (taken.isEmpty()) {
                    continue;
                }
                producer.beginTransaction();
                for (ConsumerRecord<String, String> record : taken) {
                    producer.send(new ProducerRecord<>("java-out", record.partition(), null, "c" + record.value()));
                    positions.put(new TopicPartition(record.topic(), record.partition()), new OffsetAndMetadata(record.offset() + 1));
                }
                if (attempt % 3 == 1) {
                    producer.flush();
                    producer.abortTransaction();
                    for (TopicPartition partition : consumer.assignment()) {
                        OffsetAndMetadata committed = consumer.committed(new TreeSet<>(
                                (a, b) -> a.toString().compareTo(b.toString())) {{ add(partition); }}).get(partition);
                        consumer.seek(partition, committed == null ? 0 : committed.offset());
                    }
                    continue;
                }
                producer.sendOffsetsToTransaction(positions, consumer.groupMetadata());
                producer.commitTransaction();
                copied += taken.size();
            }
            check("copied", copied == 500 && read("java-out", 500).size() == 500);
        }
    }

    static void fences() {
        try (KafkaProducer<String, String> first = producer("java-fence", 60_000);
                KafkaProducer<String, String> second = producer("java-fence", 60_000)) {
            first.initTransactions();
            first.beginTransaction();
            first.send(new ProducerRecord<>("java-fenced", "from the zombie"));
            first.flush();
            second.initTransactions();
            second.beginTransaction();
            second.send(new ProducerRecord<>("java-fenced", "from its successor"));
            second.commitTransaction();
            boolean fenced = false;
            try {
                first.commitTransaction();
            } catch (ProducerFencedException | InvalidProducerEpochException expected) {
                fenced = true;
            }
            check("fenced", fenced && read("java-fenced", 1).equals(new TreeSet<>(List.of("from its successor"))));
        }
    }

    static void timesOut() throws Exception {
        try (KafkaProducer<String, String> slow = producer("java-slow", 1000)) {
            slow.initTransactions();
            slow.beginTransaction();
            slow.send(new ProducerRecord<>("java-timed", "too slow"));
            slow.flush();
            Thread.sleep(2000);
            boolean failed = false;
            try {
                slow.commitTransaction();
            } catch (Exception expected) {
                failed = true;
            }
            check("timed-out", failed && read("java-timed", 0).isEmpty());
        }
    }

    static TreeSet<String> read(String topic, int count) {
        TreeSet<String> values = new TreeSet<>();
        try (KafkaConsumer<String, String> consumer = consumer("read-" + topic, "read_committed")) {
            consumer.subscribe(List.of(topic));
            long deadline = System.currentTimeMillis() + 15_000;
            long quiet = System.currentTimeMillis() + 1500;
            while (System.currentTimeMillis() < deadline && (values.size() < count || System.currentTimeMillis() < quiet)) {
                consumer.poll(Duration.ofMillis(200)).forEach(record -> {
                    if (!values.add(record.value())) {
                        throw new IllegalStateException(record.value() + " twice");
                    }
                });
            }
        }
        return values;
    }

    static KafkaProducer<String, String> producer(String transactionalId, int timeoutMs) {
        Properties settings = new Properties();
        settings.put("bootstrap.servers", servers);
        if (transactionalId != null) {
            settings.put("transactional.id", transactionalId);
            settings.put("transaction.timeout.ms", timeoutMs);
        }
        return new KafkaProducer<>(settings, new StringSerializer(), new StringSerializer());
    }

    static KafkaConsumer<String, String> consumer(String group, String isolation) {
        Properties settings = new Properties();
        settings.putAll(Map.of("bootstrap.servers", servers, "group.id", group, "auto.offset.reset", "earliest",
                "isolation.level", isolation, "enable.auto.commit", "false", "max.poll.records", "60"));
        return new KafkaConsumer<>(settings, new StringDeserializer(), new StringDeserializer());
    }

    static void check(String name, boolean well) {
        System.out.println(name + (well ? " ok" : " FAILED"));
    }
}
