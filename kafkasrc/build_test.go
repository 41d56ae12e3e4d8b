package kafkasrc

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"slices"
	"testing"

	"github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
	"github.com/twmb/franz-go/pkg/kmsg"

	"sluice/batch"
)

// row is a record as tests compare it. Byte slices are nil for null.
type row struct {
	offset, timestamp int64
	timestampType     int32
	key, value        []byte
	headers           []header
}

type header struct {
	key   string
	value []byte
}

// made describes a format 2 batch to be built.
type made struct {
	base int64
	// last is the last offset of the batch; that of the last row if 0.
	last     int64
	rows     []row
	codec    string
	attrs    int16
	producer int64
	// maxTimestamp counts for log append time.
	maxTimestamp int64
}

const (
	transactional = attrTransactional
	control       = attrTransactional | attrControl
)

// codecs are the ways that producers compress, by the name that tests give them.
var codecs = []string{"none", "gzip", "snappy", "xerial", "lz4", "lz4 64KiB", "lz4 checked", "zstd"}

func (m made) bytes(tb testing.TB) []byte {
	tb.Helper()
	if m.last == 0 && len(m.rows) > 0 {
		m.last = m.rows[len(m.rows)-1].offset
	}
	if m.producer == 0 {
		m.producer = -1
	}
	rb := kmsg.RecordBatch{
		FirstOffset: m.base, LastOffsetDelta: int32(m.last - m.base), Magic: 2, ProducerID: m.producer, ProducerEpoch: -1, FirstSequence: -1,
		NumRecords: int32(len(m.rows)), MaxTimestamp: m.maxTimestamp, Attributes: m.attrs,
	}
	var records []byte
	if len(m.rows) > 0 {
		rb.FirstTimestamp = m.rows[0].timestamp
		for _, r := range m.rows {
			records = appendRow(records, r, m.base, rb.FirstTimestamp)
		}
		rb.Attributes |= int16(codecNumber(m.codec))
		records = compress(tb, m.codec, records)
	}
	rb.Records = records
	rb.Length = int32(headerLen - lengthEnd + len(records))
	return seal(rb.AppendTo(nil))
}

func appendRow(to []byte, r row, base, firstTimestamp int64) []byte {
	rec := kmsg.Record{
		TimestampDelta64: r.timestamp - firstTimestamp, OffsetDelta: int32(r.offset - base), Key: r.key, Value: r.value,
	}
	for _, h := range r.headers {
		rec.Headers = append(rec.Headers, kmsg.Header{Key: h.key, Value: h.value})
	}
	sized := rec.AppendTo(nil)
	rec.Length = int32(len(sized) - 1) // a length of 0 takes one byte
	return rec.AppendTo(to)
}

// seal sets the checksum of a format 2 batch.
func seal(batch []byte) []byte {
	binary.BigEndian.PutUint32(batch[atCRC:], crc32.Checksum(batch[atAttributes:], castagnoli))
	return batch
}

// marker is a control batch that ends a transaction.
func marker(offset, producer int64, commit bool) made {
	kind := byte(0)
	if commit {
		kind = 1
	}
	return made{base: offset, attrs: control, producer: producer,
		rows: []row{{offset: offset, key: []byte{0, 0, 0, kind}, value: []byte{0, 0, 0, 0, 0, 0}}}}
}

func codecNumber(name string) int {
	switch name {
	case "gzip":
		return codecGzip
	case "snappy", "xerial":
		return codecSnappy
	case "lz4", "lz4 64KiB", "lz4 checked":
		return codecLz4
	case "zstd":
		return codecZstd
	}
	return codecNone
}

func compress(tb testing.TB, codec string, in []byte) []byte {
	tb.Helper()
	var out bytes.Buffer
	var w io.WriteCloser
	switch codec {
	case "gzip":
		w = gzip.NewWriter(&out)
	case "lz4", "lz4 64KiB", "lz4 checked":
		w = lz4Writer(tb, codec, &out)
	case "snappy":
		return s2.EncodeSnappy(nil, in)
	case "xerial":
		out.Write(xerialMagic)
		out.Write([]byte{0, 0, 0, 1, 0, 0, 0, 1})
		for block := range slices.Chunk(in, 1000) {
			packed := s2.EncodeSnappy(nil, block)
			out.Write(binary.BigEndian.AppendUint32(nil, uint32(len(packed))))
			out.Write(packed)
		}
		return out.Bytes()
	case "zstd":
		z, err := zstd.NewWriter(&out)
		if err != nil {
			tb.Fatal(err)
		}
		w = z
	default:
		return in
	}
	if _, err := w.Write(in); err != nil {
		tb.Fatal(err)
	}
	if err := w.Close(); err != nil {
		tb.Fatal(err)
	}
	return out.Bytes()
}

func lz4Writer(tb testing.TB, codec string, out io.Writer) io.WriteCloser {
	tb.Helper()
	w := lz4.NewWriter(out)
	options := []lz4.Option{lz4.BlockSizeOption(lz4.Block64Kb), lz4.BlockChecksumOption(codec == "lz4 checked"), lz4.ChecksumOption(codec == "lz4 checked")}
	if codec == "lz4" {
		options = nil // franz-go's default: blocks of up to 4 MiB
	}
	if err := w.Apply(options...); err != nil {
		tb.Fatal(err)
	}
	return w
}

