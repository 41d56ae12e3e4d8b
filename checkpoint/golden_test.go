package checkpoint_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"sluice/batch"
	"sluice/checkpoint"
	"sluice/objectstore"
	"sluice/offsets"
)

var update = flag.Bool("update", false, "write testdata/checkpoint/v1 anew")

// goldenPlan is batch n of the golden checkpoint, with every field that a plan can have.
func goldenPlan(t *testing.T, n int64) *batch.Plan {
	plan := &batch.Plan{
		Batch:         n,
		Start:         mustParse(t, fmt.Sprintf(`{"orders":{"0":%d,"1":7},"pays & \"more\"":{"0":%d}}`, n*100, n*10)),
		End:           mustParse(t, fmt.Sprintf(`{"orders":{"0":%d,"1":7},"pays & \"more\"":{"0":%d}}`, n*100+100, n*10+10)),
		TopicIDs:      map[string]string{"orders": "CuLyBcPNTe2U2e3JqsMXYQ"},
		LeaderEpochs:  map[offsets.TopicPartition]int32{{Topic: "orders", Partition: 0}: 4, {Topic: "orders", Partition: 1}: 0},
		Tables:        map[string]string{"main": "9c12d441-03fe-4693-9a96-a0705ddf69c1"},
		Isolation:     batch.ReadCommitted,
		LeaseEpoch:    n + 1,
		TableSequence: n,
		MaxOffsets:    1000000,
		TimestampMs:   1790000000000 + n*60000,
		Nonce:         fmt.Sprintf("nonce-%d", n),
	}
	if n == 1 {
		plan.Accepted = &batch.Acceptance{Choice: batch.Accept, Batch: 0, Snapshot: 8744736658442914487}
	}
	return plan
}

// A plan says what becomes of values; plans of before do not, and what a newer program says beyond this one is refused.
func TestAPlanSaysHowValuesBecomeColumns(t *testing.T) {
	s := objectstore.NewMemory("value")
	for n, value := range []*batch.Value{nil, {Format: "raw"}, {Format: "json", Schema: "a INT,\nb STRING COMMENT 'it''s \"b\"'", OnMalformed: "null", OnTombstone: "drop", OnUnknownField: "fail", IncludeRawValue: true,
		JSON: batch.JSONValue{TimestampFormat: "epochMillis", DateFormat: "yyyyMMdd", ColumnFormats: map[string]string{"b": "json"}, TimeZone: "Europe/Berlin", MaxDepth: 7, NumbersInText: true, CutFractions: true},
		Key:  batch.Key{Format: "json", Type: "STRUCT<id: BIGINT NOT NULL>"}}} {
		plan := goldenPlan(t, int64(n))
		plan.Value = value
		noError(t, checkpoint.NewLog(s).WritePlan(t.Context(), plan))
		got, err := checkpoint.NewLog(s).ReadPlan(t.Context(), int64(n))
		noError(t, err)
		if !reflect.DeepEqual(got, plan) {
			t.Errorf("plan %d: got %+v, want %+v", n, got.Value, value)
		}
		if text := get(t, s, fmt.Sprintf("offsets/%d", n)); strings.Contains(text, "sluice.value") != (value != nil) {
			t.Errorf("plan %d is %s", n, text)
		}
	}
	for _, value := range []string{`{"format":"json","onMalformedKey":"fail"}`, `{"format":"json","json":{"lenient":true}}`, `{"schema":"a INT"}`, `{`, `[]`} {
		if got, err := checkpoint.ParseValue(value); err == nil {
			t.Errorf("%s: got %+v, want an error", value, got)
		}
	}
}

const goldenQuery = "3e7c0f52-9d0b-4f0c-8a4e-2b7f7f3f1c55"

// Plans of before do not say whether their rows have headers; those of now do, and a plan rebuilt after them has no say.
func TestAPlanSaysWhetherItsRowsHaveHeaders(t *testing.T) {
	s := objectstore.NewMemory("headers")
	yes, no := true, false
	for n, headers := range []*bool{&yes, &no, nil} {
		plan := goldenPlan(t, int64(n))
		plan.IncludeHeaders = headers
		noError(t, checkpoint.NewLog(s).WritePlan(t.Context(), plan))
		got, err := checkpoint.NewLog(s).ReadPlan(t.Context(), int64(n))
		noError(t, err)
		if !reflect.DeepEqual(got, plan) {
			t.Errorf("plan %d: got %+v, want %+v", n, got, plan)
		}
		if text := get(t, s, fmt.Sprintf("offsets/%d", n)); strings.Contains(text, "includeHeaders") != (headers != nil) {
			t.Errorf("plan %d is %s", n, text)
		}
	}
}

