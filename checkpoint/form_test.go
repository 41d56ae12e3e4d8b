package checkpoint

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"sluice/batch"
	"sluice/offsets"
)

func TestParseEntryReadsWhatSparkReads(t *testing.T) {
	tp := func(n int32) offsets.TopicPartition { return offsets.TopicPartition{Topic: "t", Partition: n} }
	for text, want := range map[string]*entry{
		"v1\n\n" + `{"t":{"0":1}}`:                                                        {version: 1, conf: map[string]string{}, end: offsets.Offsets{tp(0): 1}},
		"v1\n{}\n" + `{"t":{"1":7,"0":1}}` + "\n":                                         {version: 1, conf: map[string]string{}, extra: members{}, end: offsets.Offsets{tp(0): 1, tp(1): 7}},
		"v1\n" + `{"batchTimestampMs":5,"batchWatermarkMs":9007199254740993}` + "\n{}":    {version: 1, watermark: 9007199254740993, timestamp: 5, conf: map[string]string{}, extra: members{}, end: offsets.Offsets{}},
		"v1\n" + `{"conf":{"a":"é","b":""},"new":{"n":[1e400]}}` + "\n{}":                 {version: 1, conf: map[string]string{"a": "é", "b": ""}, extra: members{"new": []byte(`{"n":[1e400]}`)}, end: offsets.Offsets{}},
		"v2\n{}\n" + `name of it:{"t":{"0":0}}`:                                           {version: 2, source: "name of it", conf: map[string]string{}, extra: members{}, end: offsets.Offsets{tp(0): 0}},
		"v2\n" + `{"controlBatchInfo":null}` + "\n" + `0:{"t":{"0":9223372036854775807}}`: {version: 2, source: "0", conf: map[string]string{}, extra: members{}, end: offsets.Offsets{tp(0): 1<<63 - 1}},
	} {
		got, err := parseEntry([]byte(text))
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%q: got %+v, %v, want %+v", text, got, err, want)
		}
	}
}

func TestParseEntryRefusesEverythingElse(t *testing.T) {
	for _, text := range []string{"", "v1", "v1\n", "v1\n{}", "v1\n{}\n", "v1\n{}\n\n", "v1\n{}\n-", "v1\n{}\n{}\n{}", "v1\n{}\n{}\n\n", "v0\n{}\n{}", "v01\n{}\n{}", "v-1\n{}\n{}",
		"v3\n{}\n{}", "v 1\n{}\n{}", "V1\n{}\n{}", "\x00v1\n{}\n{}", "v1\r\n{}\r\n{}", "v1\n[]\n{}", "v1\nnull\n{}", "v1\n{}x\n{}", "v1\n{\"a\":1,\"a\":1}\n{}", "v1\n{\"conf\":null}\n{}",
		"v1\n{\"conf\":{\"a\":1}}\n{}", "v1\n{\"conf\":{\"a\":\"1\",\"a\":\"1\"}}\n{}", "v1\n{\"batchWatermarkMs\":1.0}\n{}", "v1\n{\"batchWatermarkMs\":\"1\"}\n{}",
		"v1\n{\"batchTimestampMs\":9223372036854775808}\n{}", "v1\n{\"x\":\"\xff\"}\n{}", "v2\n\n0:{}", "v2\n{}\n{}", "v2\n{}\n:{}", "v2\n{}\n0:-", "v2\n{}\n0:", "v2\n{}\n0",
		"v1\n{}\n{\"t\":{\"0\":-2}}", "v1\n{}\n{\"t\":{\"00\":1}}", "v1\n{}\n{\"t\":{\"0\":1}} {}", "v1\n{}\nnull"} {
		if got, err := parseEntry([]byte(text)); err == nil {
			t.Errorf("%q: read as %+v", text, got)
		}
	}
}

func TestParseMarker(t *testing.T) {
	for text, want := range map[string]string{
		"v1":     "v1\n" + `{"nextBatchWatermarkMs":0}`,
		"v1\n{}": "v1\n" + `{"nextBatchWatermarkMs":0}`,
		"v1\n" + `{"nextBatchWatermarkMs":1699999990000}` + "\n":            "v1\n" + `{"nextBatchWatermarkMs":1699999990000}`,
		"v2\n" + `{"stateUniqueIds":{},"nextBatchWatermarkMs":3,"b":"<&>"}`: "v2\n" + `{"nextBatchWatermarkMs":3,"b":"<&>","stateUniqueIds":{}}`,
	} {
		m, err := parseMarker([]byte(text))
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		if got, err := m.marshal(); err != nil || string(got) != want {
			t.Errorf("%q: written on as %q, %v, want %q", text, got, err, want)
		}
	}
	for _, text := range []string{"", "v", "v3\n{}", "1\n{}", "v1\n", "v1\n{", "v1\n[]", "v1\n{}\n{}", "v1\n" + `{"nextBatchWatermarkMs":null}`, "v2\n" + `{"stateUniqueIds":{"0":[]}}`} {
		if m, err := parseMarker([]byte(text)); err == nil {
			t.Errorf("%q: read as %+v", text, m)
		}
	}
}

