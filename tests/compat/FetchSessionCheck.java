import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/** Writes to one partition after the other and reads them all, so that most fetches of a session say nothing new. */
public class FetchSessionCheck {
    public static void main(String[] arguments) throws Exception {
        String servers = arguments[0];
        String topic = arguments[1];
        int partitions = Integer.parseInt(arguments[2]);
        int records = Integer.parseInt(arguments[3]);
        Properties settings = new Properties();
        settings.put("bootstrap.servers", servers);
        settings.put("auto.offset.reset", "earliest");
        settings.put("fetch.max.wait.ms", "50");
        Map<Integer, List<String>> received = new HashMap<>();
        try (KafkaProducer<String, String> producer =
                     new KafkaProducer<>(settings, new StringSerializer(), new StringSerializer());
             KafkaConsumer<String, String> consumer =
                     new KafkaConsumer<>(settings, new StringDeserializer(), new StringDeserializer())) {
            List<TopicPartition> assigned = new ArrayList<>();
            for (int index = 0; index < partitions; index++) {
                assigned.add(new TopicPartition(topic, index));
            }
            consumer.assign(assigned);
            int count = 0;
            long deadline = System.nanoTime() + 30_000_000_000L;
            for (int sent = 0; count < records && System.nanoTime() < deadline; ) {
                if (sent < records) {
                    producer.send(new ProducerRecord<>(topic, sent % partitions, null, "v" + sent)).get();
                    sent++;
                }
                for (ConsumerRecord<String, String> record : consumer.poll(Duration.ofMillis(20))) {
                    received.computeIfAbsent(record.partition(), ignored -> new ArrayList<>()).add(record.value());
                    count++;
                }
            }
        }
        for (int index = 0; index < partitions; index++) {
            System.out.println(index + " " + String.join(",", received.getOrDefault(index, List.of())));
        }
    }
}