// writeGolden makes the golden checkpoint: batches 0 and 1 done, 2 planned.
func writeGolden(t *testing.T, s objectstore.Store) {
	l, ctx := checkpoint.NewLog(s), t.Context()
	_, err := l.CreateQuery(ctx, goldenQuery)
	noError(t, err)
	noError(t, l.SetIdentity(ctx, &batch.Identity{Name: "orders", ClusterID: "MkU3OEVBNTcwNTJENDM2Qk", Sink: "sqlite catalog, table sales.orders",
		Tables: map[string]string{"main": "9c12d441-03fe-4693-9a96-a0705ddf69c1"}, Keys: map[string]string{"source.subscribe": "orders"}}))
	_, err = l.PinStart(ctx, goldenPlan(t, 0).Start)
	noError(t, err)
	for n := range int64(3) {
		noError(t, l.WritePlan(ctx, goldenPlan(t, n)))
		if n < 2 {
			noError(t, l.WriteCommit(ctx, n))
			noError(t, l.WriteProgress(ctx, n, fmt.Appendf(nil, `{"batchId":%d}`, n)))
		}
	}
	noError(t, l.WriteRun(ctx, "01999ed2-93b0-7c3e-8e4c-6d6f0a1b2c3d", []byte(`{"state":"done"}`)))
}

func TestGoldenIsWrittenByteForByte(t *testing.T) {
	s := objectstore.NewMemory("golden")
	writeGolden(t, s)
	root := filepath.Join(testdata, "v1")
	keys := list(t, s, "")
	if *update {
		noError(t, os.RemoveAll(root))
		for _, key := range keys {
			noError(t, os.MkdirAll(filepath.Dir(filepath.Join(root, key)), 0o755))
			noError(t, os.WriteFile(filepath.Join(root, key), []byte(get(t, s, key)), 0o644))
		}
	}
	golden := folder(t, "v1")
	if want := list(t, golden, ""); !slices.Equal(keys, want) {
		t.Fatalf("got objects %v, want %v", keys, want)
	}
	for _, key := range keys {
		if got, want := get(t, s, key), get(t, golden, key); got != want {
			t.Errorf("%s: got %q, want %q", key, got, want)
		}
	}
}

func TestGoldenIsRead(t *testing.T) {
	l, ctx := checkpoint.NewLog(folder(t, "v1")), t.Context()
	if id, err := l.Query(ctx); err != nil || id != goldenQuery {
		t.Errorf("query: got %q, %v, want %q", id, err, goldenQuery)
	}
	state, err := l.Last(ctx)
	noError(t, err)
	if state.Commit != 1 || !state.Start.Equal(goldenPlan(t, 0).Start) {
		t.Errorf("got commit %d and start %s, want 1 and the pinned start", state.Commit, state.Start)
	}
	for n := range int64(3) {
		got, err := l.ReadPlan(ctx, n)
		noError(t, err)
		want := goldenPlan(t, n)
		want.Hash = got.Hash
		if !reflect.DeepEqual(got, want) {
			t.Errorf("plan %d: got %+v, want %+v", n, got, want)
		}
	}
	identity, err := l.Identity(ctx)
	noError(t, err)
	if identity.Version != 1 || identity.Name != "orders" || identity.Tables["main"] == "" || identity.Keys["source.subscribe"] != "orders" {
		t.Errorf("identity: got %+v", identity)
	}
}

// The ledger of a table names a plan by its hash: anybody can check it with sha256sum.
func TestHashIsTheSHA256OfTheStoredForm(t *testing.T) {
	s := folder(t, "v1")
	plan, err := checkpoint.NewLog(s).ReadPlan(t.Context(), 0)
	noError(t, err)
	if want := sha256Hex(get(t, s, "offsets/0")); plan.Hash != want {
		t.Errorf("got %s, want %s", plan.Hash, want)
	}
	again := goldenPlan(t, 7)
	noError(t, checkpoint.NewLog(s).WritePlan(t.Context(), again))
	if want := sha256Hex(get(t, s, "offsets/7")); again.Hash != want {
		t.Errorf("after writing: got %s, want %s", again.Hash, want)
	}
}
