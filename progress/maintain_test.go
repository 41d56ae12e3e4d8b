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

func TestMaintainDoesNotOfferToAbandonTheJobsOwnQuery(t *testing.T) {
	of := MaintainTable{Expire: &MaintainExpiry{Snapshots: 1, Kept: 3, Old: 3, Held: []MaintainHeld{{sampleQuery, "orders", 1}, {"8f14e45f-ceea-4c1b-9d2f-2f0a6b1c7e33", "refunds", 1}}}}
	got := maintained(t, false, of)
	if !strings.Contains(got, "1 snapshot stays for this job's own bookkeeping\n") || strings.Contains(got, sampleQuery) || !strings.Contains(got, `--abandoned-query "8f14e45f-ceea-4c1b-9d2f-2f0a6b1c7e33"`) {
		t.Errorf("got\n%s", got)
	}
}

func TestMaintainSaysWhyNoSnapshotGoes(t *testing.T) {
	held := []MaintainHeld{{sampleQuery, "orders", 1}}
	for want, e := range map[string]*MaintainExpiry{
		"2 snapshots, none old enough\n": {Kept: 2, Held: held},
		"2 snapshots, none goes though 2 are old enough: 1 stays for bookkeeping, 1 stays as the head of a branch or tag, or among the newest that are retained\n": {Kept: 2, Old: 2, Held: held},
		"2 snapshots, none goes though 1 is old enough: 1 stays for bookkeeping\n":                                                                                 {Kept: 2, Old: 1, Held: held},
		"1 snapshot, none goes though 1 is old enough: 1 stays as the head of a branch or tag, or among the newest that are retained\n":                            {Kept: 1, Old: 1},
	} {
		if got := maintained(t, false, MaintainTable{Expire: e}); !strings.Contains(got, want) {
			t.Errorf("got\n%s\nwant %q", got, want)
		}
	}
}

func TestMaintainSaysWhatItSkips(t *testing.T) {
	if got := maintained(t, false, MaintainTable{Compact: &MaintainCompact{Skipped: "main has no snapshot"}}); !strings.Contains(got, "compact  skipped: main has no snapshot\n") {
		t.Errorf("got\n%s", got)
	}
	var none strings.Builder
	if err := (&Maintain{Query: "orders"}).WriteText(&none); err != nil || !strings.Contains(none.String(), "no table or folder of dead letters yet") {
		t.Errorf("without a table: got %q, %v", &none, err)
	}
}