// message builds a message of format 0 or 1. A timestamp of format 0 is ignored.
func message(magic byte, attrs byte, r row) []byte {
	m := binary.BigEndian.AppendUint64(nil, uint64(r.offset))
	m = append(m, 0, 0, 0, 0, 0, 0, 0, 0, magic, attrs)
	if magic == 1 {
		m = binary.BigEndian.AppendUint64(m, uint64(r.timestamp))
	}
	m = appendSized32(appendSized32(m, r.key), r.value)
	return sealMessage(m)
}

func sealMessage(m []byte) []byte {
	binary.BigEndian.PutUint32(m[atLength:], uint32(len(m)-lengthEnd))
	binary.BigEndian.PutUint32(m[atMessageCRC:], crc32.ChecksumIEEE(m[atMagic:]))
	return m
}

func appendSized32(to, value []byte) []byte {
	if value == nil {
		return binary.BigEndian.AppendUint32(to, 0xffffffff)
	}
	return append(binary.BigEndian.AppendUint32(to, uint32(len(value))), value...)
}

// fakeLog answers as a broker would that holds the batches.
type fakeLog struct {
	batches [][]byte
	aborted []abortedAt
	// most is how many bytes an answer has, at least one batch.
	most int
	// torn says that an answer ends with the beginning of the next batch, as brokers send it.
	torn bool
}

// abortedAt is an aborted transaction with the offset of its marker.
type abortedAt struct {
	producer, first, last int64
}

// overlapping lists the aborted transactions of an answer, as a broker does: those that reach into [from, next).
func (l *fakeLog) overlapping(from, next int64) (listed []abortedTxn) {
	for _, a := range l.aborted {
		if a.last >= from && a.first < next {
			listed = append(listed, abortedTxn{ProducerID: a.producer, FirstOffset: a.first})
		}
	}
	return listed
}

func (l *fakeLog) fetch(_ context.Context, piece batch.Piece, offset int64) (answer, error) {
	var a answer
	for _, b := range l.batches {
		if nextOffset(b) <= offset {
			continue
		}
		if len(a.log) > 0 && len(a.log)+len(b) > l.most {
			if l.torn {
				a.log = append(a.log, b[:len(b)/2]...)
			}
			break
		}
		a.log = append(a.log, b...)
	}
	_, next, complete := span(a.log)
	if !complete && len(a.log) == 0 {
		return a, fmt.Errorf("nothing at %d", offset)
	}
	a.aborted, a.next = l.overlapping(offset, next), next
	return a, nil
}

// newTestReader reads from the log instead of a broker.
func newTestReader(log *fakeLog, level int8, pieces ...batch.Piece) *Reader {
	s := &Source{options: Options{IncludeHeaders: true, FetchBytes: 1 << 20, MaxBatchBytes: 1 << 20}, limits: Limits{}.withDefaults(&settings{backoff: 1})}
	r := newReader(context.Background(), s, pieces, level)
	r.fetch = log.fetch
	return r
}

// drain reads to the end.
func drain(r *Reader) (rows []row, err error) {
	defer r.Close()
	for {
		records, err := r.Next(context.Background())
		if errors.Is(err, io.EOF) {
			return rows, nil
		}
		if err != nil {
			return rows, err
		}
		if records.Rows == 0 || records.Rows != len(records.Offsets) || records.Rows != records.Key.Len || records.Rows != records.Value.Len {
			return rows, fmt.Errorf("a block of %d rows has %d offsets, %d keys, %d values", records.Rows, len(records.Offsets), records.Key.Len, records.Value.Len)
		}
		for i := range records.Rows {
			got := row{
				offset: records.Offsets[i], timestamp: records.Timestamps[i], timestampType: records.TimestampType,
				key: bytes.Clone(records.Key.Bytes(i)), value: bytes.Clone(records.Value.Bytes(i)),
			}
			if records.Headers.Len > 0 {
				from, until := records.Headers.Span(i)
				for h := from; h < until; h++ {
					pair := records.Headers.Children[0].Children
					got.headers = append(got.headers, header{string(pair[0].Bytes(h)), bytes.Clone(pair[1].Bytes(h))})
				}
			}
			rows = append(rows, got)
		}
	}
}

func offsetsOf(rows []row) []int64 {
	var offsets []int64
	for _, r := range rows {
		offsets = append(offsets, r.offset)
	}
	return offsets
}

func sameRow(a, b row) bool {
	return a.offset == b.offset && a.timestamp == b.timestamp && a.timestampType == b.timestampType && sameBytes(a.key, b.key) && sameBytes(a.value, b.value) &&
		slices.EqualFunc(a.headers, b.headers, func(x, y header) bool { return x.key == y.key && sameBytes(x.value, y.value) })
}

// wantRows reports the first row that differs.
func wantRows(tb testing.TB, got, want []row) {
	tb.Helper()
	for i := range min(len(got), len(want)) {
		if !sameRow(got[i], want[i]) {
			tb.Fatalf("row %d: got %+v, want %+v", i, got[i], want[i])
		}
	}
	if len(got) != len(want) {
		tb.Fatalf("got %d rows, want %d: %v, want %v", len(got), len(want), offsetsOf(got), offsetsOf(want))
	}
}

// sameBytes tells null from empty.
func sameBytes(a, b []byte) bool { return (a == nil) == (b == nil) && bytes.Equal(a, b) }

func pieceOf(from, until int64) batch.Piece {
	return batch.Piece{Topic: "orders", Partition: 3, From: from, Until: until, LeaderEpoch: -1}
}

func pieceOfTopic(topic string, partition int32, from, until int64) batch.Piece {
	return batch.Piece{Topic: topic, Partition: partition, From: from, Until: until, LeaderEpoch: -1}
}
