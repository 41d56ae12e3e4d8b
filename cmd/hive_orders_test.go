//go:build linux && (integration || interop)

package cmd_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"
)

// oddTexts are values that names of folders escape, or that readers would take for something else.
var oddTexts = []any{"a/b", "a=b", "100%", "a b+c", "Köln", "日本", "..", "007", "2026-03-04", "it's", "a:b?c*d#e", "[x]^{y}\\", "null", "NULL", "", nil}

// orders of all odd texts, twice.
func oddOrders(t testing.TB, topic string) (records []*kgo.Record, want [][]string) {
	t.Helper()
	for i := range 2 * len(oddTexts) {
		text := oddTexts[i%len(oddTexts)]
		value, err := json.Marshal(map[string]any{"text": text, "id": i % 4, "day": fmt.Sprintf("2026-03-0%d", 1+i%3)})
		if err != nil {
			t.Fatal(err)
		}
		records = append(records, &kgo.Record{Topic: topic, Value: value})
		shown := fmt.Sprint(text)
		if text == nil || text == "" { // the name of a folder cannot tell them apart
			shown = "∅"
		}
		want = append(want, []string{shown, fmt.Sprintf("2026-03-0%d", 1+i%3), fmt.Sprint(i % 4), fmt.Sprint(i)})
	}
	slices.SortFunc(want, slices.Compare)
	return records, want
}

const oddSchema = "text STRING, id INT, day DATE"
