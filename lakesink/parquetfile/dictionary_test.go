package parquetfile

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"

	"sluice/columns"
	"sluice/lakesink/rowtest"
)

func TestADictionaryNumbersValuesInTheOrderInWhichTheyCome(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	d, want := newDictionary(false), map[string]int32{}
	for chunk := range 3 {
		for range 20_000 {
			value := fmt.Sprint(rng.IntN(3000*(chunk+1)), "and as much more as makes it long")[:1+rng.IntN(30)]
			n, known := want[value]
			if !known {
				n = int32(len(want))
				want[value] = n
			}
			if got, fresh := d.index([]byte(value)); got != n || fresh == known {
				t.Fatalf("%q: got %d, new %v; want %d, new %v", value, got, fresh, n, !known)
			}
			if got := d.value(n); string(got) != value {
				t.Fatalf("number %d: got %q, want %q", n, got, value)
			}
		}
		if d.count() != len(want) {
			t.Errorf("got %d values, want %d", d.count(), len(want))
		}
		d.reset()
		clear(want)
	}
}

// words are rows of one text column: of so many different ones, in a random order, or all different.
func words(rows, distinct int) [][]any {
	rng := rand.New(rand.NewPCG(2, 2))
	all := make([][]any, rows)
	for i := range all {
		n := i
		if distinct > 0 {
			n = rng.IntN(distinct)
		}
		all[i] = []any{fmt.Sprintf("word number %d", n)}
		if i%7 == 3 {
			all[i] = []any{nil}
		}
	}
	return all
}

// encodings are those of the data pages of the only column, in one row group.
func encodings(t *testing.T, data []byte) []format.Encoding {
	t.Helper()
	f, err := parquet.OpenFile(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	var all []format.Encoding
	for _, s := range f.Metadata().RowGroups[0].Columns[0].MetaData.EncodingStats {
		if s.PageType == format.DataPage {
			all = append(all, s.Encoding)
		}
	}
	slices.Sort(all)
	return all
}

func TestColumnsWhoseValuesRepeatGetADictionaryAndOthersDoNot(t *testing.T) {
	text := columns.Type{Kind: columns.String}
	schema, fields := columns.Schema{{Type: text}}, []Field{{Name: "s", ID: 1, Type: text, Source: 0}}
	plainly := []Field{{Name: "s", ID: 1, Type: text, Source: 0, Options: ColumnOptions{NoDictionary: true}}}
	for _, c := range []struct {
		rows, distinct int
		want           []format.Encoding
	}{
		{12, 3, []format.Encoding{format.RLEDictionary}},
		{12, 0, []format.Encoding{format.Plain}},
		{5000, 1, []format.Encoding{format.RLEDictionary}},
		{5000, 700, []format.Encoding{format.RLEDictionary}},
		{5000, 4000, []format.Encoding{format.Plain}}, // most of them are different
		{5000, 0, []format.Encoding{format.Plain}},
		{90_000, 900, []format.Encoding{format.RLEDictionary}},
	} {
		rows := words(c.rows, c.distinct)
		got, _ := write(t, fields, Options{}, rowtest.Build(schema, rows))
		if e := encodings(t, got); !slices.Equal(e, c.want) {
			t.Errorf("%d rows of %d texts: pages are encoded as %v, want %v", c.rows, c.distinct, e, c.want)
		}
		compareRows(t, readArrow(t, got), rows)
		checkPages(t, got)
		plain, _ := write(t, plainly, Options{}, rowtest.Build(schema, rows))
		switch saved := len(plain) - len(got); {
		case c.want[0] == format.Plain && !bytes.Equal(plain, got):
			t.Errorf("%d rows of %d texts: a dictionary that was undone leaves another file than none", c.rows, c.distinct)
		case c.want[0] != format.Plain && c.distinct > 1 && c.rows > 1000 && saved <= 0:
			t.Errorf("%d rows of %d texts: the dictionary costs %d bytes", c.rows, c.distinct, -saved)
		}
	}
}

// A dictionary that grows beyond its bound ends, and so does one that a huge record comes to: what was numbered stays so.
func TestADictionaryEndsWhereValuesBecomeMany(t *testing.T) {
	text := columns.Type{Kind: columns.String}
	schema, fields := columns.Schema{{Type: text}}, []Field{{Name: "s", ID: 1, Type: text, Source: 0}}
	rows := words(4000, 50)
	many := slices.Concat(rows, words(9000, 0))
	huge := slices.Concat(rows, [][]any{{string(bytes.Repeat([]byte("0123456789"), 100_000))}}, rows)
	for name, all := range map[string][][]any{"many": many, "huge": huge} {
		data, _ := write(t, fields, Options{}, rowtest.Build(schema, all))
		if e := encodings(t, data); !slices.Equal(slices.Compact(e), []format.Encoding{format.Plain, format.RLEDictionary}) {
			t.Errorf("%s: pages are encoded as %v, want both kinds", name, e)
		}
		compareRows(t, readArrow(t, data), all)
		checkPages(t, data)
	}
	w, err := NewWriter(fields, Options{})
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := w.Begin(&out); err != nil {
		t.Fatal(err)
	}
	b := rowtest.Build(schema, huge[4000:4001])
	if _, err := w.Append(b, 0); err != nil {
		t.Fatal(err)
	}
	if l := w.layout.leaves[0]; l.dict != nil || cap(l.scratch) > 1<<16 {
		t.Errorf("a record of a megabyte leaves a dictionary %v and %d bytes of scratch", l.dict != nil, cap(l.scratch))
	}
}
