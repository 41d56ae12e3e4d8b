package rig

import (
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// Consume reads topics with Kafka's own consumer, in Java, from their starts to their ends: with committed set, to the last
// stable offsets and without what was aborted. The records have topic, partition, offset, timestamp, key and value.
func (b Broker) Consume(tb testing.TB, committed bool, topics ...string) (records []*kgo.Record) {
	tb.Helper()
	isolation := map[bool]string{true: "read_committed", false: "read_uncommitted"}[committed]
	out := must(tb, "kafka", append([]string{"consume", b.Addr, isolation}, topics...)...)
	for line := range strings.Lines(out) {
		r, err := consumed(strings.TrimSuffix(line, "\n"))
		if err != nil {
			tb.Fatalf("read what rig/kafka consume printed: %v", err)
		}
		records = append(records, r)
	}
	return records
}

// consumed reads one line of Consume.java.
func consumed(line string) (*kgo.Record, error) {
	fields := strings.Split(line, "\t")
	if len(fields) != 6 {
		return nil, fmt.Errorf("%q has %d fields, want 6", line, len(fields))
	}
	r := &kgo.Record{Topic: fields[0]}
	var ms int64
	if _, err := fmt.Sscan(fields[1]+" "+fields[2]+" "+fields[3], &r.Partition, &r.Offset, &ms); err != nil {
		return nil, fmt.Errorf("%q: %w", line, err)
	}
	r.Timestamp = time.UnixMilli(ms)
	var keyErr, valueErr error
	r.Key, keyErr = bytesOf(fields[4])
	r.Value, valueErr = bytesOf(fields[5])
	if err := errors.Join(keyErr, valueErr); err != nil {
		return nil, fmt.Errorf("%q: %w", line, err)
	}
	return r, nil
}

// bytesOf are the bytes of a key or value, nil for null.
func bytesOf(field string) ([]byte, error) {
	if field == "-" {
		return nil, nil
	}
	return base64.StdEncoding.DecodeString(field)
}
