import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.util.ArrayList;
import java.util.Base64;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.LongPredicate;
import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.internals.RecordHeader;
import org.apache.kafka.common.record.TimestampType;
import org.apache.kafka.common.record.internal.CompressionType;
import org.apache.kafka.common.record.internal.ControlRecordType;
import org.apache.kafka.common.record.internal.EndTransactionMarker;
import org.apache.kafka.common.record.internal.MemoryRecords;
import org.apache.kafka.common.record.internal.MemoryRecords.RecordFilter;
import org.apache.kafka.common.record.internal.MemoryRecords.RecordFilter.BatchRetention;
import org.apache.kafka.common.record.internal.MemoryRecords.RecordFilter.BatchRetentionResult;
import org.apache.kafka.common.record.internal.MemoryRecordsBuilder;
import org.apache.kafka.common.record.internal.MutableRecordBatch;
import org.apache.kafka.common.record.internal.Record;
import org.apache.kafka.common.record.internal.RecordBatch;
import org.apache.kafka.common.utils.internals.BufferSupplier;

/**
 * Writes logs with the code of Kafka's Java client, as producers, brokers and the log cleaner have written them in every
 * message format, and what Kafka's own reader finds in them. README.md says how it is run.
 */
class Generate {
    static final long BASE = 100;
    static final long CREATED = 1_500_000_000_000L;
    static final long APPENDED = 1_600_000_000_000L;

    /** The logs by name, and of one of them the transactions that were aborted: producer id to first offset. */
    final Map<String, ByteBuffer> logs = new TreeMap<>();
    final Map<String, Map<Long, Long>> aborted = new TreeMap<>();

    public static void main(String[] args) throws Exception {
        Generate all = new Generate();
        for (byte magic = 0; magic <= 2; magic++) {
            for (CompressionType codec : CompressionType.values()) {
                if (magic == 2 || codec != CompressionType.ZSTD) {
                    all.plain(magic, codec, TimestampType.CREATE_TIME);
                }
                if (magic == 2 || magic == 1 && codec != CompressionType.ZSTD) {
                    all.plain(magic, codec, TimestampType.LOG_APPEND_TIME);
                }
            }
        }
        for (CompressionType codec : CompressionType.values()) {
            all.transactions(codec);
        }
        all.write(Path.of(args[0]));
    }

    /** A batch as a producer fills it, some that were compacted, and one larger than a block of any codec. */
    void plain(byte magic, CompressionType codec, TimestampType type) {
        ByteBuffer log = ByteBuffer.allocate(1 << 20);
        long next = BASE;
        next = append(log, magic, codec, type, next, keysAndValues());
        ByteBuffer whole = ByteBuffer.allocate(1 << 20);
        next = append(whole, magic, codec, type, next, numbered(13));
        long first = next - 13;
        LongPredicate keep = offset -> (offset - first) % 5 % 2 == 1;
        if (magic < 2) { // formats 0 and 1 twice: left as they are, as cleaners did in their time, and raised to format 2
            log.put(compactOld(flipped(whole.duplicate()), codec, keep));
            long again = next;
            whole.clear();
            next = append(whole, magic, codec, type, next, numbered(13));
            keep = offset -> (offset - again) % 5 % 2 == 1;
        }
        log.put(compact(flipped(whole), keep, false));
        if (magic == 2) { // what remains of a batch whose producer is still remembered
            ByteBuffer gone = ByteBuffer.allocate(1 << 20);
            next = append(gone, magic, codec, type, next, numbered(3));
            log.put(compact(flipped(gone), offset -> false, true));
        }
        if (codec != CompressionType.NONE) {
            next = append(log, magic, codec, type, next, List.of(pair("large", "0123456789abcdef".repeat(10_000)), pair("after", "it")));
        }
        append(log, magic, codec, type, next, numbered(1));
        String name = "v" + magic + "-" + codec.name + (magic == 0 ? "" : type == TimestampType.CREATE_TIME ? "-created" : "-appended");
        logs.put(name, flipped(log));
    }

