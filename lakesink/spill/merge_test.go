package spill

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"testing"

	"sluice/columns"
	"sluice/lakesink/rowtest"
)

// memoryFile is a file that a test can look into, and spoil.
type memoryFile struct {
	text   []byte
	closed bool
	room   int // what may be written, 0 for everything
}

var errFull = errors.New("no space left on device")

func (f *memoryFile) Write(b []byte) (int, error) {
	if f.room > 0 && len(f.text)+len(b) > f.room {
		return 0, errFull
	}
	f.text = append(f.text, b...)
	return len(b), nil
}

func (f *memoryFile) ReadAt(b []byte, at int64) (int, error) {
	if f.closed {
		return 0, errors.New("the file is closed")
	}
	n := copy(b, f.text[at:])
	if n < len(b) {
		return n, io.ErrUnexpectedEOF
	}
	return n, nil
}

func (f *memoryFile) Close() error { f.closed = true; return nil }

var numbered = columns.Schema{{Name: "n", Type: columns.Type{Kind: columns.Int64}}, {Name: "text", Type: columns.Type{Kind: columns.String}}}

// row is a row as tests think of it; n says in which order rows came.
type row struct {
	n    int64
	text string
	key  string
}

func batchOf(rows []row) *columns.Batch {
	b := &columns.Batch{Rows: len(rows), Columns: append(columns.Make(numbered), KeyColumn, WeightColumn)}
	for _, r := range rows {
		b.Columns[0].AppendInt64(r.n)
		b.Columns[1].AppendBytes([]byte(r.text))
		b.Columns[2].AppendBytes([]byte(r.key))
		b.Columns[3].AppendInt32(int32(12 + len(r.text)))
	}
	return b
}

func rowsOf(b *columns.Batch) (rows []row) {
	for i := range b.Rows {
		r := row{n: b.Columns[0].Int64s[i], text: string(b.Columns[1].Bytes(i))}
		if len(b.Columns) > 2 {
			r.key = string(b.Columns[2].Bytes(i))
		}
		rows = append(rows, r)
	}
	return rows
}

// runOf writes sorted rows in blocks of random length.
func runOf(t *testing.T, d *Disk, rng *rand.Rand, rows []row) *Run {
	t.Helper()
	r, err := d.NewRun()
	if err != nil {
		t.Fatal(err)
	}
	for len(rows) > 0 {
		n := 1 + rng.IntN(min(len(rows), 40))
		if err := r.Append(batchOf(rows[:n])); err != nil {
			t.Fatal(err)
		}
		rows = rows[n:]
	}
	return r
}

func sortRows(rows []row) []row {
	rows = slices.Clone(rows)
	slices.SortStableFunc(rows, func(a, b row) int { return bytes.Compare([]byte(a.key), []byte(b.key)) })
	return rows
}

// drained are the batches of a merge.
func drained(t *testing.T, m *Merge, width int, weight int64) (batches [][]row, groups []string) {
	t.Helper()
	into := &columns.Batch{Columns: append(columns.Make(numbered), KeyColumn, WeightColumn)[:width]}
	for {
		more, err := m.Next(into, weight)
		if err != nil {
			t.Fatal(err)
		}
		if !more {
			return batches, groups
		}
		for i, f := range numbered {
			if err := rowtest.Sound(&into.Columns[i], &f.Type, into.Rows, f.Name); err != nil {
				t.Fatal(err)
			}
		}
		batches, groups = append(batches, rowsOf(into)), append(groups, string(m.InGroup()))
	}
}

// Any split of rows into runs, and what is still in memory, merges to what a stable sort makes of all of them, in the same batches.
func TestMergedRowsAreThoseOfAStableSortHoweverTheyWereSplit(t *testing.T) {
	for seed := range uint64(60) {
		rng := rand.New(rand.NewPCG(seed, 2))
		var rows []row
		for n := range rng.IntN(1500) {
			key := fmt.Sprintf("%d-customer-%d", rng.IntN(4), rng.IntN(1+rng.IntN(300)))
			rows = append(rows, row{int64(n), string(make([]byte, rng.IntN(30))), key[:rng.IntN(len(key)+1)]})
		}
		want, _ := drained(t, mergeOf(t, rng, rows, 1), 4, 700)
		if all := slices.Concat(want...); !slices.Equal(all, sortRows(rows)) {
			t.Fatalf("seed %d: rows in memory alone are not in order", seed)
		}
		for range 3 {
			got, _ := drained(t, mergeOf(t, rng, rows, 1+rng.IntN(70)), 4, 700)
			if !slices.EqualFunc(got, want, slices.Equal) {
				t.Fatalf("seed %d: got batches %v, want %v", seed, got, want)
			}
		}
		for _, b := range want {
			weight := 0
			for _, r := range b[:len(b)-1] {
				weight += 12 + len(r.text)
			}
			if weight >= 700 {
				t.Fatalf("seed %d: a batch has more than 700 bytes before its last row", seed)
			}
		}
	}
}

