package lakesink

import (
	"context"
	"testing"

	"sluice/batch"
	"sluice/lakesink/parquetfile"
)

// begun starts the files of a task and writes a row.
func begun(t *testing.T, s *Iceberg, index int) *Writer {
	t.Helper()
	ctx := context.Background()
	table, err := s.Table(ctx, queryID)
	if err != nil {
		t.Fatal(err)
	}
	task := &batch.Task{Version: batch.FormatVersion, Query: queryID, Index: index, SchemaID: table.SchemaID, SpecID: table.SpecID}
	w, err := s.Write(ctx, task, "attempt", rawSchema())
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Write(ctx, rawRows(0, int64(index), int64(index)+1)); err != nil {
		t.Fatal(err)
	}
	return w
}

func TestTasksInTurnShareTheMemoryOfTheirFiles(t *testing.T) {
	s, _ := newTable(t)
	first := begun(t, s, 0)
	kept := first.files
	for range 2 { // closing again gives nothing back
		if _, err := first.Close(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
	second := begun(t, s, 1)
	if second.files != kept {
		t.Error("the second task has a file writer of its own")
	}
	third := begun(t, s, 2)
	if third.files == kept {
		t.Error("two tasks at once have the same file writer")
	}
	second.Abort()
	third.Abort()
	if len(s.spare.writers) != 0 {
		t.Errorf("got %d spare writers after tasks that were given up, want none", len(s.spare.writers))
	}
}

func TestSparesOfAnAlteredTableAreLetGo(t *testing.T) {
	var spare spareFiles
	fields := []parquetfile.Field{{Name: "v", ID: 1, Type: rawSchema()[1].Type}}
	w, err := spare.take(fields, parquetfile.Options{})
	if err != nil {
		t.Fatal(err)
	}
	spare.put(w)
	fields = []parquetfile.Field{{Name: "v", ID: 2, Type: rawSchema()[1].Type}}
	other, err := spare.take(fields, parquetfile.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if other == w || len(spare.writers) != 0 {
		t.Errorf("got the old writer %v, and %d of them kept", other == w, len(spare.writers))
	}
}
