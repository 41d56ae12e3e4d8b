package parquetfile

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"

	"sluice/columns"
	"sluice/lakesink/rowtest"
)

func hashes(rng *rand.Rand, n int) []uint64 {
	all := make([]uint64, n)
	for i := range all {
		all[i] = rng.Uint64()
	}
	return all
}

func filterOf(b Bloom, most int, all []uint64) []byte {
	f := newFilter(&b, format.Int64, most)
	for _, h := range all {
		f.add(h)
	}
	return f.finish()
}

// has asks a filter as the specification of the format does (BloomFilter.md), without any library.
func has(filter []byte, hash uint64) bool {
	salt := [8]uint32{0x47b6137b, 0x44974d91, 0x8824ad5b, 0xa2b7289d, 0x705495c7, 0x2df1424b, 0x9efc4947, 0x5c6bfb31}
	block := filter[32*((hash>>32)*uint64(len(filter)/32)>>32):]
	for i, s := range salt {
		if binary.LittleEndian.Uint32(block[4*i:])&(1<<(uint32(hash)*s>>27)) == 0 {
			return false
		}
	}
	return true
}

// What was added is found, and hardly anything else, in a filter no larger than parquet-java makes for so many values
// (BlockSplitBloomFilter.optimalNumOfBits, rounded up to a power of two).
func TestAFilterHasWhatWasAddedAndLittleElse(t *testing.T) {
	const most = 64 << 10
	rng := rand.New(rand.NewPCG(1, 1))
	for _, c := range []struct {
		n, times int
		fpp      float64
		bytes    int
	}{
		{0, 1, 0.01, 32}, {1, 1, 0.01, 32}, {20, 1, 0.01, 32}, {1000, 1, 0.01, 2048}, {1000, 500, 0.01, 2048}, {1000, 1, 0.1, 1024}, {20_000, 1, 0.01, 32 << 10}, {20_000, 3, 0.0001, 64 << 10},
		{50_000, 1, 0.01, 64 << 10},
	} {
		added := hashes(rng, c.n)
		f := newFilter(&Bloom{FalsePositives: c.fpp}, format.Int64, most)
		for range c.times {
			for _, h := range added {
				f.add(h)
			}
		}
		got := f.finish()
		if len(got) != c.bytes {
			t.Errorf("%d values, %d times, at %v: got %d bytes, want %d", c.n, c.times, c.fpp, len(got), c.bytes)
		}
		for _, h := range added {
			if !has(got, h) {
				t.Fatalf("%d values at %v: one is missing", c.n, c.fpp)
			}
		}
		wrong := 0
		for _, h := range hashes(rng, 20_000) {
			if has(got, h) {
				wrong++
			}
		}
		if rate := float64(wrong) / 20_000; rate > 1.5*c.fpp && c.n*c.times < 50_000 {
			t.Errorf("%d values at %v: %v of others seem to be there", c.n, c.fpp, rate)
		}
		if f.held() > 8*1024 && c.n == 0 {
			t.Errorf("an empty filter holds %d bytes", f.held())
		}
	}
}

// A filter that was folded is the one that would have been made in the smaller size at once.
func TestAFoldedFilterIsThatOfTheSmallerSize(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 2))
	few := hashes(rng, 3000)
	var many []uint64
	for range 10 {
		many = append(many, few...)
	}
	whole := filterOf(Bloom{FalsePositives: 0.01}, 64<<10, many) // more than 8,192 hashes: they are poured before the end
	if direct := filterOf(Bloom{FalsePositives: 0.01}, 64<<10, few); !bytes.Equal(whole, direct) {
		t.Errorf("got %d bytes, want the %d of the same values added once", len(whole), len(direct))
	}
}