// mergeOf splits rows into parts, of which the last one stays in memory.
func mergeOf(t *testing.T, rng *rand.Rand, rows []row, parts int) *Merge {
	t.Helper()
	d := &Disk{Create: func() (File, error) { return &memoryFile{}, nil }}
	var runs []*Run
	for ; parts > 1 && len(rows) > 1; parts-- {
		n := 1 + rng.IntN(min(len(rows)-1, 2*len(rows)/parts+1))
		runs = append(runs, runOf(t, d, rng, sortRows(rows[:n])))
		rows = rows[n:]
	}
	order := make([]int32, len(rows))
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortStableFunc(order, func(a, b int32) int { return bytes.Compare([]byte(rows[a].key), []byte(rows[b].key)) })
	m, err := NewMerge(runs, batchOf(rows), order)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestRowsOfTwoGroupsAreNotHandedOutTogether(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	var rows []row
	for n := range 2000 {
		group := rng.IntN(12)
		rows = append(rows, row{int64(n), "", fmt.Sprintf("%c%s%03d", 'a'+group/5, "xxxxx"[:group/5], rng.IntN(1000))})
	}
	m := mergeOf(t, rng, rows, 9)
	m.Group = func(key []byte) int { return 1 + int(key[0]-'a') } // a, bx, cxx
	batches, groups := drained(t, m, 2, 1<<20)
	if got := slices.Compact(slices.Clone(groups)); !slices.Equal(got, []string{"a", "bx", "cxx"}) || len(batches) != len(groups) {
		t.Errorf("got groups %q", got)
	}
	sorted, at := sortRows(rows), 0
	for i, b := range batches {
		for _, r := range b {
			if want := sorted[at]; r.n != want.n || want.key[:len(groups[i])] != groups[i] {
				t.Fatalf("row %d is number %d in group %q, want %d of %q", at, r.n, groups[i], want.n, want.key)
			}
			at++
		}
	}
	if at != len(rows) {
		t.Errorf("got %d rows of %d", at, len(rows))
	}
}

// A disk that hands out other bytes than it was given must not change a table.
func TestABlockThatTheDiskSpoiledIsNoticed(t *testing.T) {
	file := &memoryFile{}
	d := &Disk{Create: func() (File, error) { return file, nil }}
	r := runOf(t, d, rand.New(rand.NewPCG(1, 1)), []row{{1, "text", "a"}, {2, "text", "b"}})
	for at := range file.text {
		file.text[at] ^= 1
		m, err := NewMerge([]*Run{r}, nil, nil)
		for more := true; err == nil && more; {
			more, err = m.Next(&columns.Batch{Columns: append(columns.Make(numbered), KeyColumn, WeightColumn)}, 100)
		}
		if err == nil {
			t.Fatalf("bit 0 of byte %d of %d was turned around unnoticed", at, len(file.text))
		}
		file.text[at] ^= 1
	}
	if d.Written != int64(len(file.text)) {
		t.Errorf("%d bytes are said to have been written of %d", d.Written, len(file.text))
	}
}

func TestAFailedWriteIsTheCallersToHandle(t *testing.T) {
	d := &Disk{Create: func() (File, error) { return &memoryFile{room: 10}, nil }}
	r, err := d.NewRun()
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Append(batchOf([]row{{1, "a text of more than ten bytes", "key"}})); !errors.Is(err, errFull) {
		t.Errorf("got %v, want %v", err, errFull)
	}
	if d.Written != 0 {
		t.Errorf("%d bytes are said to have been written", d.Written)
	}
}
