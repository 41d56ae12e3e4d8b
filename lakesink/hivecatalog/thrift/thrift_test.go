package thrift

import (
	"bytes"
	"errors"
	"io"
	"reflect"
	"testing"
)

// example has a value of each type.
var example = Message{Kind: Reply, Method: "get", Seq: 7, Body: Struct{
	0: Struct{1: true, 2: int8(-3), 3: int16(-300), 4: int32(-70000), 5: int64(1) << 60, 6: 2.5, 7: "ä\x00", 8: map[string]string{"a": "b", "": ""}},
	1: Strings("x", "y"), 2: Structs(Struct{-1: "deep"}, Struct{}), 3: Set{Of: I64, Items: []any{int64(4)}},
	4: Map{Key: I32, Value: Record, Pairs: [][2]any{{int32(9), Struct{1: false}}}}, 99: List{Of: Text},
}}

func TestAMessageIsReadAsItWasWritten(t *testing.T) {
	got, err := Read(bytes.NewReader(example.Append(nil)))
	if err != nil || !reflect.DeepEqual(got, example) {
		t.Errorf("got %v, %v, want %v", got, err, example)
	}
}

// The bytes are those of https://github.com/apache/thrift/blob/master/doc/specs/thrift-binary-protocol.md.
func TestACallHasTheFormOfTheSpecification(t *testing.T) {
	got := Message{Kind: Call, Method: "ping", Seq: 1, Body: Struct{2: int32(5), 1: "a"}}.Append(nil)
	want := "\x80\x01\x00\x01\x00\x00\x00\x04ping\x00\x00\x00\x01" + "\x0b\x00\x01\x00\x00\x00\x01a" + "\x08\x00\x02\x00\x00\x00\x05" + "\x00"
	if string(got) != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestWhatIsCutShortIsNoMessage(t *testing.T) {
	whole := example.Append(nil)
	if _, err := Read(bytes.NewReader(nil)); err != io.EOF {
		t.Errorf("nothing: got %v, want the end", err)
	}
	for n := 1; n < len(whole); n++ {
		if _, err := Read(bytes.NewReader(whole[:n])); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Fatalf("%d bytes: got %v, want an unexpected end", n, err)
		}
	}
}

func TestWhatIsNoMessageIsAStrangers(t *testing.T) {
	head := "\x80\x01\x00\x02\x00\x00\x00\x01m\x00\x00\x00\x01"
	for name, text := range map[string]string{
		"a page":             "HTTP/1.1 400 Bad Request\r\n\r\n",
		"TLS":                "\x15\x03\x01\x00\x02\x02\x46",
		"a type of no value": head + "\x07\x00\x01aaaaaaaaaaaa",
		"a negative length":  head + "\x0b\x00\x01\xff\xff\xff\xff",
		"a huge length":      head + "\x0b\x00\x01\x7f\xff\xff\xff",
		"a huge list":        head + "\x0f\x00\x01\x0b\x7f\xff\xff\xff",
		"a deep nest":        head + string(bytes.Repeat([]byte("\x0c\x00\x01"), 100)),
	} {
		if _, err := Read(bytes.NewReader([]byte(text))); !errors.Is(err, ErrStranger) {
			t.Errorf("%s: got %v, want a stranger", name, err)
		}
	}
}
