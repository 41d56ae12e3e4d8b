package lakesink

import (
	"fmt"
	"runtime"
	"testing"

	"sluice/batch"
)

// What is known of a file that is finished is kept until the commit, and a batch may have tens of thousands of them: nothing of the
// file's rows, pages or footer may be among it.
func TestAFinishedFileTakesLittleMemory(t *testing.T) {
	const files, most = 400, 1800
	s, _ := spreadTable(t, 4<<20)
	w, err := s.Write(t.Context(), taskFor(load(t, s.catalog)), "a", spreadSchema)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Abort()
	w.finished = make([]batch.DataFile, 0, 2*files)
	var before int64
	for k := range 2 * files { // the first half fills what is used again
		if k == files {
			before = liveBytes()
		}
		partition := fmt.Sprint("p", k)
		rows := spreadRows(k, 1+k%7, func(int) string { return partition }, always(100))
		key := w.spread.spec.AppendKey(nil, rows, 0)
		o := &outFile{w: w, files: w.files.Sibling(), folder: w.folderOf(w.spread.spec, key), values: w.spread.spec.JSON(key)}
		if err := o.add(t.Context(), rows); err != nil {
			t.Fatal(err)
		}
		if err := o.finish(); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.landing.wait(); err != nil {
		t.Fatal(err)
	}
	if each := (liveBytes() - before) / files; each > most || len(w.finished) != 2*files {
		t.Errorf("each of %d files takes %d bytes, want at most %d", len(w.finished), each, most)
	}
	runtime.KeepAlive(w)
}
