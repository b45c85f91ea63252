import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicBoolean;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.consumer.AcknowledgeType;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaShareConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/** Members of a share group of Kafka's own client: what each case gave, a line each. */
public class ShareCheck {
    static final long DEADLINE_MS = 60_000;
    static String servers;

    public static void main(String[] args) throws Exception {
        servers = args[0];
        String topic = args[1];
        int count = Integer.parseInt(args[2]);
        int members = Integer.parseInt(args[3]);
        earliest("together");
        earliest("explicit");
        System.out.println("together " + together(topic, "together", count, members));
        System.out.println("explicit " + explicit(topic, "explicit", count));
        System.out.println("rest " + rest(topic, "explicit"));
        describe("together");
    }

    static void earliest(String group) throws Exception {
        try (Admin admin = Admin.create(Map.of("bootstrap.servers", servers))) {
            ConfigResource resource = new ConfigResource(ConfigResource.Type.GROUP, group);
            AlterConfigOp set = new AlterConfigOp(new ConfigEntry("share.auto.offset.reset", "earliest"), AlterConfigOp.OpType.SET);
            admin.incrementalAlterConfigs(Map.of(resource, List.of(set))).all().get();
        }
    }

    static void send(String topic, int count) {
        Properties settings = new Properties();
        settings.put("bootstrap.servers", servers);
        settings.put("key.serializer", StringSerializer.class.getName());
        settings.put("value.serializer", StringSerializer.class.getName());
        settings.put("batch.size", "500");
        try (KafkaProducer<String, String> producer = new KafkaProducer<>(settings)) {
            for (int i = 0; i < count; i++) producer.send(new ProducerRecord<>(topic, null, "v" + i));
            producer.flush();
        }
    }

    static KafkaShareConsumer<String, String> consumer(String group, String mode) {
        Properties settings = new Properties();
        settings.put("bootstrap.servers", servers);
        settings.put("group.id", group);
        settings.put("share.acknowledgement.mode", mode);
        settings.put("key.deserializer", StringDeserializer.class.getName());
        settings.put("value.deserializer", StringDeserializer.class.getName());
        return new KafkaShareConsumer<>(settings);
    }

    static int size(Admin admin, String group) {
        try {
            return admin.describeShareGroups(List.of(group)).all().get().get(group).members().size();
        } catch (Exception notThereYet) {
            return 0;
        }
    }

    /** Several members take everything, each record once. All of them are there before the records come. */
    static String together(String topic, String group, int count, int members) throws Exception {
        Set<String> seen = ConcurrentHashMap.newKeySet();
        ConcurrentLinkedQueue<String> all = new ConcurrentLinkedQueue<>();
        AtomicBoolean done = new AtomicBoolean();
        List<Thread> threads = new ArrayList<>();
        Set<Integer> busy = ConcurrentHashMap.newKeySet();
        for (int m = 0; m < members; m++) {
            int me = m;
            Thread thread = new Thread(() -> {
                try (KafkaShareConsumer<String, String> consumer = consumer(group, "implicit")) {
                    consumer.subscribe(List.of(topic));
                    while (!done.get()) {
                        for (ConsumerRecord<String, String> record : consumer.poll(Duration.ofMillis(300))) {
                            seen.add(record.value());
                            all.add(record.value());
                            busy.add(me);
                        }
                    }
                }
            });
            thread.start();
            threads.add(thread);
        }
        long deadline = System.currentTimeMillis() + DEADLINE_MS;
        try (Admin admin = Admin.create(Map.of("bootstrap.servers", servers))) {
            while (System.currentTimeMillis() < deadline && size(admin, group) < members) Thread.sleep(50);
        }
        send(topic, count);
        while (seen.size() < count && System.currentTimeMillis() < deadline) Thread.sleep(50);
        Thread.sleep(500);
        done.set(true);
        for (Thread thread : threads) thread.join();
        return seen.size() + " of " + count + ", " + (all.size() - seen.size()) + " twice, members " + (busy.size() > 1 ? "several" : "one");
    }

    /** Every tenth record is rejected, every third released at its first delivery, the rest accepted. */
    static String explicit(String topic, String group, int count) throws Exception {
        Map<String, Integer> deliveries = new HashMap<>();
        Set<String> accepted = new HashSet<>(), rejected = new HashSet<>();
        Map<Short, Integer> counts = new TreeMap<>();
        long deadline = System.currentTimeMillis() + DEADLINE_MS;
        try (KafkaShareConsumer<String, String> consumer = consumer(group, "explicit")) {
            consumer.subscribe(List.of(topic));
            while (accepted.size() + rejected.size() < count && System.currentTimeMillis() < deadline) {
                for (ConsumerRecord<String, String> record : consumer.poll(Duration.ofMillis(300))) {
                    int number = Integer.parseInt(record.value().substring(1));
                    int before = deliveries.merge(record.value(), 1, Integer::sum);
                    counts.merge(record.deliveryCount().get(), 1, Integer::sum);
                    if (number % 10 == 0) {
                        consumer.acknowledge(record, AcknowledgeType.REJECT);
                        rejected.add(record.value());
                    } else if (number % 3 == 0 && before == 1) {
                        consumer.acknowledge(record, AcknowledgeType.RELEASE);
                    } else {
                        consumer.acknowledge(record, AcknowledgeType.ACCEPT);
                        accepted.add(record.value());
                    }
                }
                consumer.commitSync();
            }
        }
        return accepted.size() + " accepted, " + rejected.size() + " rejected, deliveries " + counts;
    }

    /** Nothing is left for the group. */
    static int rest(String topic, String group) {
        int found = 0;
        try (KafkaShareConsumer<String, String> consumer = consumer(group, "implicit")) {
            consumer.subscribe(List.of(topic));
            for (int i = 0; i < 8; i++) found += consumer.poll(Duration.ofMillis(250)).count();
        }
        return found;
    }

    static void describe(String group) throws Exception {
        try (Admin admin = Admin.create(Map.of("bootstrap.servers", servers))) {
            var described = admin.describeShareGroups(List.of(group)).all().get().get(group);
            System.out.println("describe " + described.groupState() + " " + described.members().size());
            boolean listed = admin.listGroups().all().get().stream().anyMatch(g -> g.groupId().equals(group) && g.type().get().toString().equals("Share"));
            System.out.println("listed " + listed);
        }
    }
}
