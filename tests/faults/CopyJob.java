// The copy job of copy_job.py with the Java client.

import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.stream.IntStream;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.AuthorizationException;
import org.apache.kafka.common.errors.OutOfOrderSequenceException;
import org.apache.kafka.common.errors.ProducerFencedException;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

public class CopyJob {
    static final String GROUP = "copy";
    static final int PARTITIONS = 2;

    public static void main(String[] arguments) {
        String source = arguments[1];
        String target = arguments[2];
        Properties common = new Properties();
        common.put("bootstrap.servers", arguments[0]);
        common.put("reconnect.backoff.max.ms", "200");
        common.put("default.api.timeout.ms", "60000");
        Properties reading = new Properties();
        reading.putAll(common);
        reading.put("group.id", GROUP);
        reading.put("enable.auto.commit", "false");
        reading.put("isolation.level", "read_committed");
        reading.put("max.poll.records", arguments[3]);
        Properties writing = new Properties();
        writing.putAll(common);
        writing.put("transactional.id", target);
        writing.put("linger.ms", "5");
        try (KafkaConsumer<String, String> consumer =
                        new KafkaConsumer<>(reading, new StringDeserializer(), new StringDeserializer());
                KafkaProducer<String, String> producer =
                        new KafkaProducer<>(writing, new StringSerializer(), new StringSerializer())) {
            producer.initTransactions();
            copyAll(consumer, producer, source, target);
        }
    }

    static void copyAll(
            KafkaConsumer<String, String> consumer, KafkaProducer<String, String> producer, String source, String target) {
        List<TopicPartition> places =
                IntStream.range(0, PARTITIONS).mapToObj(index -> new TopicPartition(source, index)).toList();
        consumer.assign(places);
        Map<TopicPartition, Long> ends = consumer.endOffsets(places);
        Map<TopicPartition, Long> positions = new HashMap<>();
        Map<TopicPartition, OffsetAndMetadata> committed = consumer.committed(Map.copyOf(ends).keySet());
        for (TopicPartition place : places) {
            OffsetAndMetadata known = committed.get(place);
            positions.put(place, known == null ? 0L : known.offset());
            consumer.seek(place, positions.get(place));
        }
        while (!positions.equals(ends)) {
            var records = consumer.poll(Duration.ofSeconds(1));
            if (records.isEmpty()) {
                continue;
            }
            Map<TopicPartition, OffsetAndMetadata> offsets = new HashMap<>();
            try {
                producer.beginTransaction();
                for (ConsumerRecord<String, String> record : records) {
                    producer.send(new ProducerRecord<>(target, record.partition(), null, "copy of " + record.value()));
                    offsets.put(
                            new TopicPartition(source, record.partition()), new OffsetAndMetadata(record.offset() + 1));
                }
                producer.sendOffsetsToTransaction(offsets, consumer.groupMetadata());
                producer.commitTransaction();
            } catch (ProducerFencedException | OutOfOrderSequenceException | AuthorizationException error) {
                throw error;
            } catch (KafkaException error) {
                producer.abortTransaction();
                offsets.keySet().forEach(place -> consumer.seek(place, positions.get(place)));
                continue;
            }
            offsets.forEach((place, offset) -> positions.put(place, offset.offset()));
        }
    }
}
