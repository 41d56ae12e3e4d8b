package runner_test

import (
	"fmt"
	"strings"
	"testing"

	"sluice/lakesink/laketest"
	"sluice/layout"
)

// sparkLists counts the names in Spark's log.
func (w *filesWorld) sparkLists(t *testing.T) (names []string) {
	t.Helper()
	keys, err := w.books.List(t.Context(), "_spark_metadata/", "")
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range keys {
		names = append(names, strings.TrimPrefix(key, "_spark_metadata/"))
	}
	return names
}

// newSparkWorld keeps Spark's log, and has enough batches for it to be made one file.
func newSparkWorld(t *testing.T) *filesWorld {
	w := newFilesWorld(t)
	w.spark, w.by = true, []layout.Term{{Transform: layout.Identity, Column: "partition"}} // columns that the files leave out
	w.kafka.produce(0, 2)
	w.mutate = oneByOne
	return w
}

// Every effect is struck. The judge holds Spark's log against the manifests, and it has every batch in the end.
func TestSparksLogOfAFolderStruckAnywhereListsWhatCounts(t *testing.T) {
	t.Parallel()
	struck := map[string]bool{}
	for i := 0; ; i++ {
		s := laketest.BreakAt(i, laketest.Modes()[i%len(laketest.Modes())])
		w := newSparkWorld(t)
		met, err := w.fail(t, s)
		if !met {
			if err != nil {
				t.Error(err)
			}
			break
		}
		struck[s.Effects()[i]] = true
		if i%2 == 0 {
			w.arrive()
		}
		if err := w.recovers(t); err != nil {
			t.Errorf("%q: %v", s.Effects()[i], err)
		}
		alone, _ := w.listed(t)
		if names := w.sparkLists(t); len(names) != alone {
			t.Errorf("%q: Spark's log has %v, and there are %d manifests", s.Effects()[i], names, alone)
		}
	}
	for _, effect := range []string{"book spark _sluice/spark.json", "book spark _spark_metadata/0", "book spark _spark_metadata/9.compact"} {
		if !struck[effect] {
			t.Errorf("no run was struck at %s: %v", effect, struck)
		}
	}
}

func TestSparksLogOfAFolderStaysBoundedAndBeginsLate(t *testing.T) {
	t.Parallel()
	w := newFilesWorld(t)
	w.longRun(t, 25)
	w.spark = true
	w.longRun(t, 130)
	if err := w.judge(t.Context()); err != nil {
		t.Error(err)
	}
	names := w.sparkLists(t)
	if len(names) > 125 || strings.Contains(fmt.Sprint(names), " 1 ") {
		t.Errorf("Spark's log has %d names: %v", len(names), names)
	}
	for _, name := range names {
		if !strings.HasSuffix(name, ".compact") {
			continue
		}
		if err := w.books.Delete(t.Context(), "_spark_metadata/"+name); err != nil {
			t.Fatal(err)
		}
	}
	wantNoticed(t, w.judge(t.Context()))
}

func TestAFolderThatSparkIsToldOfHasOneQuery(t *testing.T) {
	t.Parallel()
	w := newSparkWorld(t)
	if err := w.recovers(t); err != nil {
		t.Fatal(err)
	}
	other := newFilesWorld(t)
	other.dir, other.books, other.name, other.kafka.topicID = w.dir, w.books, "other", "topic-2"
	_, err := other.query(t, &laketest.Script{}).Run(t.Context())
	if err == nil || !strings.Contains(err.Error(), "Spark's readers see the rows of query") {
		t.Errorf("got %v", err)
	}
	if err := w.recovers(t); err != nil {
		t.Error(err)
	}
}
