package registry

import (
	"bytes"
	"encoding/hex"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/sr"

	"sluice/decode/malformed"
)

// unhex reads hexadecimal digits, with spaces between where that is easier to read.
func unhex(t testing.TB, digits string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.ReplaceAll(digits, " ", ""))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

var guid = [16]byte{0x89, 0x79, 0x1c, 0xf2, 0x6f, 0xbd, 0x4b, 0x9c, 0x8b, 0x28, 0xd6, 0x95, 0xa4, 0x0f, 0x5f, 0x1c}

const guidHex = "01 89791cf26fbd4b9c8b28d695a40f5f1c"

func TestIDsReadAsPeopleKnowThem(t *testing.T) {
	if got := Number(2147483647).String(); got != "2147483647" {
		t.Errorf("got %s", got)
	}
	if got := GUID(guid).String(); got != "89791cf2-6fbd-4b9c-8b28-d695a40f5f1c" {
		t.Errorf("got %s", got)
	}
	if ids := map[ID]bool{Number(7): true, GUID(guid): true, GUID([16]byte{}): true, {}: true}; len(ids) != 4 || !ids[Number(7)] || !ids[GUID(guid)] {
		t.Errorf("got %v, want four that differ", ids)
	}
}

func TestAPrefixIsTakenOffExactly(t *testing.T) {
	for _, c := range []struct {
		value   string
		id      ID
		payload string
	}{
		{"00 00000007 0000", Number(7), "0000"},
		// https://github.com/confluentinc/schema-registry/issues/833: a decimal, 9c in two bytes.
		{"00 00000007 029c", Number(7), "029c"},
		// https://github.com/confluentinc/schema-registry/issues/1975: an id that was deleted in the registry.
		{"00 0000002a 02", Number(42), "02"},
		{"00 7fffffff", Number(2147483647), ""},
		{guidHex, GUID(guid), ""},
		{guidHex + "00", GUID(guid), "00"},
	} {
		got, err := Split(unhex(t, c.value))
		if err != nil || got.ID != c.id || got.Indexes != nil || !bytes.Equal(got.Payload, unhex(t, c.payload)) {
			t.Errorf("%s: got %+v, %v", c.value, got, err)
		}
	}
}

func TestMessageIndexesAreTakenOffInProtobuf(t *testing.T) {
	for _, c := range []struct {
		value   string
		indexes []int
		payload string
	}{
		// https://github.com/apache/seatunnel/pull/12039: the first message, and it is empty.
		{"00 0000000b 00", []int{0}, ""},
		{"00 0000000b 00 0801", []int{0}, "0801"},
		{"00 0000000b 02 00 0801", []int{0}, "0801"}, // the same, without the short form
		{"00 0000000b 02 02 0801", []int{1}, "0801"},
		{"00 0000000b 04 02 00 0801", []int{1, 0}, "0801"},
		{"00 0000000b 06 00 04 ac02 0801", []int{0, 2, 150}, "0801"},
		{guidHex + "04 02 00 0801", []int{1, 0}, "0801"},
	} {
		got, err := SplitProtobuf(unhex(t, c.value), nil)
		if err != nil || !slices.Equal(got.Indexes, c.indexes) || !bytes.Equal(got.Payload, unhex(t, c.payload)) {
			t.Errorf("%s: got %+v, %v", c.value, got, err)
		}
	}
}

func TestAHeaderCarriesTheFramingAndTheValueIsAllPayload(t *testing.T) {
	value := []byte(`{"a":1}`)
	for _, c := range []struct {
		header   string
		id       ID
		protobuf bool
		indexes  []int
	}{
		{guidHex, GUID(guid), false, nil},
		{"00 00000007", Number(7), false, nil},
		{guidHex + "00", GUID(guid), true, []int{0}},
		{guidHex + "04 02 00", GUID(guid), true, []int{1, 0}},
	} {
		got, err := FromHeader(unhex(t, c.header), value)
		if c.protobuf {
			got, err = FromHeaderProtobuf(unhex(t, c.header), value, nil)
		}
		if err != nil || got.ID != c.id || !slices.Equal(got.Indexes, c.indexes) || !bytes.Equal(got.Payload, value) {
			t.Errorf("%s: got %+v, %v", c.header, got, err)
		}
	}
}

