package main

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"
)

func TestACorpusIsTheSameEveryTime(t *testing.T) {
	for _, random := range []int{0, 64} {
		one, other, another := newOrders(3, random), newOrders(3, random), newOrders(4, random)
		distinct := 0
		for n := range 100 {
			key, value, at := one.next()
			key2, value2, at2 := other.next()
			if !bytes.Equal(key, key2) || !bytes.Equal(value, value2) || !at.Equal(at2) {
				t.Fatalf("record %d: got %s %s %v, then %s %s %v", n, key, value, at, key2, value2, at2)
			}
			if _, value3, _ := another.next(); !bytes.Equal(value, value3) {
				distinct++
			}
		}
		if distinct != 100 {
			t.Errorf("got %d records of 100 that differ between partitions", distinct)
		}
	}
}

func TestOrdersAreJSONOfAbout250Bytes(t *testing.T) {
	total := 0
	maker := newOrders(0, 0)
	for n := range 1000 {
		_, value, _ := maker.next()
		if !json.Valid(value) {
			t.Fatalf("order %d is no JSON: %s", n, value)
		}
		total += len(value)
	}
	if mean := total / 1000; mean < 235 || mean > 265 {
		t.Errorf("got orders of %d bytes in the mean", mean)
	}
}

func TestTopicsOfDifferentCorporaNeverMeet(t *testing.T) {
	seen := map[string]corpus{}
	for _, c := range []corpus{{1000, 8, 0}, {1000, 4, 0}, {2000, 8, 0}, {1000, 8, 64}, {1000, 8, 65}} {
		if other, ok := seen[c.topic()]; ok {
			t.Errorf("%v and %v are both topic %s", c, other, c.topic())
		}
		seen[c.topic()] = c
	}
}

func TestNumbersAreMediansWithTheirVerdict(t *testing.T) {
	for _, c := range []struct {
		n    number
		want string
	}{
		{of("odd", "s", 3, 1, 2), "odd 2.00 s (1.00 to 3.00)"},
		{of("even", "s", 4, 1, 2, 3), "even 2.50 s (1.00 to 4.00)"},
		{of("one", "rows", 1234567), "one 1,234,567 rows"},
		{of("in", "x", 1.5).atMost(1.5), "in 1.50 x target 1.50 PASS"},
		{of("over", "x", 1.51).atMost(1.5), "over 1.51 x target 1.50 over target"},
	} {
		var out bytes.Buffer
		(&report{out: &out}).add(c.n)
		if got := strings.Join(strings.Fields(out.String()), " "); got != c.want {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
}

func TestNumbersAsJSONHaveTheirSectionAndVerdict(t *testing.T) {
	var out bytes.Buffer
	r := &report{out: &out, json: true}
	r.begin("drain", "what")
	r.add(of("ratio", "x", 2).atMost(1.5))
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	var got struct {
		Type, Section, Name string
		Value, Target       float64
		Pass                *bool
	}
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &got); err != nil {
		t.Fatal(err)
	}
	if got.Type != "number" || got.Section != "drain" || got.Name != "ratio" || got.Value != 2 || got.Target != 1.5 || got.Pass == nil || *got.Pass {
		t.Errorf("got %s", lines[len(lines)-1])
	}
}

const traces = `File: bench
Type: cpu
-----------+-------------------------------------------------------
20000000ns   github.com/klauspost/compress/zstd.(*fastEncoder).Encode
             sluice/lakesink/parquetfile.(*zstdCodec).compress
             sluice/lakesink/parquetfile.(*Writer).flushPage (inline)
             sluice/lakesink.(*Writer).Write
-----------+-------------------------------------------------------
10000000ns   runtime.memmove
             sluice/lakesink/parquetfile.(*Writer).flushPage
-----------+-------------------------------------------------------
5000000ns    internal/runtime/syscall/linux.Syscall6
             sluice/lakesink.(*upload).Write
             sluice/lakesink/parquetfile.(*Writer).write (inline)
-----------+-------------------------------------------------------
1000000ns    runtime.scanObject
             runtime.gcBgMarkWorker.func2
-----------+-------------------------------------------------------
4000000ns    runtime.findRunnable
`

func TestStagesAreToldApartByTheirFunctions(t *testing.T) {
	got := map[string]float64{}
	for _, s := range samples(traces) {
		got[stages[stageOf(s.stack)].name] += s.weight / 1e6
	}
	want := map[string]float64{"compress pages": 20, "encode pages": 10, "write files to the store": 5, "garbage collection": 1, "everything else": 4}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestRequestsAreNamedByWhatTheyDo(t *testing.T) {
	for request, want := range map[string]string{
		"GET /lake/?list-type=2&prefix=x":                   "LIST",
		"PUT /lake/x/checkpoint/offsets/3":                  "PUT checkpoint",
		"PUT /lake/x/warehouse/t/data/f.parquet":            "PUT data",
		"POST /lake/x/warehouse/t/data/f.parquet?uploads=":  "multipart POST data",
		"PUT /lake/x/warehouse/t/data/f.parquet?uploadId=u": "multipart PUT data",
		"GET /lake/x/warehouse/t/metadata/v1.metadata.json": "GET metadata",
		"HEAD /lake/x/other":                                "HEAD other",
	} {
		method, target, _ := strings.Cut(request, " ")
		if got := kindOf(httptest.NewRequest(method, target, http.NoBody)); got != want {
			t.Errorf("%s: got %s, want %s", request, got, want)
		}
	}
}

func TestTheOutputOfARunIsRead(t *testing.T) {
	out := `{"type":"batch","batchId":0,"durationMs":{"addBatch":1500,"walCommit":20}}
{"type":"notice","message":"x"}
{"type":"batch","batchId":1,"durationMs":{"addBatch":500,"walCommit":30}}
{"type":"summary","rows":7,"caughtUp":true}
`
	got, err := read([]byte(out))
	if err != nil || len(got.batches) != 2 || got.summary.Rows != 7 || !got.summary.CaughtUp {
		t.Errorf("got %+v, %v", got, err)
	}
	if s := got.phase("addBatch", "walCommit"); s != 2.05 {
		t.Errorf("got %v s, want 2.05", s)
	}
	if _, err := read([]byte("no JSON\n")); err == nil {
		t.Error("text that is no JSON is taken")
	}
}

func TestHowIdleTheMachineIs(t *testing.T) {
	before := parseTicks("cpu  100 0 50 800 50 0 0 0 0 0\ncpu0 1 2 3 4\n")
	after := parseTicks("cpu  130 0 60 850 60 0 0 0 0 0\ncpu0 1 2 3 4\n")
	if got := after.idleSince(before); got != 0.6 {
		t.Errorf("got %v, want 0.6", got)
	}
	if got := parseTicks("").idleSince(parseTicks("")); got != 1 {
		t.Errorf("got %v of a system that does not tell, want 1", got)
	}
}
