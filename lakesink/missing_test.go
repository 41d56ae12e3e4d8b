package lakesink

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sluice/batch"
)

// cron would run into it for ever: it is for a person, who must know which file.
func TestAManifestThatWasDeletedIsForAHuman(t *testing.T) {
	s, c := newTable(t)
	mustApply(t, s, queryID, planN(0))
	list := localPath(load(t, c).CurrentSnapshot().ManifestList)
	if err := os.Remove(list); err != nil {
		t.Fatal(err)
	}
	_, err := apply(s, queryID, planN(1))
	wantClass(t, err, batch.NotSetUp, "deleted", filepath.Base(list))
	if hint := batch.HintOf(err); !strings.Contains(hint, "restore") || !strings.Contains(hint, "verify") {
		t.Errorf("got the hint %q", hint)
	}
}

// A reading that others have overtaken refers to what their expiry removed; the next one does not.
func TestAManifestThatOthersExpiredIsNot(t *testing.T) {
	s, c := newTable(t)
	mustApply(t, s, queryID, planN(0))
	was := load(t, c)
	d := &deal{sink: s, commit: commitOf(s, queryID, planN(1), nil)}
	rival(t, c, 1)
	err := d.unprepared(t.Context(), was, fmt.Errorf("open: %w", fs.ErrNotExist))
	wantClass(t, err, batch.Failed, "changed meanwhile")
}
