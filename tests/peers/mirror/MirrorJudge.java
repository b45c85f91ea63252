package org.apache.kafka.connect.mirror;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.Map;
import java.util.OptionalLong;
import java.util.TreeMap;
import java.util.TreeSet;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.Configurable;
import org.apache.kafka.common.TopicPartition;

/** MirrorMaker 2's own classes as the judge: a line with a question in, a line with the answer out. */
public class MirrorJudge {
    static final ObjectMapper JSON = new ObjectMapper();

    public static void main(String[] arguments) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        PrintStream out = new PrintStream(System.out, true, StandardCharsets.UTF_8);
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            ObjectNode answer = JSON.createObjectNode();
            try {
                judge(JSON.readTree(line), answer);
            } catch (Throwable problem) {
                answer.put("error", problem.toString());
            }
            out.println(JSON.writeValueAsString(answer));
        }
    }

    static void judge(JsonNode asked, ObjectNode answer) throws Exception {
        switch (asked.get("about").asText()) {
            case "layouts" -> layouts(asked, answer);
            case "policy" -> policy(asked, answer);
            case "filter" -> filter(asked, answer);
            case "config" -> config(asked, answer);
            case "translation" -> translation(asked, answer);
            default -> throw new IllegalArgumentException("unknown question");
        }
    }

    static Map<String, String> texts(JsonNode node) {
        Map<String, String> found = new HashMap<>();
        node.properties().forEach(each -> found.put(each.getKey(), each.getValue().asText()));
        return found;
    }

    static String hex(byte[] bytes) {
        return HexFormat.of().formatHex(bytes);
    }

    static void layouts(JsonNode asked, ObjectNode answer) {
        TopicPartition place = new TopicPartition(asked.get("topic").asText(), asked.get("partition").asInt());
        OffsetSync sync = new OffsetSync(place, asked.get("upstream").asLong(), asked.get("downstream").asLong());
        answer.put("sync_key", hex(sync.recordKey()));
        answer.put("sync_value", hex(sync.recordValue()));
        Checkpoint checkpoint = new Checkpoint(asked.get("group").asText(), place, asked.get("upstream").asLong(),
            asked.get("downstream").asLong(), asked.get("metadata").asText());
        answer.put("checkpoint_key", hex(checkpoint.recordKey()));
        answer.put("checkpoint_value", hex(checkpoint.recordValue()));
        Heartbeat heartbeat = new Heartbeat(asked.get("group").asText(), asked.get("metadata").asText(),
            asked.get("upstream").asLong());
        answer.put("heartbeat_key", hex(heartbeat.recordKey()));
        answer.put("heartbeat_value", hex(heartbeat.recordValue()));
    }

    static void policy(JsonNode asked, ObjectNode answer) throws Exception {
        ReplicationPolicy policy = (ReplicationPolicy) Class.forName(asked.get("class").asText())
            .getDeclaredConstructor().newInstance();
        ((Configurable) policy).configure(texts(asked.get("config")));
        String topic = asked.get("topic").asText();
        String alias = asked.get("alias").asText();
        answer.put("remote", policy.formatRemoteTopic(alias, topic));
        answer.put("source", policy.topicSource(topic));
        answer.put("upstream", policy.upstreamTopic(topic));
        answer.put("original", policy.originalTopic(topic));
        answer.put("syncs", policy.offsetSyncsTopic(alias));
        answer.put("checkpoints", policy.checkpointsTopic(alias));
        answer.put("is_heartbeats", policy.isHeartbeatsTopic(topic));
        answer.put("is_internal", policy.isInternalTopic(topic));
    }

    static void filter(JsonNode asked, ObjectNode answer) throws Exception {
        Map<String, String> config = texts(asked.get("config"));
        DefaultTopicFilter topics = new DefaultTopicFilter();
        topics.configure(config);
        DefaultGroupFilter groups = new DefaultGroupFilter();
        groups.configure(config);
        DefaultConfigPropertyFilter properties = new DefaultConfigPropertyFilter();
        properties.configure(config);
        String name = asked.get("name").asText();
        answer.put("topic", topics.shouldReplicateTopic(name));
        answer.put("group", groups.shouldReplicateGroup(name));
        answer.put("property", properties.shouldReplicateConfigProperty(name));
        DefaultReplicationPolicy policy = new DefaultReplicationPolicy();
        MirrorSourceConnector connector = new MirrorSourceConnector(
            new SourceAndTarget("A", "B"), policy, topics, properties);
        answer.put("replicated", connector.shouldReplicateTopic(name));
    }

    static void config(JsonNode asked, ObjectNode answer) throws Exception {
        MirrorMakerConfig config = new MirrorMakerConfig(texts(asked.get("config")));
        ObjectNode flows = answer.putObject("flows");
        for (SourceAndTarget pair : config.clusterPairs()) {
            Map<String, String> base = config.connectorBaseConfig(pair, MirrorSourceConnector.class);
            flows.set(pair.toString(), JSON.valueToTree(new TreeMap<>(base)));
        }
        answer.set("names", JSON.valueToTree(new TreeSet<>(config.allConfigNames())));
        answer.set("client_names", JSON.valueToTree(new TreeSet<>(MirrorClientConfig.CLIENT_CONFIG_DEF.names())));
    }

    /** The store as it stands after the records before it were read to their end, and then more came. */
    static class Store extends OffsetSyncStore {
        @Override
        void backingStoreStart() {
        }

        void take(JsonNode sync) {
            OffsetSync made = new OffsetSync(new TopicPartition("t", 0), sync.get(0).asLong(), sync.get(1).asLong());
            handleRecord(new ConsumerRecord<>("syncs", 0, 0, made.recordKey(), made.recordValue()));
        }
    }

    static void translation(JsonNode asked, ObjectNode answer) {
        boolean mustReadToEnd = asked.get("must_read_to_end").asBoolean();
        Store store = new Store() {
            @Override
            void backingStoreStart() {
                asked.get("before").forEach(this::take);
            }
        };
        store.start(mustReadToEnd);
        asked.get("after").forEach(store::take);
        TopicPartition place = new TopicPartition("t", 0);
        var found = answer.putArray("translated");
        for (JsonNode offset : asked.get("offsets")) {
            OptionalLong translated = store.translateDownstream("g", place, offset.asLong());
            if (translated.isPresent()) {
                found.add(translated.getAsLong());
            } else {
                found.addNull();
            }
        }
    }
}
