import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.kafka.clients.consumer.ConsumerGroupMetadata;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.StringSerializer;

/**
 * Transactions of the Java client, one after the other: SERVERS TOPIC PARTITIONS PRODUCERS SECONDS. Each writes one
 * record to every partition and commits an offset; every tenth is aborted. Prints each failure, and at last how many
 * were committed, aborted and failed.
 */
public class SteadyTransactions {
    static final AtomicInteger COMMITTED = new AtomicInteger();
    static final AtomicInteger ABORTED = new AtomicInteger();
    static final AtomicInteger FAILED = new AtomicInteger();

    public static void main(String[] arguments) throws Exception {
        String servers = arguments[0];
        String topic = arguments[1];
        int partitions = Integer.parseInt(arguments[2]);
        long end = System.nanoTime() + Long.parseLong(arguments[4]) * 1_000_000_000L;
        List<Thread> threads = new ArrayList<>();
        for (int number = 0; number < Integer.parseInt(arguments[3]); number++) {
            String identity = "java-" + number;
            Thread thread = new Thread(() -> produce(servers, topic, partitions, identity, end));
            threads.add(thread);
            thread.start();
        }
        for (Thread thread : threads) {
            thread.join();
        }
        System.out.printf("%d committed, %d aborted, %d failed%n", COMMITTED.get(), ABORTED.get(), FAILED.get());
    }

    static void produce(String servers, String topic, int partitions, String identity, long end) {
        Map<String, Object> settings = new HashMap<>();
        settings.put("bootstrap.servers", servers);
        settings.put("transactional.id", identity);
        settings.put("linger.ms", 0);
        try (KafkaProducer<String, String> producer =
                new KafkaProducer<>(settings, new StringSerializer(), new StringSerializer())) {
            producer.initTransactions();
            for (int attempt = 1; System.nanoTime() < end; attempt++) {
                play(producer, topic, partitions, identity, attempt);
            }
        }
    }

    static void play(KafkaProducer<String, String> producer, String topic, int partitions, String identity, int attempt) {
        producer.beginTransaction();
        try {
            for (int partition = 0; partition < partitions; partition++) {
                producer.send(new ProducerRecord<>(topic, partition, null, identity + " " + attempt));
            }
            if (attempt % 10 == 0) {
                producer.abortTransaction();
                ABORTED.incrementAndGet();
                return;
            }
            producer.sendOffsetsToTransaction(
                    Map.of(new TopicPartition(topic, 0), new OffsetAndMetadata(attempt)),
                    new ConsumerGroupMetadata(identity));
            producer.commitTransaction();
            COMMITTED.incrementAndGet();
        } catch (KafkaException error) {
            System.out.printf("%s %d: %s%n", identity, attempt, error);
            FAILED.incrementAndGet();
            producer.abortTransaction();
        }
    }
}
