package cmd

import (
	"fmt"
	"io"
	"maps"
	"strconv"
	"strings"

	"sluice/decode"
	"sluice/decode/ddl"
	"sluice/decode/malformed"
	"sluice/progress"
)

// mostRemarks bounds what is said of one kind; the rest is counted.
const mostRemarks = 25

// headings say what remarks of a kind are about, in the order in which they are shown.
var headings = [][2]string{
	{"left out", "no column:"},
	{"kept as text", "STRING with the format json, for values that have no column of their own kind; without the option below such records are malformed:"},
	{"taken for", "guessed, and to be corrected if it is wrong:"},
	{"might be", "may be something else:"},
	{"mind the numbers", "numbers:"},
	{"seldom there", "in few records:"},
}

// writeRemarks says what to know of a schema that was inferred.
func writeRemarks(w io.Writer, s *sample, found *decode.Inferred) error {
	var b strings.Builder
	records := "record"
	if n := int64(len(s.values)); n > 1 {
		records = progress.Plural(n, "record")
	}
	fmt.Fprintf(&b, "sampled the %s %s of %s: %s\n", s.which, records, s.from, outcomeOf(found))
	writeMisfits(&b, "no records of JSON", found.NoRecords)
	writeMisfits(&b, "without a row in this schema", found.Misfits)
	for _, h := range headings {
		var lines []string
		for _, r := range found.Remarks {
			if string(r.About) == h[0] {
				lines = append(lines, strings.TrimPrefix(visible(r.Path)+": "+r.Text, ": ")) // the record itself has no path
			}
		}
		writeList(&b, h[1], lines)
	}
	if _, err := io.WriteString(w, b.String()); err != nil {
		return err
	}
	return writeFormats(w, found.Formats)
}

// outcomeOf says what became of the sample.
func outcomeOf(found *decode.Inferred) string {
	parts := []string{fmt.Sprintf("%s in the schema", progress.Plural(int64(found.Records-len(found.Misfits)), "row"))}
	if found.DDL == "" {
		parts = []string{"no schema"}
	}
	if found.Tombstones > 0 {
		note := progress.Plural(int64(found.Tombstones), "tombstone")
		for _, f := range found.Columns {
			if f.Required {
				note += " (with NOT NULL in the schema, value.onTombstone has to be drop)"
				break
			}
		}
		parts = append(parts, note)
	}
	if n := len(found.NoRecords) + len(found.Misfits); n > 0 {
		parts = append(parts, fmt.Sprintf("%s malformed", progress.Plural(int64(n), "record")))
	}
	return strings.Join(parts, ", ")
}

// summed sums values up that are no rows, by reason and by what they look like, with the first of each.
func summed(misfits []decode.Misfit) []progress.SchemaMisfit {
	type class struct {
		reason malformed.Reason
		looks  string
	}
	sums, at := []progress.SchemaMisfit{}, map[class]int{}
	for _, m := range misfits {
		c := class{m.Why.Reason, m.Looks}
		i, known := at[c]
		if !known {
			i = len(sums)
			at[c], sums = i, append(sums, progress.SchemaMisfit{Reason: string(m.Why.Reason), Looks: m.Looks, Place: m.Place, Error: m.Why.Error()})
		}
		sums[i].Count++
	}
	return sums
}

func writeMisfits(b *strings.Builder, what string, misfits []decode.Misfit) {
	var lines []string
	for _, sum := range summed(misfits) {
		line := fmt.Sprintf("%s, first in %s: %s", progress.Plural(sum.Count, "value"), sum.Place, sum.Error)
		if sum.Looks != "" {
			line += "; it looks like " + sum.Looks
		}
		lines = append(lines, line)
	}
	writeList(b, what+":", lines)
}

// shownSchema is a schema that was inferred, with all that is known of it.
func shownSchema(s *sample, found *decode.Inferred) *progress.Schema {
	shown := &progress.Schema{From: s.from, Which: s.which, Sampled: int64(len(s.values)), Tombstones: int64(found.Tombstones), Schema: found.DDL,
		Columns: []progress.PlanColumn{}, ColumnFormats: map[string]string{}, Remarks: []progress.SchemaRemark{}, Misfits: append(summed(found.NoRecords), summed(found.Misfits)...)}
	if found.DDL != "" {
		shown.Rows = int64(found.Records - len(found.Misfits))
	}
	for _, f := range found.Columns {
		shown.Columns = append(shown.Columns, progress.PlanColumn{Name: f.Name, SQLType: ddl.FormatType(f.Type), Required: f.Required})
	}
	maps.Copy(shown.ColumnFormats, found.Formats)
	for _, r := range found.Remarks {
		shown.Remarks = append(shown.Remarks, progress.SchemaRemark{About: string(r.About), Path: r.Path, Text: r.Text})
	}
	return shown
}

func writeList(b *strings.Builder, heading string, lines []string) {
	if len(lines) == 0 {
		return
	}
	b.WriteString(heading + "\n")
	for i, line := range lines {
		if i == mostRemarks {
			fmt.Fprintf(b, "  … and %d more\n", len(lines)-i)
			break
		}
		b.WriteString("  " + line + "\n")
	}
}

// visible is a path as a terminal may show it.
func visible(path string) string {
	if quoted := strconv.Quote(path); quoted[1:len(quoted)-1] != path {
		return quoted
	}
	return path
}
