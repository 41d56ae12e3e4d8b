package parquetfile

import (
	"bytes"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"

	"sluice/columns"
	"sluice/lakesink/rowtest"
)

// The order is that of unsigned bytes: 0x80 is above 0x7f, in row groups and pages too.
func TestStatisticsOfFixedAndUUIDColumnsAreInTheOrderOfUnsignedBytes(t *testing.T) {
	for _, kind := range []columns.Type{{Kind: columns.Fixed, Width: 16}, {Kind: columns.UUID}} {
		value := func(first byte) any { return append([]byte{first}, bytes.Repeat([]byte{first ^ 1}, 15)...) }
		rows := [][]any{{value(0x80)}, {value(0x01)}, {nil}, {value(0xff)}, {value(0x7f)}, {value(0x00)}}
		data, summary := write(t, []Field{{Name: "v", ID: 1, Type: kind, Source: 0}}, Options{}, rowtest.Build(columns.Schema{{Type: kind}}, rows))
		f, err := parquet.OpenFile(bytes.NewReader(data), int64(len(data)))
		if err != nil {
			t.Fatal(err)
		}
		low, high := value(0x00).([]byte), value(0xff).([]byte)
		if c := summary.Columns[0]; !bytes.Equal(c.Lower, low) || !bytes.Equal(c.Upper, high) || c.LowerCut || c.UpperCut || c.Nulls != 1 {
			t.Errorf("%s: the file has %x to %x and %d nulls", kind.Kind, c.Lower, c.Upper, c.Nulls)
		}
		if s := f.Metadata().RowGroups[0].Columns[0].MetaData.Statistics; !bytes.Equal(s.MinValue, low) || !bytes.Equal(s.MaxValue, high) || s.NullCount != 1 {
			t.Errorf("%s: the row group has %x to %x and %d nulls", kind.Kind, s.MinValue, s.MaxValue, s.NullCount)
		}
		index, err := f.RowGroups()[0].ColumnChunks()[0].ColumnIndex()
		if err != nil {
			t.Fatal(err)
		}
		if lo, hi := index.MinValue(0).ByteArray(), index.MaxValue(0).ByteArray(); !bytes.Equal(lo, low) || !bytes.Equal(hi, high) || index.NullCount(0) != 1 {
			t.Errorf("%s: the page has %x to %x and %d nulls", kind.Kind, lo, hi, index.NullCount(0))
		}
	}
}

func TestAValueOf16MiBUnderTinyRowGroupsIsARowGroupWithBoundsThatHold(t *testing.T) {
	text := columns.Type{Kind: columns.String}
	huge := "m" + strings.Repeat("x", 16<<20)
	rows := [][]any{{"a"}, {huge}, {"z"}, {nil}, {"b"}}
	data, summary := write(t, []Field{{Name: "s", ID: 1, Type: text, Source: 0}}, Options{PageBytes: 256, RowGroupBytes: 64, MemoryBytes: 1 << 20},
		rowtest.Build(columns.Schema{{Type: text}}, rows))
	f, err := parquet.OpenFile(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	of := -1 // the row group of the huge value
	for g, group := range f.Metadata().RowGroups {
		if group.TotalByteSize > 16<<20 {
			of = g
		}
	}
	if of < 0 || len(f.RowGroups()) < 2 {
		t.Fatalf("got %d row groups, none of which has the value alone", len(f.RowGroups()))
	}
	s := f.Metadata().RowGroups[of].Columns[0].MetaData.Statistics
	if len(s.MinValue)+len(s.MaxValue) > 4<<10 {
		t.Errorf("the footer's bounds take %d and %d bytes", len(s.MinValue), len(s.MaxValue))
	}
	index, err := f.RowGroups()[of].ColumnChunks()[0].ColumnIndex()
	if err != nil {
		t.Fatal(err)
	}
	last := index.NumPages() - 1
	if hi := string(index.MaxValue(last).ByteArray()); hi < huge || len(hi) > 64 {
		t.Errorf("the upper bound of the page is %.20q… of %d bytes", hi, len(hi))
	}
	if c := summary.Columns[0]; string(c.Lower) != "a" || string(c.Upper) != "z" || c.Nulls != 1 || c.Values != 5 {
		t.Errorf("the file has %.20q to %.20q, %d nulls of %d", c.Lower, c.Upper, c.Nulls, c.Values)
	}
	got := readArrow(t, data)
	for i := range rows {
		if rowtest.Text(got[i][0]) != rowtest.Text(rows[i][0]) {
			t.Errorf("row %d comes back as %.20q…", i, rowtest.Text(got[i][0]))
		}
	}
}
