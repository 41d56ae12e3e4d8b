package verify_test

import (
	"slices"
	"testing"

	"sluice/verify"
)

// balanced checks that a report accounts for every row, where Kafka was not asked.
func balanced(t testing.TB, r *verify.Report) {
	t.Helper()
	for _, p := range r.Partitions {
		left, right := p.Rows+p.DeletedByOthers+p.Missing+p.Unaccounted, p.Expected+p.Duplicates+p.Unexpected+p.Unattributed
		if p.Kafka == nil && left != right && !hasLimit(r, verify.RowsUnread) {
			t.Errorf("got a line of %s-%d that does not add up, %d and %d: %+v", p.Topic, p.Partition, left, right, p)
		}
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func wantOK(t testing.TB, r *verify.Report) {
	t.Helper()
	if !r.OK || len(r.Problems) > 0 {
		t.Fatalf("got problems %v, want none", r.Problems)
	}
}

func wantVerdict(t testing.TB, r *verify.Report, want verify.Verdict) {
	t.Helper()
	if r.Verdict != want {
		t.Fatalf("got verdict %s, want %s; problems %v, limits %v", r.Verdict, want, r.Problems, r.CannotProve)
	}
}

// wantProblem returns the first problem of a kind.
func wantProblem(t testing.TB, r *verify.Report, kind verify.Kind) verify.Problem {
	t.Helper()
	if r.OK || r.Verdict != verify.Broken {
		t.Errorf("got ok %v and verdict %s, want a broken table", r.OK, r.Verdict)
	}
	for _, p := range r.Problems {
		if p.Kind == kind {
			if p.What == "" || p.Evidence == "" || p.Todo == "" {
				t.Errorf("got a problem without what, evidence or todo: %+v", p)
			}
			return p
		}
	}
	t.Fatalf("got problems %v, want one of kind %s", r.Problems, kind)
	return verify.Problem{}
}

func wantOnly(t testing.TB, r *verify.Report, kinds ...verify.Kind) {
	t.Helper()
	for _, p := range r.Problems {
		if !slices.Contains(kinds, p.Kind) {
			t.Errorf("got problem %s: %s, want only %v", p.Kind, p, kinds)
		}
	}
}

func hasLimit(r *verify.Report, kind verify.Kind) bool {
	return slices.ContainsFunc(r.CannotProve, func(l verify.Limit) bool { return l.Kind == kind })
}

func wantLimit(t testing.TB, r *verify.Report, kind verify.Kind) verify.Limit {
	t.Helper()
	i := slices.IndexFunc(r.CannotProve, func(l verify.Limit) bool { return l.Kind == kind })
	if i < 0 {
		t.Fatalf("got limits %v, want one of kind %s", r.CannotProve, kind)
	}
	return r.CannotProve[i]
}
