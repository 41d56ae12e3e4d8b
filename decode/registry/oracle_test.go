package registry

import (
	"bytes"
	"errors"
	"fmt"
	"math/big"
	"testing"

	"sluice/decode/malformed"
)

// slowReader reads a framing a byte at a time, as Confluent's pages on the wire format and on headers have it
// (https://docs.confluent.io/platform/current/schema-registry/fundamentals/serdes-develop/index.html#wire-format): a magic
// byte; after 0 an id of four bytes in network order, after 1 a GUID of sixteen; for Protobuf then how many message
// indexes there are and each of them, as zigzag varints, where none stand for the list [0].
type slowReader struct {
	rest  []byte
	short bool
}

func (r *slowReader) byte() byte {
	if len(r.rest) == 0 {
		r.short = true
		return 0
	}
	b := r.rest[0]
	r.rest = r.rest[1:]
	return b
}

// id is the id as people write it; empty if there is none.
func (r *slowReader) id() string {
	switch r.byte() {
	case 0:
		number := 0
		for range 4 {
			number = 256*number + int(r.byte())
		}
		if !r.short && number > 0 && number < 1<<31 {
			return fmt.Sprint(number)
		}
	case 1:
		text := ""
		for i := range 16 {
			if i == 4 || i == 6 || i == 8 || i == 10 {
				text += "-"
			}
			text += fmt.Sprintf("%02x", r.byte())
		}
		if !r.short {
			return text
		}
	}
	return ""
}

// varint is a zigzag varint of at most 64 bits: seven bits a byte, the least first, the high bit while there are more.
func (r *slowReader) varint() *big.Int {
	v := new(big.Int)
	for shift, more := uint(0), true; more && shift < 70; shift += 7 {
		b := r.byte()
		v.Add(v, new(big.Int).Lsh(big.NewInt(int64(b&0x7f)), shift))
		more = b >= 0x80
		r.short = r.short || more && shift == 63
	}
	if v.BitLen() > 64 {
		r.short = true
	}
	half := new(big.Int).Rsh(v, 1)
	if v.Bit(0) == 1 {
		return half.Not(half)
	}
	return half
}

// indexes are nil if they are broken: more than 100 of them, or beyond 31 bits.
func (r *slowReader) indexes() (all []int) {
	count := r.varint()
	if r.short || !count.IsInt64() || count.Int64() < 0 || count.Int64() > 100 {
		return nil
	}
	if count.Sign() == 0 {
		return []int{0}
	}
	for range count.Int64() {
		index := r.varint()
		if r.short || !index.IsInt64() || index.Int64() < 0 || index.Int64() >= 1<<31 {
			return nil
		}
		all = append(all, int(index.Int64()))
	}
	return all
}

// framing says what a framing has, and what is behind it; ok is false if it is broken.
func framing(framed []byte, protobuf bool) (says string, rest []byte, ok bool) {
	r := &slowReader{rest: framed}
	id := r.id()
	var indexes []int
	if id != "" && protobuf {
		indexes = r.indexes()
	}
	return id + fmt.Sprint(indexes), r.rest, id != "" && (!protobuf || indexes != nil)
}

// compareFrame holds a frame against the oracle, and an error against what policies about malformed records ask of it.
func compareFrame(t *testing.T, framed []byte, protobuf bool, value []byte, got Frame, err error) {
	t.Helper()
	says, rest, ok := framing(framed, protobuf)
	want := rest
	if value != nil { // the framing is a header of its own, with nothing behind it
		ok = ok && len(rest) == 0
		want = value
	}
	if ok != (err == nil) {
		t.Fatalf("% x (Protobuf: %v): got %+v, %v, want %s, %v", framed, protobuf, got, err, says, ok)
	}
	if err == nil && (got.ID.String()+fmt.Sprint(got.Indexes) != says || !bytes.Equal(got.Payload, want)) {
		t.Fatalf("% x (Protobuf: %v): got %+v, want %s and % x", framed, protobuf, got, says, want)
	}
	var bad *malformed.Error
	if err != nil && (!errors.As(err, &bad) || len(bad.Error()) > 1500 || bad.Reason != malformed.Framing && bad.Reason != malformed.Empty) {
		t.Fatalf("% x: got %v", framed, err)
	}
}

// FuzzFraming compares every way to read a framing with the oracle: as prefix and as header, with and without indexes.
func FuzzFraming(f *testing.F) {
	for _, seed := range []string{"", "00", "0000000007", "00 0000000b 00 0801", "00 0000000b 06 00 04 ac02 0801", "00 7fffffff 02 8080808010",
		guidHex, guidHex + "00", guidHex + "04 02 00", guidHex + "ca01", "00 00000000 00000007", "00 00000001 8080808080808080808002", "7b7d"} {
		f.Add(unhex(f, seed))
	}
	f.Fuzz(func(t *testing.T, framed []byte) {
		value := []byte("value")
		frame, err := Split(framed)
		compareFrame(t, framed, false, nil, frame, err)
		frame, err = SplitProtobuf(framed, make([]int, 3))
		compareFrame(t, framed, true, nil, frame, err)
		frame, err = FromHeader(framed, value)
		compareFrame(t, framed, false, value, frame, err)
		frame, err = FromHeaderProtobuf(framed, value, nil)
		compareFrame(t, framed, true, value, frame, err)
	})
}
