import java.time.Duration;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.PartitionInfo;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/**
 * Prints what Kafka's own consumer reads of topics, from their starts to the ends that it is told when it begins:
 *
 * <pre>java Consume.java SERVERS ISOLATION TOPIC...</pre>
 *
 * A line for each record, with tabs between topic, partition, offset, timestamp, key and value; the last two in base64, "-" for null.
 */
public class Consume {
    public static void main(String[] args) {
        Properties properties = new Properties();
        properties.put("bootstrap.servers", args[0]);
        properties.put("isolation.level", args[1]);
        properties.put("enable.auto.commit", "false");
        properties.put("auto.offset.reset", "none");
        StringBuilder out = new StringBuilder();
        try (KafkaConsumer<byte[], byte[]> consumer = new KafkaConsumer<>(properties, new ByteArrayDeserializer(), new ByteArrayDeserializer())) {
            List<TopicPartition> partitions = new ArrayList<>();
            for (int i = 2; i < args.length; i++) {
                if (consumer.partitionsFor(args[i]).isEmpty()) {
                    throw new IllegalArgumentException("there is no topic " + args[i]);
                }
                for (PartitionInfo p : consumer.partitionsFor(args[i])) {
                    partitions.add(new TopicPartition(p.topic(), p.partition()));
                }
            }
            Map<TopicPartition, Long> ends = consumer.endOffsets(partitions);
            Map<TopicPartition, Long> starts = consumer.beginningOffsets(partitions);
            partitions.removeIf(p -> starts.get(p) >= ends.get(p));
            consumer.assign(partitions);
            partitions.forEach(p -> consumer.seek(p, starts.get(p)));
            long late = System.nanoTime() + Duration.ofMinutes(5).toNanos();
            while (partitions.stream().anyMatch(p -> consumer.position(p) < ends.get(p))) {
                if (System.nanoTime() > late) {
                    throw new IllegalStateException("the ends were not reached in five minutes");
                }
                for (ConsumerRecord<byte[], byte[]> r : consumer.poll(Duration.ofSeconds(1))) {
                    if (r.offset() < ends.get(new TopicPartition(r.topic(), r.partition()))) {
                        out.append(r.topic()).append('\t').append(r.partition()).append('\t').append(r.offset()).append('\t').append(r.timestamp())
                            .append('\t').append(text(r.key())).append('\t').append(text(r.value())).append('\n');
                    }
                }
            }
        }
        System.out.print(out);
    }

    private static String text(byte[] bytes) {
        return bytes == null ? "-" : Base64.getEncoder().encodeToString(bytes);
    }
}
