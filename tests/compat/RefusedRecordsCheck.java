import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.serialization.StringSerializer;

/** One batch to a compacted topic, half of whose records have no key: prints what became of each. */
public class RefusedRecordsCheck {
    public static void main(String[] arguments) throws Exception {
        Map<String, Object> settings = Map.of(
            "bootstrap.servers", arguments[0], "linger.ms", 500, "enable.idempotence", false, "retries", 0);
        try (var producer = new KafkaProducer<>(settings, new StringSerializer(), new StringSerializer())) {
            List<Future<RecordMetadata>> sent = new ArrayList<>();
            for (int number = 0; number < 6; number++) {
                String key = number == 0 || number == 2 || number == 5 ? null : "k";
                sent.add(producer.send(new ProducerRecord<>(arguments[1], 0, key, Integer.toString(number))));
            }
            producer.flush();
            for (Future<RecordMetadata> one : sent) {
                try {
                    System.out.println("offset " + one.get().offset());
                } catch (ExecutionException refused) {
                    System.out.println(refused.getCause().getClass().getSimpleName() + ": " + refused.getCause().getMessage());
                }
            }
        }
    }
}