    /** One producer that commits, one that aborts, their batches interleaved, and the markers. */
    void transactions(CompressionType codec) {
        ByteBuffer log = ByteBuffer.allocate(1 << 20);
        transactional(log, codec, BASE, 7);
        transactional(log, codec, BASE + 2, 8);
        transactional(log, codec, BASE + 4, 7);
        transactional(log, codec, BASE + 6, 8);
        log.put(MemoryRecords.withEndTransactionMarker(BASE + 8, APPENDED, 5, 7, (short) 0, new EndTransactionMarker(ControlRecordType.COMMIT, 3)).buffer());
        log.put(MemoryRecords.withEndTransactionMarker(BASE + 9, APPENDED, 5, 8, (short) 0, new EndTransactionMarker(ControlRecordType.ABORT, 3)).buffer());
        append(log, (byte) 2, codec, TimestampType.CREATE_TIME, BASE + 10, numbered(2));
        String name = "v2-" + codec.name + "-transactions";
        logs.put(name, flipped(log));
        aborted.put(name, Map.of(8L, BASE + 2));
    }

    static void transactional(ByteBuffer log, CompressionType codec, long base, long producer) {
        ByteBuffer buffer = ByteBuffer.allocate(1 << 16);
        MemoryRecordsBuilder builder = MemoryRecords.builder(buffer, (byte) 2, Compression.of(codec).build(), TimestampType.CREATE_TIME, base,
            RecordBatch.NO_TIMESTAMP, producer, (short) 0, 0, true, 5);
        builder.append(CREATED + base, bytes("p" + producer), bytes("at " + base));
        builder.append(CREATED + base, bytes("p" + producer), bytes("at " + (base + 1)));
        log.put(builder.build().buffer());
    }

    static byte[][] pair(String key, String value) {
        return new byte[][] {bytes(key), bytes(value)};
    }

    static byte[] bytes(String s) {
        return s == null ? null : s.getBytes(StandardCharsets.UTF_8);
    }

    static List<byte[][]> keysAndValues() {
        return List.of(pair("key", "value"), pair(null, "no key"), pair("no value", null), pair(null, null), pair("", ""), pair("\u00e9\u4e2d", "\u0000\u0001"));
    }

    static List<byte[][]> numbered(int n) {
        List<byte[][]> records = new ArrayList<>();
        for (int i = 0; i < n; i++) {
            records.add(pair("k" + i, "value number " + i));
        }
        return records;
    }

    /**
     * Appends a batch (in formats 0 and 1 without compression: a message for each record) as it stands in a broker's log.
     * The producer numbers records from 0 and stamps each; the broker sets the offset and, for log append time, the
     * timestamp of the batch without touching the records inside. In format 0, where offsets inside are absolute, it
     * writes the batch anew.
     */
    static long append(ByteBuffer log, byte magic, CompressionType codec, TimestampType type, long base, List<byte[][]> records) {
        boolean anew = magic == 0 || magic == 1 && codec == CompressionType.NONE;
        ByteBuffer buffer = ByteBuffer.allocate(1 << 20);
        MemoryRecordsBuilder builder = MemoryRecords.builder(buffer, magic, Compression.of(codec).build(), TimestampType.CREATE_TIME, anew ? base : 0);
        long stamp = CREATED + base * 1000;
        for (byte[][] r : records) {
            Header[] headers = magic < 2 || r[0] == null ? Record.EMPTY_HEADERS
                : new Header[] {new RecordHeader("of", r[0]), new RecordHeader("", null), new RecordHeader("of", new byte[0])};
            builder.append(magic == 0 ? RecordBatch.NO_TIMESTAMP : stamp, r[0], r[1], headers);
            stamp += 7 - 20 * (stamp % 2); // backwards now and then
        }
        MemoryRecords built = builder.build();
        long at = base;
        for (MutableRecordBatch batch : built.batches()) {
            if (!anew) {
                batch.setLastOffset(base + records.size() - 1);
            }
            if (type == TimestampType.LOG_APPEND_TIME) {
                batch.setMaxTimestamp(type, APPENDED + at++);
            }
        }
        log.put(built.buffer());
        return base + records.size();
    }

    /** What the log cleaner made of a batch before Kafka 4: offsets count from the first record that is left. */
    static ByteBuffer compactOld(ByteBuffer log, CompressionType codec, LongPredicate keep) {
        ByteBuffer cleaned = ByteBuffer.allocate(1 << 20);
        MemoryRecordsBuilder builder = null;
        for (MutableRecordBatch batch : MemoryRecords.readableRecords(log).batches()) {
            for (Record r : batch) {
                if (!keep.test(r.offset())) {
                    continue;
                }
                if (builder == null || codec == CompressionType.NONE) {
                    cleaned = finished(builder, cleaned);
                    boolean appended = batch.timestampType() == TimestampType.LOG_APPEND_TIME;
                    builder = MemoryRecords.builder(cleaned.slice(), batch.magic(), Compression.of(codec).build(), batch.timestampType(), r.offset(),
                        appended ? batch.maxTimestamp() : RecordBatch.NO_TIMESTAMP);
                }
                builder.appendWithOffset(r.offset(), r.timestamp(), r.key(), r.value());
            }
        }
        return flipped(finished(builder, cleaned));
    }

