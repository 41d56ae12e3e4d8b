//go:build integration && linux

package cmd_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/apache/iceberg-go/catalog"

	"sluice/rig"
)

// Names that records bring are columns to DuckDB under the same names, with filters too, whatever is in them. Two that engines
// without an eye for case take for one are none: their record is a dead letter.
func TestDuckDBFindsTheColumnsThatRecordsBringByTheirNames(t *testing.T) {
	rig.Python(t)
	k := embedded(t, "orders")
	p := lettered(t, k, "a INT").with("--set", "value.onUnknownField=addColumn")
	names := []string{`say "hi"`, "größe", "a b", "日本", "semi;colon", "back`tick", "it's", "select", "x-y", "emoji 🎉", "%41", "1st", "back\\slash", "e\u0301", "Ünder_Score"}
	for i, name := range names {
		quoted := strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(name)
		k.say(t, fmt.Sprintf(`{"a":%d,"%s":%d,"in":{"%s":%d}}`, i, quoted, i+100, quoted, i+200))
	}
	k.say(t, `{"a":-1,"twin":1,"Twin":2}`, `{"a":-2,"İ":1,"i":2}`)
	p.run(t).has("summary", "rows", len(names), "deadLetters", 2, "reasons.unknown", 2)
	p.proves(t, "proved", len(names))
	// scan counts the rows of one question after the other, in one go.
	scan := func(table string, questions ...string) int {
		t.Helper()
		tbl, err := p.catalog(t).LoadTable(t.Context(), catalog.ToIdentifier(table))
		if err != nil {
			t.Fatal(err)
		}
		for i, where := range questions {
			questions[i] = fmt.Sprintf("SELECT 1 FROM iceberg_scan('%s') WHERE %s", strings.TrimPrefix(tbl.MetadataLocation(), "file://"), where)
		}
		return paste(t, "INSTALL iceberg; LOAD iceberg; "+strings.Join(questions, " UNION ALL "))
	}
	var there, elsewhere, null []string
	for i, name := range names {
		quoted := `"` + strings.ReplaceAll(name, `"`, `""`) + `"`
		there = append(there, fmt.Sprintf(`%s = %d and a = %d and "in".%s = %d`, quoted, i+100, i, quoted, i+200))
		elsewhere = append(elsewhere, fmt.Sprintf("(%s > %d or %s < %d)", quoted, i+100, quoted, i+100))
		null = append(null, quoted+" is null")
	}
	for _, c := range []struct {
		questions []string
		want      int
	}{{there, len(names)}, {elsewhere, 0}, {null, len(names) * (len(names) - 1)}} {
		asked := strings.Join(c.questions, "; ")
		if got := scan(tableOfTests, c.questions...); got != c.want {
			t.Errorf("%s: got %d rows, want %d", asked, got, c.want)
		}
	}
	for where, want := range map[string]int{"error_class = 'unknown'": 2, "kafka_value is not null and batch_id = 0": 2, "error like '%differ by case only%'": 2, "kafka_offset = 3": 0} {
		if got := scan("ops.dead", where); got != want {
			t.Errorf("dead letters, %s: got %d, want %d", where, got, want)
		}
	}
}
