package progress

import (
	"strings"
	"testing"
)

// maintained is the text of what was done to one table, or would be done.
func maintained(t *testing.T, dry bool, of MaintainTable) string {
	t.Helper()
	var out strings.Builder
	of.Table = "sales.orders"
	if err := (&Maintain{Query: "orders", QueryID: sampleQuery, DryRun: dry, Tables: []MaintainTable{of}}).WriteText(&out); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestADryRunEstimatesWhatIsNotWritten(t *testing.T) {
	of := MaintainTable{
		Compact:   &MaintainCompact{In: MaintainCount{10, 7_549_747}, Out: MaintainCount{2, 7_549_747}, Groups: 2},
		Manifests: &MaintainManifests{Rewritten: MaintainCount{10, 20_480}, Written: MaintainCount{1, 20_480}},
	}
	for dry, want := range map[bool][]string{
		true:  {"10 files (7.2 MiB) would become 2 files (about 7.2 MiB)", "10 manifests (20.0 KiB) would become 1 manifest (about 20.0 KiB)"},
		false: {"10 files (7.2 MiB) became 2 files (7.2 MiB)", "10 manifests (20.0 KiB) became 1 manifest (20.0 KiB)"},
	} {
		for _, want := range want {
			if got := maintained(t, dry, of); !strings.Contains(got, want) {
				t.Errorf("dry %t: got\n%s\nwant %q", dry, got, want)
			}
		}
	}
}
