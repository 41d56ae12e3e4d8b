package runner_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/deprecated"

	"sluice/objectstore"
	"sluice/offsets"
)

// sparkRow is a row as Spark's source of Kafka has it, in the form that Spark writes by default.
type sparkRow struct {
	Key           []byte           `parquet:"key,optional"`
	Value         []byte           `parquet:"value,optional"`
	Topic         string           `parquet:"topic,optional"`
	Partition     *int32           `parquet:"partition,optional"`
	Offset        *int64           `parquet:"offset,optional"`
	Timestamp     deprecated.Int96 `parquet:"timestamp"`
	TimestampType *int32           `parquet:"timestampType,optional"`
}

// The steps of a batch of Spark's, for where its process ends.
const (
	afterPlan = iota
	afterFiles
	afterLog
	afterAll
)

// sparksTurn is Spark on the same checkpoint and in the same folder: some batches, of which the last one ends after a step. It goes
// by checkpoint and log as Spark does, and knows nothing of manifests.
func (w *filesWorld) sparksTurn(t *testing.T, batches, end int) {
	t.Helper()
	if _, _, err := w.store.Get(t.Context(), "metadata"); errors.Is(err, objectstore.ErrNotFound) {
		w.put(t, w.store, "metadata", fmt.Sprintf(`{"id":%q}`, uuid.NewString()))
		w.put(t, w.store, "sources/0/0", "\x00v1\n"+spoken(w.starts()))
	}
	for i := range batches {
		last, marked := newestIn(t, w.store, "offsets/"), newestIn(t, w.store, "commits/")
		n := max(last, marked+1)
		from := w.starts()
		if n > 0 {
			from = w.planned(t, n-1)
		}
		until := w.further(from)
		if n > last {
			if maps.Equal(from, until) {
				return
			}
			w.put(t, w.store, fmt.Sprint("offsets/", n), "v1\n{\"batchWatermarkMs\":0,\"batchTimestampMs\":1,\"conf\":{}}\n"+spoken(until))
		}
		until = w.planned(t, n)
		stop := afterAll
		if i == batches-1 {
			stop = end
		}
		if w.sparksBatch(t, n, from, until, stop); stop == afterAll {
			w.put(t, w.store, fmt.Sprint("commits/", n), "v1\n{\"nextBatchWatermarkMs\":0}")
		}
	}
}

// sparksBatch is the sink's part: a file, and the log of the batch, unless there is one.
func (w *filesWorld) sparksBatch(t *testing.T, n int64, from, until offsets.Offsets, stop int) {
	t.Helper()
	if stop == afterPlan || newestIn(t, w.books, "_spark_metadata/") >= n {
		return
	}
	log := "v1"
	if n%10 == 9 {
		for before := max(0, n-10); before < n; before++ {
			name := fmt.Sprint("_spark_metadata/", before)
			if before%10 == 9 {
				name += ".compact"
			}
			text, _, err := w.books.Get(t.Context(), name)
			if err != nil {
				t.Fatal(err)
			}
			log += strings.TrimPrefix(string(text), "v1")
		}
	}
	var rows []sparkRow
	for _, tp := range until.Partitions() {
		for _, offset := range w.kafka.records[tp.Partition] {
			if from[tp] <= offset && offset < until[tp] {
				rows = append(rows, sparkRow{Topic: "t", Partition: &tp.Partition, Offset: &offset, Timestamp: deprecated.Int96{0, 0, 2_460_000}, TimestampType: new(int32)})
			}
		}
	}
	if len(rows) > 0 {
		log += w.sparksFile(t, rows)
	}
	if stop == afterFiles {
		return
	}
	name := fmt.Sprint("_spark_metadata/", n)
	if n%10 == 9 {
		name += ".compact"
	}
	w.put(t, w.books, name, log)
}

// sparksFile writes a file and returns its line in the log.
func (w *filesWorld) sparksFile(t *testing.T, rows []sparkRow) string {
	t.Helper()
	var text bytes.Buffer
	out := parquet.NewGenericWriter[sparkRow](&text, parquet.Compression(&parquet.Snappy))
	if _, err := out.Write(rows); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(w.dir, "part-00000-"+uuid.NewString()+"-c000.snappy.parquet")
	if err := errors.Join(out.Close(), os.WriteFile(path, text.Bytes(), 0o644)); err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("\n"+`{"path":"file://%s","size":%d,"isDir":false,"modificationTime":1,"blockReplication":1,"blockSize":1,"action":"add"}`, path, text.Len())
}

func (w *filesWorld) put(t *testing.T, store objectstore.Store, key, text string) {
	t.Helper()
	if _, err := store.PutIfAbsent(t.Context(), key, []byte(text)); err != nil {
		t.Fatal(err)
	}
}

// newestIn is the largest number among the names in a folder, -1 for none.
func newestIn(t *testing.T, store objectstore.Store, folder string) int64 {
	t.Helper()
	keys, err := store.List(t.Context(), folder, "")
	if err != nil {
		t.Fatal(err)
	}
	newest := int64(-1)
	for _, key := range keys {
		if n, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimPrefix(key, folder), ".compact"), 10, 64); err == nil {
			newest = max(newest, n)
		}
	}
	return newest
}

func (w *filesWorld) starts() offsets.Offsets {
	starts := offsets.Offsets{}
	for p := range w.kafka.end {
		starts[offsets.TopicPartition{Topic: "t", Partition: p}] = 0
	}
	return starts
}

// planned is where the plan of a batch ends, with partitions that came later.
func (w *filesWorld) planned(t *testing.T, n int64) offsets.Offsets {
	t.Helper()
	text, _, err := w.store.Get(t.Context(), fmt.Sprint("offsets/", n))
	if err != nil {
		t.Fatal(err)
	}
	var ends map[string]map[string]int64
	if err := json.Unmarshal(text[bytes.LastIndexByte(text, '\n')+1:], &ends); err != nil {
		t.Fatal(err)
	}
	at := w.starts()
	for p, end := range ends["t"] {
		number, _ := strconv.Atoi(p)
		at[offsets.TopicPartition{Topic: "t", Partition: int32(number)}] = end
	}
	return at
}

// further is two offsets more of each partition, as far as there are some.
func (w *filesWorld) further(from offsets.Offsets) offsets.Offsets {
	until := offsets.Offsets{}
	for tp, at := range from {
		until[tp] = min(at+2, w.kafka.end[tp.Partition])
	}
	return until
}

func spoken(at offsets.Offsets) string {
	ends := map[string]int64{}
	for tp, offset := range at {
		ends[fmt.Sprint(tp.Partition)] = offset
	}
	text, _ := json.Marshal(map[string]any{"t": ends})
	return string(text)
}