func TestAValueWithoutFramingSaysWhatItLooksLike(t *testing.T) {
	long := strings.Repeat("x", 1000)
	for _, c := range []struct {
		value  string // text, or hexadecimal after 0x
		reason malformed.Reason
		want   string
	}{
		// https://github.com/redpanda-data/connect/issues/3660: there is a value, and it has no bytes.
		{"", malformed.Empty, "has no bytes, not even those of a schema id"},
		// https://github.com/Apicurio/apicurio-registry/issues/1479: plain Avro that begins with 0.
		{"0x00", malformed.Framing, "ends within the schema id, which takes 5 bytes"},
		{"0x00000007", malformed.Framing, "ends within the schema id"},
		{"0x01 8979", malformed.Framing, "ends within the schema GUID, which takes 17 bytes"},
		// https://github.com/Apicurio/apicurio-registry/issues/2547: an id of 8 bytes.
		{"0x00 0000000000000007 0206", malformed.Framing, "the schema id 0, which no registry gives; ids of 8 bytes"},
		{"0x00 00000000", malformed.Framing, "the schema id 0, which no registry gives"},
		{"0x00 80000000", malformed.Framing, "the schema id 2147483648, which no registry gives"},
		{`{"a":1}`, malformed.Framing, "begins with 7b 22 61 22 3a 31 7d, which looks like plain JSON"},
		{"\n [1,2,3]", malformed.Framing, "begins with 0a 20 5b 31 2c 32 2c 33 …, which looks like plain JSON"},
		{`"text"`, malformed.Framing, "looks like plain JSON"},
		{"\xef\xbb\xbf{}", malformed.Framing, "a byte order mark"},
		{"<order/>", malformed.Framing, "XML"},
		{"order 7: größe", malformed.Framing, "plain text"},
		{"größe größ€", malformed.Framing, "plain text"}, // € is cut at 16 bytes
		{long, malformed.Framing, "plain text"},
		{"Obj\x01\x04\x14avro.codec", malformed.Framing, "an Avro file, with its schema inside"},
		{"0xc301 0102030405060708 02", malformed.Framing, "Avro's single-object encoding"},
		{"0x0300 89791cf26fbd4b9c8b28d695a40f5f1c 02", malformed.Framing, "the framing of the AWS Glue registry"},
		{"0x1f8b08", malformed.Framing, "gzip"},
		{"0x0206 666f6f", malformed.Framing, "begins with 02 06 66 6f 6f, which looks like Avro or Protobuf without the id of a schema"},
		{"0xff", malformed.Framing, "Avro or Protobuf without"},
	} {
		value := []byte(c.value)
		if digits, ok := strings.CutPrefix(c.value, "0x"); ok {
			value = unhex(t, digits)
		}
		for name, split := range map[string]func([]byte) (Frame, error){
			"Split":         Split,
			"SplitProtobuf": func(value []byte) (Frame, error) { return SplitProtobuf(value, nil) },
		} {
			_, err := split(value)
			var bad *malformed.Error
			if !errors.As(err, &bad) || bad.Reason != c.reason || !strings.Contains(bad.Detail, c.want) {
				t.Errorf("%s(%q): got %v, want %s: %s", name, value, err, c.reason, c.want)
			}
		}
	}
}

func TestBrokenMessageIndexesAreMalformed(t *testing.T) {
	for _, c := range []struct{ indexes, want string }{
		{"", "ends within the message indexes, or has none"},
		{"80", "ends within the message indexes, or has none"},
		{"02", "ends within the message indexes"},
		{"04 02", "ends within the message indexes"},
		{"04 02 80", "ends within the message indexes"},
		{"01", "has -1 message indexes"},
		{"ca01", "has 101 message indexes"},
		{"80808080808080808001", "has 4611686018427387904 message indexes"},
		{"ffffffffffffffffff01", "has -9223372036854775808 message indexes"},
		{"ffffffffffffffffffff01", "ends within the message indexes, or has none"},
		{"02 01", "has the message index -1"},
		{"02 8080808010", "has the message index 2147483648"},
	} {
		for name, frame := range map[string]func() (Frame, error){
			"the value":  func() (Frame, error) { return SplitProtobuf(unhex(t, "00 00000007"+c.indexes), nil) },
			"the header": func() (Frame, error) { return FromHeaderProtobuf(unhex(t, guidHex+c.indexes), nil, nil) },
		} {
			_, err := frame()
			var bad *malformed.Error
			if !errors.As(err, &bad) || bad.Reason != malformed.Framing || !strings.Contains(bad.Detail, name) || !strings.Contains(bad.Detail, c.want) {
				t.Errorf("%s in %s: got %v, want %s", c.indexes, name, err, c.want)
			}
		}
	}
}

