package files

import (
	"fmt"
	"testing"

	"sluice/batch"
)

// Every manifest that must stand alone is missed when it is gone, whatever gaps the numbers have, and none that is in a range.
func TestAManifestThatIsGoneFromAmongOthersIsMissed(t *testing.T) {
	m := newMemory()
	f := opened(t, m, func(o *Options) { o.DeadLetters = true })
	numbers := []int64{}
	for n := int64(0); n < 420; n += 1 + n%3 {
		numbers = append(numbers, n)
		c := offered(n, fmt.Sprint("plan ", n))
		c.DeadLetters = &batch.Letters{}
		applied, err := f.Commit(t.Context(), c)
		if err == nil {
			err = f.Maintain(t.Context(), applied)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	newest, ranged := numbers[len(numbers)-1], 0
	for _, n := range numbers[:len(numbers)-1] {
		text, alone := m.objects[manifestKey(query, n)]
		if !alone {
			ranged++
			continue
		}
		delete(m.objects, manifestKey(query, n))
		table, err := f.Table(t.Context(), query)
		if err != nil || table.Applied.Batch != newest {
			t.Fatal(table, err)
		}
		wantClass(t, table.Applied.Broken, batch.Inconsistent, fmt.Sprintf("the manifest of batch %d of query %s is gone", n, query))
		m.objects[manifestKey(query, n)] = text
	}
	if table, err := f.Table(t.Context(), query); err != nil || table.Applied.Broken != nil || ranged < 100 {
		t.Errorf("got %v, %v with %d manifests in ranges", table.Applied.Broken, err, ranged)
	}
	for n := newest; n > 310; n-- { // back to before the ranges were made
		delete(m.objects, manifestKey(query, n))
	}
	if table, err := f.Table(t.Context(), query); err != nil || table.Applied.Broken != nil || table.Applied.Batch > 310 || table.Applied.Batch < 300 {
		t.Errorf("got %v, %v", table.Applied, err)
	}
}

// A range that would be too large does without what is known of columns, and one that would be even then is not made.
func TestARangeOfVeryManyFilesIsLean(t *testing.T) {
	m := newMemory()
	f := opened(t, m, nil)
	commit(t, f, 0)
	newest, err := f.manifest(t.Context(), query, 0)
	if err != nil {
		t.Fatal(err)
	}
	bounds := map[int][]byte{1: make([]byte, 20_000)}
	for range 1000 {
		newest.Files = append(newest.Files, batch.DataFile{Path: "part", Bytes: 9, Records: 1, LowerBounds: bounds})
	}
	text, err := f.gather(t.Context(), newest, 0)
	if err != nil || len(text) > 1<<20 {
		t.Fatalf("got %d bytes, %v", len(text), err)
	}
	all, err := parseRange(text, query, 0)
	if err != nil || len(all) != 1 || len(all[0].Files) != 1000 || all[0].Files[7].LowerBounds != nil || all[0].Files[7].Bytes != 9 || newest.Files[7].LowerBounds == nil {
		t.Errorf("got %d manifests, %v", len(all), err)
	}
}
