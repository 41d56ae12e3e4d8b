package progress

import (
	"cmp"
	"fmt"
	"io"
	"strings"
)

// Maintain is what was done to the tables of a query to keep them small and quick to plan, or would be done.
type Maintain struct {
	Query   string `json:"query"`
	QueryID string `json:"queryId"`
	// DryRun says that nothing was changed.
	DryRun bool            `json:"dryRun"`
	Tables []MaintainTable `json:"tables"`
}

// MaintainTable is what was done to one table. An action that was not asked for is nil.
type MaintainTable struct {
	Table string `json:"table"`
	// Role is rows or deadLetters.
	Role      string             `json:"role"`
	Expire    *MaintainExpiry    `json:"expire,omitempty"`
	Compact   *MaintainCompact   `json:"compact,omitempty"`
	Manifests *MaintainManifests `json:"manifests,omitempty"`
	Orphans   *MaintainOrphans   `json:"orphans,omitempty"`
	// Error is why an action failed, Hint what to do about it. The actions after it were not begun.
	Error string `json:"error,omitempty"`
	Hint  string `json:"hint,omitempty"`
}

// MaintainCount is a number of files and what they take.
type MaintainCount struct {
	Files int64 `json:"files"`
	Bytes int64 `json:"bytes"`
}

func (c MaintainCount) text(one string) string {
	return fmt.Sprintf("%s (%s)", plural(c.Files, one), size(c.Bytes))
}

// estimated is text for what is not written yet: how many bytes that will be is known roughly.
func (c MaintainCount) estimated(dry bool, one string) string {
	if !dry {
		return c.text(one)
	}
	return fmt.Sprintf("%s (about %s)", plural(c.Files, one), size(c.Bytes))
}

// MaintainExpiry is what became of old snapshots.
type MaintainExpiry struct {
	Snapshots int64 `json:"snapshots"`
	Kept      int64 `json:"kept"`
	// Old counts those older than the limit, whether they went or stayed.
	Old int64 `json:"old"`
	// Refs are branches and tags that had outlived their limit.
	Refs []string `json:"refs"`
	// Held says for whom more stayed than the limits ask for.
	Held     []MaintainHeld `json:"held"`
	Data     MaintainCount  `json:"data"`
	Metadata MaintainCount  `json:"metadata"`
	Skipped  string         `json:"skipped,omitempty"`
}

// MaintainHeld is whose bookkeeping keeps snapshots.
type MaintainHeld struct {
	Query     string `json:"query"`
	Name      string `json:"name"`
	Snapshots int64  `json:"snapshots"`
}

// MaintainCompact is what became of small files.
type MaintainCompact struct {
	// In was replaced by Out. In a dry run Out is an estimate: a file for each group, with the bytes that go in.
	In  MaintainCount `json:"in"`
	Out MaintainCount `json:"out"`
	// Groups counts those that were compacted, or would be; Dropped and Failed those that were not, Why the first reason.
	Groups  int64  `json:"groups"`
	Dropped int64  `json:"dropped"`
	Failed  int64  `json:"failed"`
	Why     string `json:"why,omitempty"`
	Commits int64  `json:"commits"`
	// Left counts small files that were left alone.
	Left    int64  `json:"left"`
	Skipped string `json:"skipped,omitempty"`
}

// MaintainManifests is what became of small manifests.
type MaintainManifests struct {
	// Rewritten was replaced by Written, which is an estimate in a dry run: their bytes as they are now.
	Rewritten MaintainCount `json:"rewritten"`
	Written   MaintainCount `json:"written"`
	Kept      MaintainCount `json:"kept"`
	Entries   int64         `json:"entries"`
	Snapshot  int64         `json:"snapshot"`
	Skipped   string        `json:"skipped,omitempty"`
}

// MaintainOrphans is what became of files that nothing refers to.
type MaintainOrphans struct {
	Found   MaintainCount `json:"found"`
	Removed MaintainCount `json:"removed"`
	Listed  MaintainCount `json:"listed"`
	// Young, Open, Doubtful and Others stay, though nothing refers to them.
	Young    MaintainCount `json:"young"`
	Open     MaintainCount `json:"open"`
	Doubtful MaintainCount `json:"doubtful"`
	Others   MaintainCount `json:"others"`
	// First are the first of those found.
	First     []string `json:"first"`
	OlderThan string   `json:"olderThan"`
	// Asked says that they were to be removed.
	Asked   bool   `json:"asked"`
	Skipped string `json:"skipped,omitempty"`
}

// Type is "maintain".
func (m *Maintain) Type() string { return "maintain" }

// WriteText writes a block for each table.
func (m *Maintain) WriteText(w io.Writer) error {
	var out page
	if len(m.Tables) == 0 {
		out.linef("%s: nothing to maintain: there is no table or folder of dead letters yet", printable(m.Query))
	}
	for i := range m.Tables {
		t := &m.Tables[i]
		title := t.Table
		if t.Role == "deadLetters" {
			title += " (dead letters)"
		}
		if m.DryRun {
			title += ": nothing was changed (--dry-run)"
		}
		out.linef("%s", printable(title))
		out.pairs("  ", t.pairs(m.DryRun))
		t.more(&out, m.QueryID)
	}
	return out.to(w)
}

