import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.clients.admin.RecordsToDelete;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.quota.ClientQuotaAlteration;
import org.apache.kafka.common.quota.ClientQuotaEntity;
import org.apache.kafka.common.quota.ClientQuotaFilter;
import org.apache.kafka.common.serialization.StringSerializer;

/** What Java's admin client sees, one line each: name and value. */
public class AdminCheck {
    public static void main(String[] arguments) throws Exception {
        Properties settings = new Properties();
        settings.put("bootstrap.servers", arguments[0]);
        String topic = arguments[1];
        TopicPartition place = new TopicPartition(topic, 0);
        try (Admin admin = Admin.create(settings)) {
            admin.createTopics(List.of(new NewTopic(topic, 2, (short) 1))).all().get(10, TimeUnit.SECONDS);
            try (KafkaProducer<String, String> producer =
                         new KafkaProducer<>(settings, new StringSerializer(), new StringSerializer())) {
                for (int index = 0; index < 5; index++) {
                    producer.send(new ProducerRecord<>(topic, 0, null, "v" + index)).get();
                }
            }
            ClientQuotaEntity entity = new ClientQuotaEntity(Map.of(ClientQuotaEntity.USER, "alice"));
            var operation = new ClientQuotaAlteration.Op("producer_byte_rate", 1024.0);
            admin.alterClientQuotas(List.of(new ClientQuotaAlteration(entity, List.of(operation)))).all().get();
            show("quotas", admin.describeClientQuotas(ClientQuotaFilter.all()).entities().get());

            var resource = new ConfigResource(ConfigResource.Type.TOPIC, topic);
            var change = new AlterConfigOp(new ConfigEntry("retention.ms", "7777"), AlterConfigOp.OpType.SET);
            admin.incrementalAlterConfigs(Map.of(resource, List.of(change))).all().get();
            var entry = admin.describeConfigs(List.of(resource)).all().get().get(resource).get("retention.ms");
            show("retention.ms", entry.value() + " " + entry.source());

            var deleted = admin.deleteRecords(Map.of(place, RecordsToDelete.beforeOffset(2)));
            show("low watermark", deleted.lowWatermarks().get(place).get().lowWatermark());
            for (OffsetSpec spec : List.of(OffsetSpec.earliest(), OffsetSpec.latest(), OffsetSpec.maxTimestamp(),
                    OffsetSpec.earliestLocal(), OffsetSpec.latestTiered())) {
                show(spec.getClass().getSimpleName(),
                        admin.listOffsets(Map.of(place, spec)).partitionResult(place).get().offset());
            }
            show("partitions", admin.describeTopics(List.of(topic)).allTopicNames().get().get(topic).partitions().size());
            show("log size", admin.describeLogDirs(List.of(1)).allDescriptions().get().get(1).values().iterator().next()
                    .replicaInfos().get(place).size() > 0);
            show("producers", admin.describeProducers(List.of(place)).partitionResult(place).get().activeProducers().size());
            show("metadata.version", admin.describeFeatures().featureMetadata().get().finalizedFeatures()
                    .get("metadata.version").maxVersionLevel());
            show("nodes", admin.describeCluster().nodes().get().size());
        }
    }

    private static void show(String name, Object value) {
        System.out.println(name + "=" + value);
    }
}
