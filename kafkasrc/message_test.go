package kafkasrc

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"testing"

	"sluice/batch"
)

// wrap builds a compressed message around others.
func wrap(tb testing.TB, magic byte, codec string, attrs byte, outer row, inner ...[]byte) []byte {
	tb.Helper()
	outer.value = compress(tb, codec, bytes.Join(inner, nil))
	return message(magic, attrs|byte(codecNumber(codec)), outer)
}

func TestMessagesOfFormat0And1AreRead(t *testing.T) {
	plain0 := message(0, 0, row{offset: 10, key: []byte("k"), value: []byte("v")})
	plain1 := message(1, 0, row{offset: 11, timestamp: 500, value: []byte("w")})
	appended := message(1, attrLogAppendTime, row{offset: 12, timestamp: 600, key: []byte{}})
	// Format 0 has absolute offsets inside, format 1 relative ones; 15 and 21 were compacted away.
	wrapped0 := wrap(t, 0, "gzip", 0, row{offset: 16},
		message(0, 0, row{offset: 14, value: []byte("a")}), message(0, 0, row{offset: 16, value: []byte("b")}))
	wrapped1 := wrap(t, 1, "snappy", 0, row{offset: 22, timestamp: 800},
		message(1, 0, row{offset: 0, timestamp: 700, value: []byte("c")}), message(1, 0, row{offset: 2, timestamp: 800, value: []byte("d")}))
	wrapped1appended := wrap(t, 1, "lz4", attrLogAppendTime, row{offset: 31, timestamp: 999},
		message(1, 0, row{offset: 0, timestamp: 1, value: []byte("e")}), message(1, 0, row{offset: 1, timestamp: 2, value: []byte("f")}))
	modern := made{base: 32, codec: "zstd", rows: []row{{offset: 32, timestamp: 1000, value: []byte("g")}}}.bytes(t)
	log := &fakeLog{most: 1 << 20, batches: [][]byte{plain0, plain1, appended, wrapped0, wrapped1, wrapped1appended, modern}}
	want := []row{
		{offset: 10, timestamp: -1, timestampType: noTimestampType, key: []byte("k"), value: []byte("v")},
		{offset: 11, timestamp: 500, value: []byte("w")},
		{offset: 12, timestamp: 600, timestampType: logAppendTime, key: []byte{}},
		{offset: 14, timestamp: -1, timestampType: noTimestampType, value: []byte("a")},
		{offset: 16, timestamp: -1, timestampType: noTimestampType, value: []byte("b")},
		{offset: 20, timestamp: 700, value: []byte("c")},
		{offset: 22, timestamp: 800, value: []byte("d")},
		{offset: 30, timestamp: 999, timestampType: logAppendTime, value: []byte("e")},
		{offset: 31, timestamp: 999, timestampType: logAppendTime, value: []byte("f")},
		{offset: 32, timestamp: 1000, value: []byte("g")},
	}
	wantRows(t, readAll(t, log, 1, 10, 33), want)
	wantRows(t, readAll(t, log, 1, 15, 31), want[4:8]) // from and to the middle of a wrapper
}

func TestTheBrokenHeaderChecksumOfOldLz4FramesIsNoObstacle(t *testing.T) { // https://issues.apache.org/jira/browse/KAFKA-3160
	inner := message(0, 0, row{offset: 4, value: []byte("old")})
	frame := compress(t, "lz4 64KiB", inner)
	frame[6] ^= 0xff
	log := &fakeLog{most: 1 << 20, batches: [][]byte{message(0, codecLz4, row{offset: 4, value: frame})}}
	wantRows(t, readAll(t, log, 0, 4, 5), []row{{offset: 4, timestamp: -1, timestampType: noTimestampType, value: []byte("old")}})
}