func (t *MaintainTable) pairs(dry bool) (pairs [][2]string) {
	if e := t.Expire; e != nil {
		pairs = append(pairs, [2]string{"expire", cmp.Or(skipped(e.Skipped), e.text(dry))})
	}
	if c := t.Compact; c != nil {
		pairs = append(pairs, [2]string{"compact", cmp.Or(skipped(c.Skipped), c.text(dry))})
	}
	if r := t.Manifests; r != nil {
		pairs = append(pairs, [2]string{"manifests", cmp.Or(skipped(r.Skipped), r.text(dry))})
	}
	if o := t.Orphans; o != nil {
		pairs = append(pairs, [2]string{"orphans", cmp.Or(skipped(o.Skipped), o.text(dry))})
	}
	if t.Error != "" {
		pairs = append(pairs, [2]string{"failed", printable(t.Error)})
	}
	return pairs
}

func skipped(why string) string {
	if why == "" {
		return ""
	}
	return "skipped: " + printable(why)
}

func (e *MaintainExpiry) text(dry bool) string {
	if e.Snapshots == 0 && len(e.Refs) == 0 {
		return e.none()
	}
	text := fmt.Sprintf("%s %s, %s; %s and %s with them", plural(e.Snapshots, "snapshot"), would(dry, "expired", "would expire"), kept(e.Kept), e.Data.text("data file"), e.Metadata.text("metadata file"))
	if len(e.Refs) > 0 {
		text += "; branches and tags past their limit: " + printable(strings.Join(e.Refs, ", "))
	}
	return text
}

// none says why no snapshot goes.
func (e *MaintainExpiry) none() string {
	if e.Old == 0 {
		return plural(e.Kept, "snapshot") + ", none old enough"
	}
	var held int64
	for _, h := range e.Held {
		held += h.Snapshots
	}
	held = min(held, e.Old)
	text := fmt.Sprintf("%s, none goes though %s old enough: ", plural(e.Kept, "snapshot"), are(e.Old))
	if held > 0 {
		text += kept(held) + " for bookkeeping"
	}
	if held > 0 && held < e.Old {
		text += ", "
	}
	if held < e.Old {
		text += kept(e.Old-held) + " as the head of a branch or tag, or among the newest that are retained"
	}
	return text
}

func are(n int64) string {
	if n == 1 {
		return "1 is"
	}
	return count(n) + " are"
}

func kept(n int64) string {
	if n == 1 {
		return "1 stays"
	}
	return count(n) + " stay"
}

func would(dry bool, did, would string) string {
	if dry {
		return would
	}
	return did
}

func (c *MaintainCompact) text(dry bool) string {
	if c.Groups+c.Dropped+c.Failed == 0 {
		return "nothing to gain"
	}
	text := fmt.Sprintf("%s %s %s", c.In.text("file"), would(dry, "became", "would become"), c.Out.estimated(dry, "file"))
	if c.Dropped > 0 {
		text += fmt.Sprintf("; %s dropped", plural(c.Dropped, "group"))
	}
	if c.Failed > 0 {
		text += fmt.Sprintf("; %s failed", plural(c.Failed, "group"))
	}
	if c.Why != "" {
		text += ": " + printable(c.Why)
	}
	return text
}

func (r *MaintainManifests) text(dry bool) string {
	return fmt.Sprintf("%s %s %s; %s", r.Rewritten.text("manifest"), would(dry, "became", "would become"), r.Written.estimated(dry, "manifest"), kept(r.Kept.Files))
}

func (o *MaintainOrphans) text(dry bool) string {
	if o.Asked && !dry {
		return fmt.Sprintf("%s removed of %s that nothing refers to, older than %s", o.Removed.text("file"), count(o.Found.Files), o.OlderThan)
	}
	text := fmt.Sprintf("%s that nothing refers to, older than %s", o.Found.text("file"), o.OlderThan)
	if o.Found.Files > 0 {
		text += ": nothing was removed"
		if !o.Asked {
			text += ", --yes removes them"
		}
	}
	return text
}

// more says what stays, and why. own is the id of the job's query.
func (t *MaintainTable) more(out *page, own string) {
	if t.Expire != nil {
		for _, h := range t.Expire.Held {
			if h.Query == own {
				out.linef("  %s for this job's own bookkeeping", staying(h.Snapshots, "snapshot"))
				continue
			}
			out.linef("  %s for the bookkeeping of %s; if it does not run any more: --abandoned-query %q", staying(h.Snapshots, "snapshot"), printable(cmp.Or(h.Name, h.Query)), h.Query)
		}
	}
	if o := t.Orphans; o != nil {
		for _, path := range o.First {
			out.linef("  %s", printable(path))
		}
		if more := o.Found.Files - int64(len(o.First)); more > 0 && len(o.First) > 0 {
			out.linef("  … and %s more", count(more))
		}
		for _, stay := range []struct {
			MaintainCount
			why string
		}{{o.Young, "too young"}, {o.Open, "of batches that may yet be committed"}, {o.Doubtful, "doubtful: their names are referred to at other addresses"}, {o.Others, "of no kind that sluice removes"}} {
			if stay.Files > 0 {
				out.linef("  besides, left alone: %s, %s", stay.text("file"), stay.why)
			}
		}
	}
	if t.Hint != "" {
		out.linef("  try: %s", printable(t.Hint))
	}
}

func staying(n int64, one string) string {
	if n == 1 {
		return "1 " + one + " stays"
	}
	return plural(n, one) + " stay"
}
