import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaShareConsumer;
import org.apache.kafka.common.TopicIdPartition;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.serialization.StringDeserializer;

/** Members accept records until all of them were accepted, whatever happens to brokers meanwhile. */
public class ShareSteady {
    public static void main(String[] args) throws Exception {
        String servers = args[0], topic = args[1], group = args[2];
        int count = Integer.parseInt(args[3]), members = Integer.parseInt(args[4]);
        long deadline = System.currentTimeMillis() + Long.parseLong(args[5]) * 1000;
        Set<String> accepted = ConcurrentHashMap.newKeySet();
        Thread[] threads = new Thread[members];
        for (int m = 0; m < members; m++) {
            threads[m] = new Thread(() -> consume(servers, topic, group, count, deadline, accepted));
            threads[m].start();
        }
        int said = 0;
        while (accepted.size() < count && System.currentTimeMillis() < deadline) {
            Thread.sleep(50);
            if (accepted.size() / 100 > said) {
                said = accepted.size() / 100;
                System.out.println("so far " + accepted.size());
            }
        }
        for (Thread thread : threads) thread.join();
        System.out.println("accepted " + accepted.size() + " of " + count);
    }

    static void consume(String servers, String topic, String group, int count, long deadline, Set<String> accepted) {
        Properties settings = new Properties();
        settings.put("bootstrap.servers", servers);
        settings.put("group.id", group);
        settings.put("max.poll.records", "20");
        settings.put("key.deserializer", StringDeserializer.class.getName());
        settings.put("value.deserializer", StringDeserializer.class.getName());
        try (KafkaShareConsumer<String, String> consumer = new KafkaShareConsumer<>(settings)) {
            consumer.subscribe(List.of(topic));
            while (accepted.size() < count && System.currentTimeMillis() < deadline) {
                List<String> values = new java.util.ArrayList<>();
                for (ConsumerRecord<String, String> record : consumer.poll(Duration.ofMillis(200))) {
                    values.add(record.value());
                }
                // Only what all partitions have taken counts as accepted: others are delivered again.
                Map<TopicIdPartition, java.util.Optional<KafkaException>> outcome = consumer.commitSync(Duration.ofSeconds(30));
                if (outcome.values().stream().allMatch(java.util.Optional::isEmpty)) accepted.addAll(values);
            }
        }
    }
}
