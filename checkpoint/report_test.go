package checkpoint_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/uuid"

	"sluice/checkpoint"
	"sluice/objectstore"
)

func TestRunsAreReadNewestFirst(t *testing.T) {
	l, ctx := checkpoint.NewLog(objectstore.NewMemory("m")), t.Context()
	for i := range 5 {
		id, err := uuid.NewV7()
		noError(t, err)
		noError(t, l.WriteRun(ctx, id.String(), []byte("started")))
		noError(t, l.WriteRun(ctx, id.String(), fmt.Append(nil, i)))
	}
	noError(t, l.WriteRun(ctx, "ffffffff-ffff-4fff-8fff-ffffffffffff", []byte("an id without time")))
	reports, err := l.Runs(ctx, 3)
	if got := fmt.Sprintf("%s", reports); err != nil || got != "[4 3 2]" {
		t.Errorf("got %s, %v, want [4 3 2]", got, err)
	}
}

func TestOldRunsAreCleared(t *testing.T) {
	s := objectstore.NewMemory("m")
	l, ctx := checkpoint.NewLog(s), t.Context()
	var newest string
	for range checkpoint.KeptRuns + 200 {
		id, err := uuid.NewV7()
		noError(t, err)
		newest = id.String()
		noError(t, l.WriteRun(ctx, newest, []byte("{}")))
	}
	kept := list(t, s, "runs/")
	if len(kept) < checkpoint.KeptRuns || len(kept) > checkpoint.KeptRuns+150 {
		t.Errorf("got %d, want %d and a few that are not yet cleared", len(kept), checkpoint.KeptRuns)
	}
	if !slices.Contains(kept, "runs/"+newest+".json") {
		t.Error("the newest run was cleared")
	}
}

func TestARunIDCannotLeaveItsFolder(t *testing.T) {
	l := checkpoint.NewLog(objectstore.NewMemory("m"))
	for _, id := range []string{"../metadata", "", "a//b", "x\n"} {
		if err := l.WriteRun(t.Context(), id, []byte("{}")); err == nil && id != "" {
			t.Errorf("%q was accepted", id)
		}
	}
}