    static ByteBuffer finished(MemoryRecordsBuilder builder, ByteBuffer log) {
        if (builder != null) {
            log.position(log.position() + builder.build().sizeInBytes());
        }
        return log;
    }

    /** What the log cleaner makes of a log now. */
    static ByteBuffer compact(ByteBuffer log, LongPredicate keep, boolean keepEmpty) {
        ByteBuffer cleaned = ByteBuffer.allocate(1 << 20);
        MemoryRecords.readableRecords(log).filterTo(new RecordFilter(0, 0) {
            @Override
            protected BatchRetentionResult checkBatchRetention(RecordBatch batch) {
                return new BatchRetentionResult(keepEmpty ? BatchRetention.RETAIN_EMPTY : BatchRetention.DELETE_EMPTY, false);
            }

            @Override
            protected boolean shouldRetainRecord(RecordBatch batch, Record record) {
                return keep.test(record.offset());
            }
        }, cleaned, BufferSupplier.NO_CACHING, Integer.MAX_VALUE);
        return flipped(cleaned);
    }

    static ByteBuffer flipped(ByteBuffer buffer) {
        buffer.flip();
        return buffer;
    }

    /** Writes each log to NAME.bin, and to expected.json what Kafka's reader finds when it reads those files back. */
    void write(Path dir) throws Exception {
        StringBuilder expected = new StringBuilder("{\n");
        for (Map.Entry<String, ByteBuffer> log : logs.entrySet()) {
            byte[] bytes = new byte[log.getValue().remaining()];
            log.getValue().get(bytes);
            Path file = dir.resolve(log.getKey() + ".bin");
            Files.write(file, bytes);
            expected.append(expected.length() > 2 ? ",\n" : "").append('"').append(log.getKey()).append("\": ");
            describe(expected, Files.readAllBytes(file), aborted.getOrDefault(log.getKey(), Map.of()));
        }
        Files.writeString(dir.resolve("expected.json"), expected.append("\n}\n"));
    }

    static void describe(StringBuilder out, byte[] log, Map<Long, Long> aborted) throws Exception {
        long next = 0;
        List<String> rows = new ArrayList<>();
        for (MutableRecordBatch batch : MemoryRecords.readableRecords(ByteBuffer.wrap(log)).batches()) {
            batch.ensureValid();
            next = batch.nextOffset();
            if (batch.isControlBatch()) {
                continue;
            }
            boolean hidden = batch.isTransactional() && aborted.containsKey(batch.producerId());
            for (Record record : batch) {
                record.ensureValid();
                rows.add(row(batch, record, hidden));
            }
        }
        List<String> transactions = new ArrayList<>();
        aborted.forEach((producer, first) -> transactions.add("{\"producer\": " + producer + ", \"first\": " + first + "}"));
        out.append("{\"next\": ").append(next).append(", \"aborted\": [").append(String.join(", ", transactions))
            .append("], \"rows\": [\n  ").append(String.join(",\n  ", rows)).append("]}");
    }

    static String row(RecordBatch batch, Record record, boolean hidden) throws Exception {
        List<String> headers = new ArrayList<>();
        for (Header h : record.headers()) {
            headers.add("{\"key\": \"" + h.key() + "\", \"value\": " + text(h.value()) + "}");
        }
        return "{\"offset\": " + record.offset() + ", \"timestamp\": " + record.timestamp() + ", \"type\": " + batch.timestampType().id
            + ", \"key\": " + text(taken(record.key())) + ", \"value\": " + text(taken(record.value()))
            + ", \"headers\": [" + String.join(", ", headers) + "]" + (hidden ? ", \"aborted\": true" : "") + "}";
    }

    static byte[] taken(ByteBuffer buffer) {
        if (buffer == null) {
            return null;
        }
        byte[] bytes = new byte[buffer.remaining()];
        buffer.duplicate().get(bytes);
        return bytes;
    }

    /** Base64, or the SHA-256 of what is long. */
    static String text(byte[] bytes) throws Exception {
        if (bytes == null) {
            return "null";
        }
        if (bytes.length > 1000) {
            return "\"sha256:" + HexFormat.of().formatHex(MessageDigest.getInstance("SHA-256").digest(bytes)) + "\"";
        }
        return "\"" + Base64.getEncoder().encodeToString(bytes) + "\"";
    }
}
