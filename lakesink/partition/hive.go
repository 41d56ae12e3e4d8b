package partition

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"sluice/columns"
	"sluice/layout"
)

// HiveNull is the name that readers of Hive's folders take for null (ExternalCatalogUtils.DEFAULT_PARTITION_NAME in Spark). As
// in Spark it also stands for an empty text, which a name cannot.
const HiveNull = "__HIVE_DEFAULT_PARTITION__"

// mostName is the longest name of a folder: file systems allow 255 bytes.
const mostName = 240

// HivePath is the folders of a partition as Hive and Spark name them: name=value for each field, escaped as Spark does
// (ExternalCatalogUtils.escapePathName), with the values in Spark's words: 2026-03-04 10:00:00.5, in UTC. A name that is too
// long for a file system is cut and ends in a hash: who needs such a value whole finds it in the manifest.
func (s *Spec) HivePath(key []byte) string {
	var parts []string
	for i, v := range s.Values(key) {
		f := &s.fields[i]
		parts = append(parts, cutName(hiveEscape(f.Name)+"="+hiveValue(f.hive(v)), mostName))
	}
	return strings.Join(parts, "/")
}

// hiveValue is a value in the name of a folder. A text that DuckDB, or some other reader, would take for null as it stands is
// one with its first character escaped.
func hiveValue(value string) string {
	switch {
	case value == "":
		return HiveNull
	case strings.EqualFold(value, "null"), value == HiveNull:
		return fmt.Sprintf("%%%02X", value[0]) + value[1:]
	}
	return hiveEscape(value)
}

// hive is a value in Spark's words; empty for null.
func (f *Field) hive(v Value) string {
	if v.Null {
		return ""
	}
	t := f.Result()
	if f.Transform != layout.Identity && f.Transform != layout.Truncate {
		return f.Human(v)
	}
	switch t.Kind {
	case columns.Timestamp, columns.TimestampTZ:
		day := floorDiv(v.Int, microsOfDay)
		return (&Value{Int: day}).text(columns.Type{Kind: columns.Date}) + time.UnixMicro(v.Int-day*microsOfDay).UTC().Format(" 15:04:05.999999")
	case columns.Time:
		return time.UnixMicro(v.Int).UTC().Format("15:04:05.999999")
	}
	return f.Human(v)
}

// hiveEscape is ExternalCatalogUtils.escapePathName. Three more are escaped, which every reader takes back: zero bytes and what
// is no UTF-8, which stores do not take, and a dot at the end, which some of them drop.
func hiveEscape(text string) string {
	var b strings.Builder
	for i := 0; i < len(text); {
		r, n := utf8.DecodeRuneInString(text[i:])
		switch {
		case r == utf8.RuneError && n == 1, r < 0x20, r == 0x7f, r < utf8.RuneSelf && strings.IndexByte("\"#%'*/:=?\\{[]^", text[i]) >= 0, r == '.' && i == len(text)-1:
			fmt.Fprintf(&b, "%%%02X", text[i])
		default:
			b.WriteString(text[i : i+n])
		}
		i += n
	}
	return b.String()
}