func TestABrokenHeaderIsShown(t *testing.T) {
	for _, c := range []struct {
		header   string
		protobuf bool
		want     string
	}{
		{"", false, "the header with the schema id has no bytes"},
		{"01 8979", false, "the header with the schema id ends within the schema GUID, which takes 17 bytes (01 89 79)"},
		{"37", false, "has no schema registry framing: it begins with 37, which looks like plain text"},
		{guidHex + "00", false, "has more bytes than the id (01 89 79 1c f2 6f bd 4b …)"},
		{guidHex + "00 00", true, "has more bytes than the id and the message indexes"},
	} {
		_, err := FromHeader(unhex(t, c.header), []byte("value"))
		if c.protobuf {
			_, err = FromHeaderProtobuf(unhex(t, c.header), []byte("value"), nil)
		}
		var bad *malformed.Error
		if !errors.As(err, &bad) || bad.Reason != malformed.Framing || !strings.Contains(bad.Detail, c.want) {
			t.Errorf("%s: got %v, want %s", c.header, err, c.want)
		}
	}
}

func TestFramesTakeNoMemory(t *testing.T) {
	value, memory := unhex(t, "00 0000000b 06 00 04 ac02 0801"), make([]int, 0, 8)
	got := testing.AllocsPerRun(100, func() {
		if _, err := Split(value); err != nil {
			t.Fatal(err)
		}
		if _, err := SplitProtobuf(value, memory); err != nil {
			t.Fatal(err)
		}
	})
	if got != 0 {
		t.Errorf("got %v allocations, want none", got)
	}
}

// FuzzSplit compares with the framing of another client, where that one has bounds.
func FuzzSplit(f *testing.F) {
	for _, seed := range []string{"", "00", "0000000007", "00 0000000b 00 0801", "00 0000000b 06 00 04 ac02 0801", guidHex + "04 02 00", "00 00000000 00000007", "7b7d"} {
		f.Add(unhex(f, seed))
	}
	f.Fuzz(func(t *testing.T, value []byte) {
		var other sr.ConfluentHeader
		want, rest, err := other.DecodeID(value)
		got, ours := Split(value)
		if err == nil && want > 0 && want <= 1<<31-1 {
			if ours != nil || got.ID != Number(int32(want)) || !bytes.Equal(got.Payload, rest) {
				t.Fatalf("got %+v, %v, want %d, % x", got, ours, want, rest)
			}
			compareIndexes(t, value, rest)
		} else if ours == nil && value[0] != magicGUID {
			t.Fatalf("got %+v, want %v", got, err)
		}
		checkFault(t, ours)
		_, ours = SplitProtobuf(value, nil)
		checkFault(t, ours)
	})
}

func compareIndexes(t *testing.T, value, rest []byte) {
	got, ours := SplitProtobuf(value, nil)
	var other sr.ConfluentHeader
	want, payload, err := other.DecodeIndex(rest, maxIndexes)
	outside := slices.ContainsFunc(want, func(index int) bool { return index < 0 || index > 1<<31-1 })
	if (err == nil && !outside) != (ours == nil) {
		t.Fatalf("got %+v, %v, want %v, %v", got, ours, want, err)
	}
	if ours == nil && (!slices.Equal(got.Indexes, want) || !bytes.Equal(got.Payload, payload)) {
		t.Fatalf("got %+v, want %v, % x", got, want, payload)
	}
}

// checkFault: an error is one for the policies about malformed records, and short enough for a log.
func checkFault(t *testing.T, err error) {
	var bad *malformed.Error
	if err != nil && (!errors.As(err, &bad) || len(bad.Error()) > 1500) {
		t.Fatalf("got %v", err)
	}
}
