import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.SerializationFeature;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.File;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.util.Properties;
import java.util.TreeSet;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.internals.RecordHeaders;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.Topology;
import org.apache.kafka.streams.TopologyTestDriver;
import org.apache.kafka.streams.test.TestRecord;

/** Runs every scenario through Kafka Streams' own test driver: `Goldens scenarios.json goldens.json`. */
public class Goldens {
    static final ObjectMapper JSON = new ObjectMapper();

    static Properties config() {
        Properties config = new Properties();
        config.put("application.id", "golden");
        config.put("bootstrap.servers", "unused:9092");
        config.put("default.key.serde", Serdes.StringSerde.class.getName());
        config.put("default.value.serde", Serdes.StringSerde.class.getName());
        config.put("statestore.cache.max.bytes", "0"); // every update
        // Tell results when stream time says so, not once a second of wall-clock time.
        config.put("__emit.interval.ms.kstreams.outer.join.spurious.results.fix__", "0");
        config.put("__emit.interval.ms.kstreams.windowed.aggregation__", "0");
        return config;
    }

    public static void main(String[] arguments) throws Exception {
        JsonNode document = JSON.readTree(new File(arguments[0]));
        ObjectNode results = JSON.createObjectNode();
        for (JsonNode scenario : document.get("scenarios")) {
            String topology = scenario.get(0).asText();
            String inputs = scenario.get(1).asText();
            results.set(topology + " of " + inputs, run(topology, document.get("inputs").get(inputs)));
        }
        JSON.enable(SerializationFeature.ORDER_MAP_ENTRIES_BY_KEYS);
        JSON.writeValue(new File(arguments[1]), results);
    }

    static ObjectNode run(String name, JsonNode inputs) {
        StreamsBuilder builder = new StreamsBuilder();
        Topology topology = Topologies.build(name, builder);
        ObjectNode result = JSON.createObjectNode();
        result.put("describe", topology.describe().toString());
        try (TopologyTestDriver driver = new TopologyTestDriver(topology, config(), Instant.ofEpochMilli(0))) {
            for (JsonNode input : inputs) {
                if (input.get(0).asText().equals("advance")) {
                    driver.advanceWallClockTime(Duration.ofMillis(input.get(1).asLong()));
                } else {
                    pipe(driver, input);
                }
            }
            ObjectNode topics = result.putObject("topics");
            ArrayNode internal = result.putArray("internal");
            for (String topic : new TreeSet<>(driver.producedTopicNames())) {
                if (topic.startsWith("golden-")) {
                    internal.add(topic);
                } else {
                    read(driver, topic, topics.putArray(topic));
                }
            }
        }
        return result;
    }

    static void pipe(TopologyTestDriver driver, JsonNode input) {
        String key = input.get(1).isNull() ? null : input.get(1).asText();
        String value = input.get(2).isNull() ? null : input.get(2).asText();
        RecordHeaders headers = new RecordHeaders();
        if (input.size() > 4) {
            input.get(4).fields().forEachRemaining(
                h -> headers.add(h.getKey(), h.getValue().asText().getBytes(StandardCharsets.UTF_8)));
        }
        try {
            driver.createInputTopic(input.get(0).asText(), new StringSerializer(), new StringSerializer())
                .pipeInput(new TestRecord<>(key, value, headers, input.get(3).asLong()));
        } catch (IllegalArgumentException unknown) {
            if (!unknown.getMessage().startsWith("Unknown topic")) {
                throw unknown; // a topology may leave out a topic that its inputs have
            }
        }
    }

    static void read(TopologyTestDriver driver, String topic, ArrayNode out) {
        var output = driver.createOutputTopic(topic, new StringDeserializer(), new StringDeserializer());
        while (!output.isEmpty()) {
            TestRecord<String, String> record = output.readRecord();
            ArrayNode row = out.addArray().add(record.key()).add(record.value()).add(record.timestamp());
            if (record.headers().toArray().length > 0) {
                ObjectNode headers = row.addObject();
                for (Header header : record.headers()) {
                    headers.put(header.key(), new String(header.value(), StandardCharsets.UTF_8));
                }
            }
        }
    }
}
