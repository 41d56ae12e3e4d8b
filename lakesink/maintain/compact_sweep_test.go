package maintain

import (
	"context"
	"os"
	"testing"

	"github.com/apache/iceberg-go/table"

	"sluice/batch"
	"sluice/lakesink/laketest"
)

// damage cuts a file off in its middle.
func damage(t *testing.T, path string) {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, content[:len(content)/2], 0o644); err != nil {
		t.Fatal(err)
	}
}

// Each effect of a compaction on catalog and store goes wrong in each way, while a batch of a query comes before its first commit; the
// table has every row once whatever happens, and a second compaction finishes.
func TestACompactionStruckAnywhereKeepsEveryRow(t *testing.T) {
	t.Parallel()
	modes := []laketest.Mode{laketest.AnswerLost, laketest.Killed}
	if *full {
		modes = laketest.Modes()
	}
	for _, mode := range modes {
		t.Run(mode.String(), func(t *testing.T) {
			s := newNumbers(t, 0)
			for n := 0; ; n++ {
				for range 2 {
					s.addNumber()
				}
				if survived := s.struckAt(n, mode); survived {
					if n < 9 {
						t.Errorf("there were only %d effects", n)
					}
					return
				}
			}
		})
	}
}

func (s *small) struckAt(n int, mode laketest.Mode) (survived bool) {
	s.t.Helper()
	o := CompactOptions{TargetFileBytes: 1 << 30, MinFileBytes: 1 << 29, MinInputFiles: 2, Workers: 1}
	script := laketest.BreakAt(n, mode)
	between, overtaken := laketest.Wrap(s.c, script), false
	between.BeforeCommit = func(table.Identifier) {
		if !overtaken {
			overtaken = true
			s.addNumber()
		}
	}
	_, err := through(between, o)
	if !script.Broke() {
		if err != nil {
			s.t.Fatalf("without a fault: %v", err)
		}
		return true
	}
	s.wantSame()
	if class := batch.ClassOf(err); err != nil && class != batch.Failed && class != batch.UnknownOutcome {
		s.t.Errorf("%s, %s: %v (%v)", script.Broken(), mode, err, class)
	}
	if _, err := Open(s.sink, Options{}).Compact(context.Background(), o); err != nil {
		s.t.Fatalf("after %s, %s: %v", script.Broken(), mode, err)
	}
	s.wantSame()
	if got := len(liveFiles(s.t, s.load())); got != 1 {
		s.t.Errorf("after %s, %s: %d files, want 1", script.Broken(), mode, got)
	}
	return false
}
