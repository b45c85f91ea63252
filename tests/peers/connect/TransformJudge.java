import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Iterator;
import java.util.Map;
import org.apache.kafka.common.record.TimestampType;
import org.apache.kafka.connect.data.SchemaAndValue;
import org.apache.kafka.connect.header.ConnectHeaders;
import org.apache.kafka.connect.header.Header;
import org.apache.kafka.connect.json.JsonConverter;
import org.apache.kafka.connect.sink.SinkRecord;
import org.apache.kafka.connect.transforms.Transformation;

/** Kafka's own transforms as the judge: a line with a transform, its settings and a record in, a line with the result out. */
public class TransformJudge {
    static final ObjectMapper JSON = new ObjectMapper();

    public static void main(String[] arguments) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        PrintStream out = new PrintStream(System.out, true, StandardCharsets.UTF_8);
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            ObjectNode answer = JSON.createObjectNode();
            try {
                judge(JSON.readTree(line), answer);
            } catch (Throwable problem) {
                answer.put("error", problem.getClass().getSimpleName());
                answer.put("message", String.valueOf(problem.getMessage()));
            }
            out.println(JSON.writeValueAsString(answer));
        }
    }

    static void judge(JsonNode asked, ObjectNode answer) throws Exception {
        JsonConverter converter = new JsonConverter();
        converter.configure(Map.of("schemas.enable", asked.get("schemas").asText()), false);
        Map<String, Object> settings = new HashMap<>();
        for (Iterator<Map.Entry<String, JsonNode>> each = asked.get("config").fields(); each.hasNext(); ) {
            Map.Entry<String, JsonNode> one = each.next();
            settings.put(one.getKey(), one.getValue().asText());
        }
        SchemaAndValue key = converter.toConnectData("t", bytes(asked.get("key")));
        SchemaAndValue value = converter.toConnectData("t", bytes(asked.get("value")));
        ConnectHeaders headers = new ConnectHeaders();
        for (JsonNode header : asked.get("headers")) {
            SchemaAndValue held = converter.toConnectData("t", bytes(header.get(1)));
            headers.add(header.get(0).asText(), held);
        }
        @SuppressWarnings("unchecked")
        Transformation<SinkRecord> transform = (Transformation<SinkRecord>) Class
            .forName("org.apache.kafka.connect.transforms." + asked.get("type").asText())
            .getDeclaredConstructor().newInstance();
        transform.configure(settings);
        JsonNode partition = asked.get("partition");
        JsonNode timestamp = asked.get("timestamp");
        SinkRecord record = new SinkRecord(asked.get("topic").asText(), partition.asInt(),
            key.schema(), key.value(), value.schema(), value.value(), asked.get("offset").asLong(),
            timestamp.isNull() ? null : timestamp.asLong(), TimestampType.CREATE_TIME, headers);
        SinkRecord done = transform.apply(record);
        if (done == null) {
            answer.put("dropped", true);
            return;
        }
        answer.put("topic", done.topic());
        answer.put("key", text(converter.fromConnectData("t", done.keySchema(), done.key())));
        answer.put("value", text(converter.fromConnectData("t", done.valueSchema(), done.value())));
        ArrayNode shown = answer.putArray("headers");
        for (Header header : done.headers()) {
            shown.addArray().add(header.key()).add(text(converter.fromConnectData("t", header.schema(), header.value())));
        }
    }

    static byte[] bytes(JsonNode node) {
        return node.isNull() ? null : node.asText().getBytes(StandardCharsets.UTF_8);
    }

    static String text(byte[] data) {
        return data == null ? null : new String(data, StandardCharsets.UTF_8);
    }
}