func TestBrokenMessagesAreErrorsThatSayWhere(t *testing.T) {
	inner := message(1, 0, row{offset: 0, timestamp: 1, value: []byte("a")})
	for name, m := range map[string][]byte{
		"checksum":               func() []byte { m := message(1, 0, row{offset: 9, value: []byte("x")}); m[len(m)-1] ^= 1; return m }(),
		"no value to decompress": message(1, codecGzip, row{offset: 9}),
		"empty wrapper":          wrap(t, 1, "gzip", 0, row{offset: 9}),
		"unknown codec":          message(1, codecZstd, row{offset: 9, value: inner}),
		"not what codec says":    message(1, codecSnappy, row{offset: 9, value: []byte("no snappy")}),
		"format 0 inside 1":      wrap(t, 1, "gzip", 0, row{offset: 9}, message(0, 0, row{offset: 0})),
		"compressed inside":      wrap(t, 1, "gzip", 0, row{offset: 9}, wrap(t, 1, "gzip", 0, row{}, inner)),
		"inner checksum":         wrap(t, 1, "gzip", 0, row{offset: 9}, func() []byte { m := bytes.Clone(inner); m[len(m)-1] ^= 1; return m }()),
		"inner cut short":        wrap(t, 1, "gzip", 0, row{offset: 9}, inner[:len(inner)-1]),
		"last offset above":      wrap(t, 1, "gzip", 0, row{offset: 9}, message(1, 0, row{offset: 10})),
		"key beyond message": func() []byte {
			m := bytes.Clone(message(0, 0, row{offset: 9, key: []byte("k")}))
			m[atMessageKey+3] = 99
			return sealMessage(m)
		}(),
		"offsets fall":         wrap(t, 0, "gzip", 0, row{offset: 9}, message(0, 0, row{offset: 9}), message(0, 0, row{offset: 8})),
		"expands beyond limit": wrap(t, 1, "gzip", 0, row{offset: 9}, message(1, 0, row{value: make([]byte, 2<<20)})),
	} {
		t.Run(name, func(t *testing.T) {
			r := newTestReader(&fakeLog{}, 1, pieceOf(9, 10))
			r.fetch = acceptAll(r.fetcher, m)
			_, err := drain(r)
			wantFault(t, err, batch.BadRecords, "orders-3", "at offset 9")
		})
	}
}

func TestOldMessagesAgreeWithTheClientLibrary(t *testing.T) {
	appended := 0
	for seed := range uint64(100) {
		rng := rand.New(rand.NewPCG(seed, 3))
		log, offset := &fakeLog{most: 1 + rng.IntN(4000)}, rng.Int64N(100)
		first := offset
		var stamps []stamp
		for range 1 + rng.IntN(20) {
			m, last := randomMessage(t, rng, offset)
			if m[atMagic] == 1 && m[atMessageAttr]&attrLogAppendTime != 0 {
				stamps = append(stamps, stamp{offset, last, int64(binary.BigEndian.Uint64(m[atMessageTime:]))})
			}
			log.batches = append(log.batches, m)
			offset = last + 1
		}
		appended += len(stamps)
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			want, position := oracle(t, log, 0, pieceOf(first, offset))
			for i := range want {
				stampRow(&want[i], stamps)
			}
			r := newTestReader(log, 0, pieceOf(first, offset))
			r.decoder.headers = false
			got, err := drain(r)
			if err != nil {
				t.Fatal(err)
			}
			wantRows(t, got, want)
			if at := r.Positions()[0]; at != position {
				t.Errorf("position is %d, want %d", at, position)
			}
		})
	}
	if appended < 50 {
		t.Errorf("only %d messages have the time when they were appended", appended)
	}
}

// stamp is the time that a broker has put on the messages of a range, first and last included.
type stamp struct{ first, last, timestamp int64 }

// stampRow does what franz-go leaves out: the log append time of a wrapper holds for all messages inside it, whatever
// theirs are (Kafka's AbstractLegacyRecordBatch; TestMessagesOfTheJavaClientAreRead has Kafka's own answers).
func stampRow(r *row, stamps []stamp) {
	for _, s := range stamps {
		if s.first <= r.offset && r.offset <= s.last {
			r.timestamp, r.timestampType = s.timestamp, logAppendTime
		}
	}
}

func randomMessage(tb testing.TB, rng *rand.Rand, offset int64) (m []byte, last int64) {
	magic := byte(rng.IntN(2))
	codec := []string{"none", "gzip", "snappy", "xerial", "lz4", "lz4 64KiB"}[rng.IntN(6)]
	attrs := magic * byte(rng.IntN(2)) * attrLogAppendTime
	base := offset
	if magic == 1 {
		base = 0
	}
	var inner [][]byte
	at := int64(0)
	for n := 1 + rng.IntN(5); ; at += 1 + rng.Int64N(2) {
		r := row{offset: base + at, timestamp: rng.Int64N(1000), key: randomBytes(rng, 9), value: randomBytes(rng, 90)}
		if codec == "none" {
			r.offset = offset
			return message(magic, attrs, r), offset
		}
		inner = append(inner, message(magic, 0, r))
		if len(inner) == n {
			break
		}
	}
	return wrap(tb, magic, codec, attrs, row{offset: offset + at, timestamp: 2000 + rng.Int64N(1000)}, inner...), offset + at
}

func TestAWrapperWithOffset0HasAbsoluteOffsetsInside(t *testing.T) { // as some producers leave it
	m := wrap(t, 1, "gzip", 0, row{offset: 0}, message(1, 0, row{offset: 0, value: []byte("a")}), message(1, 0, row{offset: 1, value: []byte("b")}))
	log := &fakeLog{most: 1 << 20, batches: [][]byte{m}}
	wantRows(t, readAll(t, log, 0, 0, 2), []row{{offset: 0, value: []byte("a")}, {offset: 1, value: []byte("b")}})
}
