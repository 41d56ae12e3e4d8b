package partition

import (
	"math/big"
	"strings"
	"testing"

	"sluice/columns"
	"sluice/lakesink/rowtest"
	"sluice/layout"
)

// What ExternalCatalogUtilsSuite of Spark expects of names, and Spark's casts to text of values
// (https://issues.apache.org/jira/browse/SPARK-41982 for dates, https://issues.apache.org/jira/browse/SPARK-19887 for empty texts).
func TestFoldersAreNamedAsSparkNamesThem(t *testing.T) {
	for _, c := range []struct {
		field Field
		value any
		want  string
	}{
		{Field{Source: textType}, "a", "a"}, {Field{Source: textType}, nil, HiveNull}, {Field{Source: textType}, "", HiveNull},
		{Field{Source: textType}, "a b+c&d", "a b+c&d"}, {Field{Source: textType}, "Köln/日本", "Köln%2F日本"}, {Field{Source: textType}, "100%", "100%25"},
		{Field{Source: textType}, "\x01\n\t\x1f\"#%'*/:=?\\\x7f{[]^", "%01%0A%09%1F%22%23%25%27%2A%2F%3A%3D%3F%5C%7F%7B%5B%5D%5E"},
		{Field{Source: textType}, "}<>|~!$(),;@`", "}<>|~!$(),;@`"}, {Field{Source: textType}, "007", "007"},
		{Field{Source: textType}, "NULL", "%4EULL"}, {Field{Source: textType}, HiveNull, "%5F_HIVE_DEFAULT_PARTITION__"}, {Field{Source: textType}, "..", ".%2E"}, {Field{Source: textType}, "a.b", "a.b"}, {Field{Source: textType}, "a\x00b", "a%00b"}, {Field{Source: textType}, "a\xffb", "a%FFb"},
		{Field{Source: boolType}, true, "true"}, {Field{Source: intType}, int32(-7), "-7"}, {Field{Source: longType}, int64(1 << 53), "9007199254740992"},
		{Field{Source: dateType}, int32(20516), "2026-03-04"}, {Field{Source: decimalOf(9, 2)}, big.NewInt(-5), "-0.05"}, {Field{Source: doubleType}, 1e10, "1.0E10"},
		{Field{Source: plainTime}, micro(t, "2026-03-04T10:12:55.038194Z"), "2026-03-04 10%3A12%3A55.038194"},
		{Field{Source: zonedTime}, micro(t, "1969-12-31T23:00:00.5Z"), "1969-12-31 23%3A00%3A00.5"}, {Field{Source: zonedTime}, micro(t, "2026-03-04T00:00:00Z"), "2026-03-04 00%3A00%3A00"},
		{Field{Source: timeType}, int64(3723000000), "01%3A02%3A03"},
		{Field{Transform: layout.Day, Source: zonedTime}, micro(t, "1969-12-31T23:12:55Z"), "1969-12-31"}, {Field{Transform: layout.Hour, Source: zonedTime}, micro(t, "2026-03-04T10:12:55Z"), "2026-03-04-10"},
		{Field{Transform: layout.Month, Source: dateType}, int32(20516), "2026-03"}, {Field{Transform: layout.Year, Source: dateType}, nil, HiveNull},
		{Field{Transform: layout.Bucket, Width: 16, Source: intType}, int32(-1), "8"}, {Field{Transform: layout.Truncate, Width: 2, Source: textType}, "日本語", "日本"},
	} {
		f := c.field
		if f.Transform == "" {
			f.Transform = layout.Identity
		}
		f.Name, f.From, f.Path = "the=p", f.Source, []int{0}
		s, err := NewSpec([]Field{f, f})
		if err != nil {
			t.Fatal(err)
		}
		rows := &columns.Batch{Rows: 1, Columns: []columns.Array{rowtest.Array(f.Source, []any{c.value})}}
		want := "the%3Dp=" + c.want
		if got := s.HivePath(s.AppendKey(nil, rows, 0)); got != want+"/"+want {
			t.Errorf("%s of %q: got %s, want %s twice", f.Transform, c.value, got, want)
		}
	}
}

func TestALongValueMakesAFolderThatAFileSystemTakes(t *testing.T) {
	s, err := NewSpec([]Field{{Name: "p", Transform: layout.Identity, Source: textType, From: textType, Path: []int{0}}})
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, long := range []string{strings.Repeat("日", 300), strings.Repeat("日", 301), "x" + strings.Repeat("日", 300), strings.Repeat("/", 300), "x" + strings.Repeat("/", 300), "xy" + strings.Repeat("/", 300)} {
		rows := &columns.Batch{Rows: 1, Columns: []columns.Array{rowtest.Array(textType, []any{long})}}
		got := s.HivePath(s.AppendKey(nil, rows, 0))
		if begin, _, _ := strings.Cut(got, "~"); len(got) > mostName || seen[got] || strings.ToValidUTF8(got, "") != got || len(strings.TrimRight(begin, "2F"))%3 != 0 && strings.HasPrefix(long, "/") {
			t.Errorf("got %s for %.10s…", got, long)
		}
		seen[got] = true
	}
}
