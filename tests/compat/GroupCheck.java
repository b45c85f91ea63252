import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.kafka.clients.consumer.CommitFailedException;
import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.RebalanceInProgressException;
import org.apache.kafka.common.errors.WakeupException;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/** A group for each way of sharing; members come and go while records flow. Says "GROUP ok" for each that was served well. */
public class GroupCheck {
    static final long DEADLINE_MS = 60_000;
    static String servers;
    static String topic;
    static int records;

    public static void main(String[] arguments) throws Exception {
        servers = arguments[0];
        topic = arguments[1];
        records = Integer.parseInt(arguments[2]);
        List<Group> groups = new ArrayList<>();
        for (String strategy : new String[] {"Range", "RoundRobin", "Sticky", "CooperativeSticky"}) {
            groups.add(new Group(strategy, Map.of("group.protocol", "classic", "partition.assignment.strategy",
                    "org.apache.kafka.clients.consumer." + strategy + "Assignor",
                    "session.timeout.ms", "6000", "heartbeat.interval.ms", "300")));
        }
        groups.add(new Group("Consumer", Map.of("group.protocol", "consumer")));
        groups.add(new Group("ConsumerRange", Map.of("group.protocol", "consumer", "group.remote.assignor", "range")));
        for (Group group : groups) {
            group.start("a", null);
            group.start("b", null);
            group.start("c", "static");
        }
        Thread load = new Thread(GroupCheck::produce);
        load.start();
        for (Group group : groups) group.await("members share", () -> group.owners.size() == 6 && group.sharers() == 3);
        for (Group group : groups) group.stop("b");
        for (Group group : groups) group.start("d", null);
        for (Group group : groups) group.stop("c");
        for (Group group : groups) group.start("e", "static");
        load.join();
        for (Group group : groups) {
            group.await("everything is read", () -> group.seen.size() == records);
            group.await("members share again", () -> group.owners.size() == 6 && group.sharers() == 3);
            for (String name : List.copyOf(group.members.keySet())) group.stop(name);
            System.out.println(group.name + (group.problems.isEmpty() ? " ok" : " " + group.problems));
        }
    }

    static void produce() {
        Properties settings = new Properties();
        settings.put("bootstrap.servers", servers);
        try (KafkaProducer<String, String> producer =
                     new KafkaProducer<>(settings, new StringSerializer(), new StringSerializer())) {
            for (int number = 0; number < records; number++) {
                producer.send(new ProducerRecord<>(topic, number % 6, null, "v" + number));
                if (number % 20 == 0) Thread.sleep(20);
            }
        } catch (InterruptedException interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    static class Group {
        final String name;
        final Map<String, String> settings;
        final Map<String, Member> members = new HashMap<>();
        final Map<Integer, String> owners = new ConcurrentHashMap<>();
        final Set<String> seen = ConcurrentHashMap.newKeySet();
        final List<String> problems = java.util.Collections.synchronizedList(new ArrayList<>());

        Group(String name, Map<String, String> settings) {
            this.name = name;
            this.settings = settings;
        }

        void start(String member, String instance) {
            Member started = new Member(this, member, instance);
            members.put(member, started);
            started.start();
        }

        void stop(String member) throws InterruptedException {
            Member stopped = members.remove(member);
            stopped.consumer.wakeup();
            stopped.join();
        }

        long sharers() {
            return owners.values().stream().distinct().count();
        }

        void await(String what, java.util.function.BooleanSupplier condition) throws InterruptedException {
            long end = System.currentTimeMillis() + DEADLINE_MS;
            while (!condition.getAsBoolean()) {
                if (System.currentTimeMillis() > end) {
                    throw new IllegalStateException(name + ": " + what + ": " + owners + " " + seen.size());
                }
                Thread.sleep(50);
            }
        }
    }

    static class Member extends Thread implements ConsumerRebalanceListener {
        final Group group;
        final KafkaConsumer<String, String> consumer;

        Member(Group group, String name, String instance) {
            super(name);
            this.group = group;
            Properties settings = new Properties();
            settings.put("bootstrap.servers", servers);
            settings.put("group.id", "java-" + group.name);
            settings.put("auto.offset.reset", "earliest");
            settings.put("enable.auto.commit", "false");
            if (instance != null) settings.put("group.instance.id", instance);
            settings.putAll(group.settings);
            consumer = new KafkaConsumer<>(settings, new StringDeserializer(), new StringDeserializer());
        }

        @Override
        public void run() {
            try {
                consumer.subscribe(List.of(topic), this);
                while (true) {
                    for (ConsumerRecord<String, String> record : consumer.poll(Duration.ofMillis(100))) {
                        group.seen.add(record.value());
                    }
                    try {
                        consumer.commitSync();
                    } catch (CommitFailedException | RebalanceInProgressException refused) {
                        continue;
                    }
                }
            } catch (WakeupException asked) {
                consumer.close();
                group.owners.values().removeIf(getName()::equals);
            }
        }

        @Override
        public void onPartitionsAssigned(Collection<TopicPartition> partitions) {
            for (TopicPartition partition : partitions) {
                String other = group.owners.put(partition.partition(), getName());
                if (other != null && !other.equals(getName())) {
                    group.problems.add(partition + " had the owner " + other + " when " + getName() + " got it");
                }
            }
        }

        @Override
        public void onPartitionsRevoked(Collection<TopicPartition> partitions) {
            for (TopicPartition partition : partitions) group.owners.remove(partition.partition(), getName());
        }
    }
}
