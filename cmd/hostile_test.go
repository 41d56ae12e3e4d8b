package cmd_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
)

// What a hostile producer writes in place of Protobuf, from the topic to the table: each record is a row or a dead letter
// with its reason, and the run goes on. https://protobuf.dev/programming-guides/encoding/ has the wire format.
func TestHostileProtobufIsRowsAndDeadLetters(t *testing.T) {
	t.Parallel()
	k := embedded(t, "orders")
	schema := write(t, t.TempDir(), "order.proto", `syntax = "proto3"; message Order { int64 id = 1; string name = 2; message Line { int32 qty = 1; } repeated Line lines = 3; }`)
	p := newPipeline(t, k).with("--value-format", "protobuf", "--set", "value.schemaFile="+schema, "--set", "value.onMalformed=deadLetter").into("ops.dead")
	deep := strings.Repeat("\x7b", 10_000) + strings.Repeat("\x7c", 10_000)
	k.say(t,
		"\x08\x07\x12\x01a",
		"\x7b\x08\x01\x7c\x08\x02", // a group that the schema has not, then the id
		deep,                       // 10,000 groups within each other
		"\x0a\x01a",                // text where the id should be
		"\x12\xff\xff\xff\xff\x0f", // text of 4 GiB
		"\x1a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", // a message of minus one byte
		"\x08\x01\x08\x09", // the id twice
		"\x12\x02\xc3\x28", // text that is not UTF-8
		"\x08",             // a field without its value
		"\x08"+strings.Repeat("\xff", 10)+"\x01", // a number of 11 bytes
		"\x00\x00",                 // field 0
		"\x7c",                     // the end of no group
		"\x7b\x08\x01",             // a group without an end
		"\x0e",                     // a wire type that there is not
		"\x1a\x02\x0a\x00\x08\x03", // a line whose number is text
		"\x08\x04"+strings.Repeat("\x1a\x00", 20_000), // 20,000 empty lines
	)
	p.run(t).has("summary", "rows", 4, "deadLetters", 12)
	p.wantsShown(t, []string{"id", "name", "kafka_offset"}, `7 "a" 0`, `2 "" 1`, `9 "" 6`, `4 "" 15`)
	got := p.letters(t, "kafka_offset", "error_class")
	slices.Sort(got)
	want := []string{"2 | depth", "3 | type", "4 | syntax", "5 | syntax", "7 | encoding", "8 | syntax", "9 | syntax", "10 | syntax", "11 | syntax", "12 | syntax", "13 | syntax", "14 | type"}
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	p.proves(t, "proved", 4)
}

// Whatever listens at the address of the registry, a run ends with a code that says what to do, and the table is as it was.
func TestARunEndsWhateverIsAtTheAddressOfTheRegistry(t *testing.T) {
	t.Parallel()
	const deep = 20_000
	for name, c := range map[string]struct {
		format string
		answer http.HandlerFunc
		code   int
		want   string
	}{
		"a page": {"avro", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "<html>") }, 10, "something that is no schema"},
		"no end": {"avro", func(w http.ResponseWriter, r *http.Request) {
			for r.Context().Err() == nil {
				if _, err := io.WriteString(w, strings.Repeat(" ", 1<<16)); err != nil {
					return
				}
			}
		}, 10, "sends more than 4194304 bytes"},
		"silence":       {"avro", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, 1, "no answer in time"},
		"an ill server": {"avro", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) }, 1, "answers 500"},
		"a deep message": {"protobuf", func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprintf(w, `{"id":1,"schemaType":"PROTOBUF","schema":"%s%s"}`, strings.Repeat("message M{", deep), strings.Repeat("}", deep))
		}, 10, "more than 100 levels of brackets"},
		"a deep schema": {"avro", func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprintf(w, `{"id":1,"schema":"%s"}`, strings.Repeat("[", deep))
		}, 10, "exceeded max depth"},
	} {
		server := httptest.NewServer(c.answer)
		defer server.Close()
		k := embedded(t, "orders")
		k.say(t, framedBy(1, datum(1, 0)))
		p := newPipeline(t, k).with("--value-format", c.format, "--schema-registry-url", server.URL, "--set", "schemaRegistry.max.retries=0",
			"--set", "schemaRegistry.http.read.timeout.ms="+map[bool]string{true: "200", false: "20000"}[name == "silence"])
		out := p.do(t, "run").wants(c.code).mentions(c.want)
		if said := len(out.stdout) + len(out.stderr); said > 5000 {
			t.Errorf("%s: got %d bytes of output", name, said)
		}
	}
}