func TestParseOrigin(t *testing.T) {
	want := offsets.Offsets{{Topic: "t", Partition: 0}: 1}
	for _, text := range []string{"\x00v1\n" + `{"t":{"0":1}}`, "\x0d" + `{"t":{"0":1}}` + "\n", "2" + `{"t":{"0":1}}`} {
		if got, err := parseOrigin([]byte(text)); err != nil || !got.Equal(want) {
			t.Errorf("%q: got %v, %v, want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "\x00", "\x00v1\n", "\x00v2\n{}", "\x00v1{}", "\x00v1\n" + `{"t":{"0":-1}}`, "\x00v1\n{}\n\n{}"} {
		if got, err := parseOrigin([]byte(text)); err == nil {
			t.Errorf("%q: read as %v", text, got)
		}
	}
}

// Our keys describe one plan; what is Spark's describes the query.
func TestSuccessorLeavesOurKeysBehind(t *testing.T) {
	e := &entry{version: 2, source: "s", watermark: 7, conf: map[string]string{"spark.x": "1", "sluice.nonce": "n", "sluice.later": "?"}, extra: members{"m": []byte("1")}, end: offsets.Offsets{}}
	want := &entry{version: 2, source: "s", watermark: 7, conf: map[string]string{"spark.x": "1"}, extra: members{"m": []byte("1")}}
	if got := e.successor(); !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

// A plan for ten thousand partitions is still one small object, written in one request.
func TestALargePlanStaysSmall(t *testing.T) {
	plan := &batch.Plan{Start: offsets.Offsets{}, End: offsets.Offsets{}, LeaderEpochs: map[offsets.TopicPartition]int32{}, Isolation: batch.ReadCommitted, Nonce: "n"}
	for n := range int32(10000) {
		tp := offsets.TopicPartition{Topic: "orders", Partition: n}
		plan.Start[tp], plan.End[tp], plan.LeaderEpochs[tp] = 1<<40, 1<<40+int64(n), 12
	}
	text, err := marshalPlan(plan, blank())
	if err != nil {
		t.Fatal(err)
	}
	if len(text) > 1<<20 {
		t.Errorf("got %d bytes, want less than 1 MiB", len(text))
	}
}

func seeds(f *testing.F, pattern string) {
	paths, err := filepath.Glob(filepath.Join("../testdata/checkpoint", pattern))
	if err != nil || len(paths) == 0 {
		f.Fatalf("no seeds: %v", err)
	}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
}

// Whatever can be read can be written on and read again as the same; nothing makes the parser panic.
func FuzzEntry(f *testing.F) {
	seeds(f, "*/offsets/*")
	seeds(f, "*/*/offsets/*")
	for _, text := range []string{"v1\n\n{}", "v2\n{}\n0:{}", "v1\n{}\n{\"t\":{\"0\":9223372036854775807}}"} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		e, err := parseEntry(text)
		if err != nil {
			return
		}
		written, err := e.marshal()
		if err != nil {
			t.Fatalf("%q: written: %v", text, err)
		}
		again, err := parseEntry(written)
		if err != nil {
			t.Fatalf("%q: written as %q and not read: %v", text, written, err)
		}
		if !bytes.Equal(must(again.marshal())(t), written) || !again.end.Equal(e.end) || again.watermark != e.watermark {
			t.Fatalf("%q: written as %q, read as %+v", text, written, again)
		}
		for _, n := range []int64{0, 1} {
			plan, err := e.plan(n, text)
			if err != nil || plan.Foreign {
				continue
			}
			if strings.Count(string(text), fmt.Sprintf(`"sluice.batch":"%d"`, n)) == 0 {
				t.Fatalf("%q: read as plan %d, which it does not name", text, n)
			}
		}
		next := &batch.Plan{Batch: 1, Start: e.end, End: e.end, Isolation: batch.ReadCommitted, Nonce: "n"}
		if _, err := marshalPlan(next, e); err != nil {
			t.Fatalf("%q: cannot be followed: %v", text, err)
		}
	})
}

func FuzzMarker(f *testing.F) {
	seeds(f, "*/commits/*")
	seeds(f, "*/*/commits/*")
	f.Fuzz(func(t *testing.T, text []byte) {
		m, err := parseMarker(text)
		if err != nil {
			return
		}
		written := must(m.marshal())(t)
		again, err := parseMarker(written)
		if err != nil || again.watermark != m.watermark || again.version != m.version {
			t.Fatalf("%q: written as %q, read as %+v, %v", text, written, again, err)
		}
	})
}

func FuzzOrigin(f *testing.F) {
	seeds(f, "*/sources/0/0")
	seeds(f, "*/*/sources/0/0")
	f.Fuzz(func(t *testing.T, text []byte) {
		start, err := parseOrigin(text)
		if err != nil {
			return
		}
		again, err := parseOrigin(must(marshalOrigin(start))(t))
		if err != nil || !again.Equal(start) {
			t.Fatalf("%q: got %v, %v, want %v", text, again, err, start)
		}
	})
}

func must(text []byte, err error) func(*testing.T) []byte {
	return func(t *testing.T) []byte {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
}