// The number of values that somebody expects makes the size, as in parquet-java.
func TestTheExpectedNumberOfValuesMakesTheSize(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 3))
	for expected, want := range map[int64]int{1: 32, 1000: 2 << 10, 100_000: 128 << 10, math.MaxInt64: 1 << 20} {
		if got := filterOf(Bloom{FalsePositives: 0.01, Distinct: expected}, 1<<20, hashes(rng, 200_000)); len(got) != want {
			t.Errorf("%d values expected: got %d bytes, want %d", expected, len(got), want)
		}
	}
	for most, want := range map[int]int{1: 32, 1000: 512, 1 << 17: 1 << 17, 1<<17 - 1: 1 << 16} {
		if got := filterOf(Bloom{FalsePositives: 0.01}, most, hashes(rng, 200_000)); len(got) != want {
			t.Errorf("at most %d bytes: got %d, want %d", most, len(got), want)
		}
	}
}

// bloomFields asks for a filter of every column of values.
func bloomFields(fields []Field) []Field {
	for i := range fields {
		fields[i].Options.Bloom = &Bloom{FalsePositives: 0.01}
		bloomFields(fields[i].Children)
	}
	return fields
}

// checkFilters looks every value up in the filter of its row group, through parquet-go.
func checkFilters(t *testing.T, data []byte) {
	t.Helper()
	f, err := parquet.OpenFile(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	for g, group := range f.RowGroups() {
		for c, chunk := range group.ColumnChunks() {
			m := f.Metadata().RowGroups[g].Columns[c].MetaData
			if filter := chunk.BloomFilter(); (filter == nil) != (m.Type == format.Boolean) || (m.BloomFilterLength > 0) != (filter != nil) {
				t.Errorf("group %d %v: filter %v of %d bytes at %d", g, m.PathInSchema, filter, m.BloomFilterLength, m.BloomFilterOffset)
			}
		}
		rows := group.Rows()
		buffer := make([]parquet.Row, 64)
		for {
			n, err := rows.ReadRows(buffer)
			for _, row := range buffer[:n] {
				for _, v := range row {
					filter := group.ColumnChunks()[v.Column()].BloomFilter()
					if v.IsNull() || filter == nil {
						continue
					}
					if there, err := filter.Check(v); !there || err != nil {
						t.Fatalf("group %d column %d: %v is missing: %v", g, v.Column(), v, err)
					}
				}
			}
			if err != nil {
				break
			}
		}
		rows.Close()
	}
}

func TestEveryKindIsFoundInItsFilter(t *testing.T) {
	schema := everyKind()
	next := 0
	fields := bloomFields(fieldsOf(schema, &next))
	for seed := range uint64(3) {
		rng := rand.New(rand.NewPCG(seed, 1))
		rows := rowtest.RandomRows(rng, schema, 400)
		data, _ := write(t, fields, Options{PageBytes: 4 << 10, RowGroupBytes: 128 << 10}, rowtest.Build(schema, rows))
		checkFilters(t, data)
		checkPages(t, data)
		compareRows(t, readArrow(t, data), rows)
	}
}

// Constant columns are in a dictionary, and in a filter all the same; each row group has what is in it and no more.
func TestAFilterIsOfOneRowGroup(t *testing.T) {
	text := columns.Type{Kind: columns.String}
	fields := bloomFields([]Field{{Name: "s", ID: 1, Type: text, Source: 0}})
	w, err := NewWriter(fields, Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range []*Writer{w, w.Sibling()} {
		var out bytes.Buffer
		if err := w.Begin(&out); err != nil {
			t.Fatal(err)
		}
		for _, value := range []string{"Amsterdam", "Köln", "Oslo"} {
			if _, err := w.Append(&columns.Batch{Rows: 100, Columns: []columns.Array{rowtest.Constant(text, value, 100)}}, 0); err != nil {
				t.Fatal(err)
			}
			if err := w.flushGroup(); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := w.Close(); err != nil {
			t.Fatal(err)
		}
		f, err := parquet.OpenFile(bytes.NewReader(out.Bytes()), int64(out.Len()))
		if err != nil {
			t.Fatal(err)
		}
		for g, want := range []string{"Amsterdam", "Köln", "Oslo"} {
			filter := f.RowGroups()[g].ColumnChunks()[0].BloomFilter()
			for _, value := range []string{"Amsterdam", "Köln", "Oslo"} {
				if got, err := filter.Check(parquet.ValueOf(value)); err != nil || got != (value == want) {
					t.Errorf("group %d has %s: %v, %v", g, value, got, err)
				}
			}
			if filter.Size() != 32 {
				t.Errorf("a filter of one value has %d bytes", filter.Size())
			}
		}
	}
}

// Engines take 0.0 and -0.0 for equal, and all NaN too: a filter that was asked for one must not deny the other.
func TestEqualNumbersAreInAFilterWhateverTheirBits(t *testing.T) {
	double, float := columns.Type{Kind: columns.Float64}, columns.Type{Kind: columns.Float32}
	odd := math.Float64frombits(0xfff8000000000123)
	fields := bloomFields([]Field{{Name: "d", ID: 1, Type: double, Source: 0}, {Name: "f", ID: 2, Type: float, Source: 1}})
	data, _ := write(t, fields, Options{}, rowtest.Build(columns.Schema{{Type: double}, {Type: float}}, [][]any{{0.0, float32(math.Copysign(0, -1))}, {odd, float32(odd)}}))
	f, err := parquet.OpenFile(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range []float64{0, math.Copysign(0, -1), math.Float64frombits(0x7ff8000000000000)} { // the NaN of Java and C
		for c, value := range []parquet.Value{parquet.ValueOf(v), parquet.ValueOf(float32(v))} {
			if got, err := f.RowGroups()[0].ColumnChunks()[c].BloomFilter().Check(value); !got || err != nil {
				t.Errorf("column %d: %v is missing: %v", c, v, err)
			}
		}
	}
	if got, _ := f.RowGroups()[0].ColumnChunks()[0].BloomFilter().Check(parquet.ValueOf(1.0)); got {
		t.Error("1.0 seems to be there")
	}
}

// Filters of many columns, of any size that is asked for, stay within their part of the memory.
func TestFiltersStayWithinTheMemory(t *testing.T) {
	const memory, count = 8 << 20, 6
	long := columns.Type{Kind: columns.Int64}
	var fields []Field
	for i := range count {
		fields = append(fields, Field{Name: fmt.Sprint("c", i), ID: i + 1, Required: true, Type: long, Source: i})
	}
	w, err := NewWriter(bloomFields(fields), Options{MemoryBytes: memory, BloomBytes: 128 << 20, Codec: Uncompressed})
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := w.Begin(&out); err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(4, 4))
	var most int64
	for range 60 {
		b := &columns.Batch{Rows: 2000, Columns: make([]columns.Array, count)}
		for i := range b.Columns {
			values := make([]int64, b.Rows)
			for k := range values {
				values[k] = rng.Int64()
			}
			b.Columns[i] = columns.Array{Kind: columns.Int64, Len: b.Rows, Int64s: values}
		}
		for from := 0; from < b.Rows; {
			if from, err = w.Append(b, from); err != nil {
				t.Fatal(err)
			}
			var held int64
			for _, l := range w.layout.leaves {
				held += l.filter.held()
			}
			most = max(most, held)
		}
	}
	if _, err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if most > memory/8 || most < memory/32 {
		t.Errorf("filters held %d bytes of %d", most, memory)
	}
	checkFilters(t, out.Bytes())
}

func TestFilesWithFiltersAreTheSameEachTime(t *testing.T) {
	schema := everyKind()[:20]
	next := 0
	fields := bloomFields(fieldsOf(schema, &next))
	rows := rowtest.RandomRows(rand.New(rand.NewPCG(5, 5)), schema, 300)
	first, _ := write(t, fields, Options{}, rowtest.Build(schema, rows))
	again, _ := write(t, fields, Options{}, rowtest.Build(schema, rows))
	if !slices.Equal(first, again) {
		t.Error("the same rows made two files that differ")
	}
}
