import java.time.Duration;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.WakeupException;
import org.apache.kafka.common.serialization.StringDeserializer;

/** One member of a group: GroupMember SERVERS TOPIC GROUP [SETTING=VALUE ...]. It speaks as group_member.py does; SIGTERM makes it leave. */
public class GroupMember {
    /** How far this member has read and not yet committed. What it must give up is no longer its to commit. */
    static final Map<TopicPartition, OffsetAndMetadata> pending = new HashMap<>();
    /**
     * What it was given and has not been told to give up. With the consumer protocol a poll may still hand out records of
     * partitions that it has just called lost: their positions, committed after a rejoin, would take the group back.
     */
    static final Set<TopicPartition> owned = new HashSet<>();

    public static void main(String[] arguments) {
        Properties settings = new Properties();
        settings.put("bootstrap.servers", arguments[0]);
        settings.put("group.id", arguments[2]);
        settings.put("auto.offset.reset", "earliest");
        settings.put("enable.auto.commit", "false");
        settings.put("default.api.timeout.ms", "5000");
        settings.put("reconnect.backoff.max.ms", "500");
        settings.put("metadata.max.age.ms", "1000");
        for (int at = 3; at < arguments.length; at++) {
            String[] parts = arguments[at].split("=", 2);
            settings.put(parts[0], parts[1]);
        }
        KafkaConsumer<String, String> consumer =
                new KafkaConsumer<>(settings, new StringDeserializer(), new StringDeserializer());
        Thread main = Thread.currentThread();
        Runtime.getRuntime().addShutdownHook(new Thread(() -> {
            consumer.wakeup();
            try {
                main.join(10_000);
            } catch (InterruptedException interrupted) {
                Thread.currentThread().interrupt();
            }
        }));
        consumer.subscribe(List.of(arguments[1]), new ConsumerRebalanceListener() {
            @Override
            public void onPartitionsAssigned(Collection<TopicPartition> given) {
                owned.addAll(given);
                say("assigned", given);
            }

            @Override
            public void onPartitionsRevoked(Collection<TopicPartition> taken) {
                owned.removeAll(taken);
                pending.keySet().removeAll(taken);
                say("revoked", taken);
            }
        });
        try {
            while (true) step(consumer);
        } catch (WakeupException asked) {
            consumer.close();
            System.out.println("left");
        }
    }

    static void step(KafkaConsumer<String, String> consumer) {
        try {
            StringBuilder lines = new StringBuilder();
            for (ConsumerRecord<String, String> record : consumer.poll(Duration.ofMillis(100))) {
                lines.append("record ").append(record.partition()).append(' ').append(record.offset());
                lines.append(' ').append(record.value()).append('\n');
                TopicPartition place = new TopicPartition(record.topic(), record.partition());
                if (owned.contains(place)) pending.put(place, new OffsetAndMetadata(record.offset() + 1));
            }
            System.out.print(lines);
            System.out.flush();
            if (pending.isEmpty()) return;
            consumer.commitSync(new HashMap<>(pending));
            pending.clear();
        } catch (WakeupException asked) {
            throw asked;
        } catch (KafkaException refused) {
            // Refused or unknown: again, unless they are taken away.
        }
    }

    static void say(String kind, Collection<TopicPartition> partitions) {
        StringBuilder line = new StringBuilder(kind);
        for (TopicPartition partition : partitions) line.append(' ').append(partition.partition());
        System.out.println(line);
    }
}
