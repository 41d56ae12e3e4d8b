package kafkasrc

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"testing"

	"sluice/batch"
)

func readAll(tb testing.TB, log *fakeLog, level int8, from, until int64) []row {
	tb.Helper()
	rows, err := drain(newTestReader(log, level, pieceOf(from, until)))
	if err != nil {
		tb.Fatal(err)
	}
	return rows
}

func logOf(tb testing.TB, batches ...made) *fakeLog {
	tb.Helper()
	log := &fakeLog{most: 1 << 20}
	for _, m := range batches {
		log.batches = append(log.batches, m.bytes(tb))
	}
	return log
}

func TestEveryCodecGivesBackTheRecords(t *testing.T) {
	for _, codec := range codecs {
		t.Run(codec, func(t *testing.T) {
			m := made{base: 5, codec: codec}
			for i := range int64(500) { // above the 64 KiB of one lz4 block
				m.rows = append(m.rows, row{offset: 5 + i, timestamp: 1000 + i, key: fmt.Appendf(nil, "k%d", i), value: bytes.Repeat([]byte{'a' + byte(i%7), byte(i)}, 200)})
			}
			wantRows(t, readAll(t, logOf(t, m), 1, 5, 505), m.rows)
		})
	}
}

func TestNullEmptyAndRepeatedHeadersSurviveInOrder(t *testing.T) { // https://github.com/redpanda-data/connect/issues/1478
	rows := []row{
		{offset: 0, timestamp: 1, key: nil, value: []byte{}, headers: []header{{"a", []byte{1}}, {"b", nil}, {"a", []byte{2}}, {"a", []byte{}}}},
		{offset: 1, timestamp: 1, key: []byte{}, value: nil},
		{offset: 2, timestamp: 1, value: []byte("x"), headers: []header{{"", []byte{0xff, 0xfe}}, {"\U0001F600", nil}, {"\xff not UTF-8", []byte("v")}}},
	}
	log := logOf(t, made{rows: rows})
	wantRows(t, readAll(t, log, 1, 0, 3), rows)

	r := newTestReader(log, 1, pieceOf(0, 3))
	block, err := r.Next(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if block.Headers.Valid(1) {
		t.Error("headers of a record without any are present, want null as in Spark")
	}
}

func TestTimestampTypesNeverShareABlock(t *testing.T) {
	log := logOf(t,
		made{base: 0, rows: []row{{offset: 0, timestamp: 11}, {offset: 1, timestamp: 12}}},
		made{base: 2, attrs: attrLogAppendTime, maxTimestamp: 99, rows: []row{{offset: 2, timestamp: 13}, {offset: 3, timestamp: 14}}},
		made{base: 4, rows: []row{{offset: 4, timestamp: 15}}})
	wantRows(t, readAll(t, log, 1, 0, 5), []row{
		{offset: 0, timestamp: 11}, {offset: 1, timestamp: 12},
		{offset: 2, timestamp: 99, timestampType: logAppendTime}, {offset: 3, timestamp: 99, timestampType: logAppendTime},
		{offset: 4, timestamp: 15},
	})
	r := newTestReader(log, 1, pieceOf(0, 5))
	for _, want := range []int{2, 2, 1} {
		block, err := r.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if block.Rows != want {
			t.Errorf("block has %d rows, want %d", block.Rows, want)
		}
	}
}

func TestBlocksAreBounded(t *testing.T) {
	small := made{base: 0}
	for i := range int64(3 * blockRows) {
		small.rows = append(small.rows, row{offset: i})
	}
	big := made{base: 3 * blockRows}
	for i := range int64(8) {
		big.rows = append(big.rows, row{offset: big.base + i, value: make([]byte, 100_000)})
	}
	r := newTestReader(logOf(t, small, big), 1, pieceOf(0, 3*blockRows+8))
	r.decoder.limit = 1 << 21
	rows := 0
	for {
		block, err := r.Next(t.Context())
		if err != nil {
			break
		}
		rows += block.Rows
		if block.Rows > blockRows || len(block.Value.Data) > blockBytes+100_000 {
			t.Errorf("block has %d rows and %d bytes", block.Rows, len(block.Value.Data))
		}
	}
	if want := 3*blockRows + 8; rows != want {
		t.Errorf("got %d rows, want %d", rows, want)
	}
}

func TestLz4BlocksThatDependOnTheOneBefore(t *testing.T) {
	// Block 1 is stored, block 2 copies 16 bytes from 20 back and ends with 5 literals.
	first := []byte("0123456789abcdefghijklmnop")
	second := []byte{0x0c, 20, 0, 0x50, 'v', 'w', 'x', 'y', 'z'}
	frame := binary.LittleEndian.AppendUint32(nil, lz4Magic)
	frame = append(frame, 1<<6, 4<<4, 0xee) // linked blocks of 64 KiB, a wrong header checksum
	frame = append(binary.LittleEndian.AppendUint32(frame, lz4Stored|uint32(len(first))), first...)
	frame = append(binary.LittleEndian.AppendUint32(frame, uint32(len(second))), second...)
	frame = binary.LittleEndian.AppendUint32(frame, 0)
	d := decompressor{limit: 1000}
	got, err := d.expand(codecLz4, frame)
	if want := string(first) + string(first[6:22]) + "vwxyz"; err != nil || string(got) != want {
		t.Errorf("got %q, %v, want %q", got, err, want)
	}
}

func TestBatchesThatExpandBeyondTheLimitAreRefused(t *testing.T) { // https://github.com/twmb/franz-go/issues/701
	zeros := []row{{offset: 7, value: make([]byte, 1<<20)}}
	for _, codec := range codecs {
		t.Run(codec, func(t *testing.T) {
			r := newTestReader(logOf(t, made{base: 7, codec: codec, rows: zeros}), 1, pieceOf(7, 8))
			r.decoder.limit = 1 << 20
			used := r.workspace
			_, err := drain(r)
			wantFault(t, err, batch.BadRecords, "orders-3", "offset 7", "1,048,576 bytes")
			if got := cap(used.decoder.buf); got > 8<<20 {
				t.Errorf("the buffer grew to %d bytes", got)
			}

			r = newTestReader(logOf(t, made{base: 7, codec: codec, rows: zeros}), 1, pieceOf(7, 8))
			r.decoder.limit = 1<<20 + 100
			if rows, err := drain(r); err != nil || len(rows) != 1 || len(rows[0].value) != 1<<20 {
				t.Errorf("got %d rows, %v, want the record that just fits", len(rows), err)
			}
		})
	}
}

// wantFault checks class and text of an error, and that a hint says what to do.
func wantFault(tb testing.TB, err error, class batch.Class, texts ...string) {
	tb.Helper()
	var fault *batch.Fault
	if !errors.As(err, &fault) {
		tb.Fatalf("got error %v, want a fault", err)
	}
	if got := batch.ClassOf(err); got != class {
		tb.Errorf("got class %v, want %v: %v", got, class, err)
	}
	for _, text := range texts {
		if !strings.Contains(err.Error(), text) {
			tb.Errorf("got error %q, want it to say %q", err, text)
		}
	}
	if class != batch.Failed && batch.HintOf(err) == "" {
		tb.Errorf("error %q has no hint", err)
	}
}

func TestBrokenBatchesAreErrorsThatSayWhere(t *testing.T) {
	good := func() []byte {
		return made{base: 100, rows: []row{{offset: 100, key: []byte("k"), value: []byte("v"), headers: []header{{"h", nil}}}, {offset: 101, value: []byte("w")}}}.bytes(t)
	}
	for name, breakIt := range map[string]func(b []byte) []byte{
		"checksum":                 func(b []byte) []byte { b[len(b)-1] ^= 1; return b },
		"unknown format":           func(b []byte) []byte { b[atMagic] = 3; return b },
		"length below the header":  func(b []byte) []byte { binary.BigEndian.PutUint32(b[atLength:], 48); return b },
		"negative length":          func(b []byte) []byte { binary.BigEndian.PutUint32(b[atLength:], 1<<31); return b },
		"unknown codec":            func(b []byte) []byte { b[atAttributes+1] = 5; return seal(b) },
		"not what the codec says":  func(b []byte) []byte { b[atAttributes+1] = codecZstd; return seal(b) },
		"negative count":           func(b []byte) []byte { binary.BigEndian.PutUint32(b[atCount:], 1<<31); return seal(b) },
		"count above the records":  func(b []byte) []byte { b[atCount+3] = 3; return seal(b) },
		"count below the records":  func(b []byte) []byte { b[atCount+3] = 1; return seal(b) },
		"count of a billion":       func(b []byte) []byte { binary.BigEndian.PutUint32(b[atCount:], 1<<30); return seal(b) },
		"negative last offset":     func(b []byte) []byte { binary.BigEndian.PutUint32(b[atLastDelta:], 1<<31); return seal(b) },
		"record beyond the last":   func(b []byte) []byte { b[atLastDelta+3] = 0; return seal(b) },
		"offset overflow":          func(b []byte) []byte { binary.BigEndian.PutUint64(b, 1<<63-1); return b },
		"negative base":            func(b []byte) []byte { binary.BigEndian.PutUint64(b, 1<<63); return b },
		"record longer than rest":  func(b []byte) []byte { b[headerLen] = 0x7e; return seal(b) },
		"record of negative size":  func(b []byte) []byte { b[headerLen] = 0x01; return seal(b) },
		"varint without an end":    func(b []byte) []byte { fill(b[headerLen:], 0xff); return seal(b) },
		"key longer than record":   func(b []byte) []byte { b[headerLen+4] = 0x7e; return seal(b) },
		"header with a null key":   func(b []byte) []byte { b[headerLen+9] = 0x01; return seal(b) },
		"negative header count":    func(b []byte) []byte { b[headerLen+8] = 0x01; return seal(b) },
		"headers beyond record":    func(b []byte) []byte { b[headerLen+8] = 0x7e; return seal(b) },
		"two records, one offset":  func(b []byte) []byte { b[len(b)-5] = 0; return seal(b) },
		"null header where is one": func(b []byte) []byte { b[headerLen+8] = 0x00; return seal(b) },
	} {
		t.Run(name, func(t *testing.T) {
			log := &fakeLog{batches: [][]byte{breakIt(good())}, most: 1 << 20}
			r := newTestReader(log, 1, pieceOf(100, 102))
			r.fetch = acceptAll(r.fetcher, log.batches[0])
			_, err := drain(r)
			wantFault(t, err, batch.BadRecords, "orders-3", "record batch at offset")
		})
	}
}

func fill(b []byte, with byte) {
	for i := range b {
		b[i] = with
	}
}

func TestABatchDamagedOnTheWayIsFetchedAgain(t *testing.T) {
	log := logOf(t, made{base: 0, rows: []row{{offset: 0}, {offset: 1}}}, made{base: 2, rows: []row{{offset: 2}}})
	r := newTestReader(log, 1, pieceOf(0, 3))
	damages := 2
	r.fetch = func(ctx ctx, piece batch.Piece, offset int64) (answer, error) {
		a, err := log.fetch(ctx, piece, offset)
		if a.log = bytes.Clone(a.log); damages > 0 {
			damages--
			a.log[len(a.log)-1] ^= 1
		}
		return a, err
	}
	rows, err := drain(r)
	if got, want := fmt.Sprint(offsetsOf(rows)), "[0 1 2]"; err != nil || got != want {
		t.Errorf("got %s, %v, want %s", got, err, want)
	}
}
