package cmd_test

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"
)

// ofSpark are the checkpoints that have an open plan: one by hand, and those of a real Spark.
var ofSpark = []string{"v1", "real-4.2.0", "real-4.2.0-log-v2"}

// A query of Spark's goes on where it was: the batch that Spark planned and did not finish is read exactly as planned and
// at Spark's isolation level, under which records of aborted transactions are rows, and what follows only sees what was
// committed. Spark's files stay as they are, and Spark could go on from ours.
func TestACheckpointOfSparkIsTakenOver(t *testing.T) {
	t.Parallel()
	for _, folder := range ofSpark {
		t.Run(folder, func(t *testing.T) {
			t.Parallel()
			l := takeOver(t, folder)
			l.wrote(l.open - 1)
			planned, behind := l.of(l.open), l.behind()
			l.do(t, "plan").wants(0).has("plan", "action", "replay", "batch", l.open)
			if found, left := files(t, l.checkpoint(), "*"), files(t, l.golden, "*"); len(found) != len(left) {
				t.Errorf("after a plan the checkpoint has %v, want what Spark left", found)
			}
			o := l.run(t).has("summary", "queryId", l.id(), "batches", 2, "firstBatch", l.open, "lastBatch", l.open+1, "caughtUp", true, "lag", 0)
			batches := o.objects("batch")
			end := maps.Clone(l.ends[l.open])
			end[cut] = l.next(cut)
			l.wantBatch(batches[0], l.open, l.ends[l.open-1], l.ends[l.open], len(planned))
			l.wantBatch(batches[1], l.open+1, l.ends[l.open], end, len(behind))
			wantRows(t, l.table(t), slices.Concat(l.upTo(l.open), behind), false)
			l.wantSparks()
			l.wantContinued(l.open + 1)
			if got, want := l.read(l.checkpoint(), fmt.Sprint("commits/", l.open)), fmt.Sprintf("v1\n{\"nextBatchWatermarkMs\":%d}", l.watermark()); got != want {
				t.Errorf("the marker of the batch that Spark planned: got %q, want %q", got, want)
			}
			l.run(t).has("summary", "batches", 0, "caughtUp", true)
			l.do(t, "verify", "--source").wants(0).has("verify", "ok", true, "duplicates", 0, "missing", 0, "unexpected", 0, "verdict", "unproven", "unattributed", len(l.upTo(l.open-1)))

			l.fill(0, l.next(0)+3) // and on, as any query
			l.run(t).has("summary", "batches", 1, "firstBatch", l.open+2, "rows", 3)
			l.do(t, "verify", "--source").wants(0).has("verify", "ok", true, "duplicates", 0, "missing", 0, "unexpected", 0, "verdict", "unproven", "unattributed", len(l.upTo(l.open-1)))
			l.wantSparks()
		})
	}
}

// Spark died between its commit to the table and the marker: nothing is read again.
func TestABatchThatSparkCommittedIsOnlyMarked(t *testing.T) {
	t.Parallel()
	l := takeOver(t, "v1")
	l.wrote(l.open)
	l.do(t, "plan").wants(0).has("plan", "action", "mark")
	l.run(t).has("summary", "batches", 1, "firstBatch", l.open+1, "rows", len(l.behind()))
	wantRows(t, l.table(t), slices.Concat(l.upTo(l.open), l.behind()), false)
	l.run(t).has("summary", "batches", 0)
	l.do(t, "verify", "--source").wants(0).has("verify", "ok", true, "duplicates", 0, "missing", 0, "unexpected", 0, "verdict", "unproven", "unattributed", len(l.upTo(l.open)))
	l.wantSparks()
}

// Spark wrote elsewhere: that the table has nothing of what the checkpoint has marked as done is asked about, and
// accepted it goes on where Spark stood. The batch that was open is read with what follows.
func TestAQueryOfSparkMayGoOnInAnotherTable(t *testing.T) {
	t.Parallel()
	l := takeOver(t, "v1")
	l.do(t, "run").fails(13, "no batch of this query", "--lost-rows accept")
	end := maps.Clone(l.ends[l.open])
	end[cut] = l.next(cut)
	committed := slices.DeleteFunc(l.between(l.ends[l.open-1], end), func(r *kgo.Record) bool { return l.aborted[r] })
	l.run(t, "--lost-rows", "accept").has("summary", "batches", 1, "firstBatch", l.open+1, "rows", len(committed))
	wantRows(t, l.table(t), committed, false)
	l.run(t).has("summary", "batches", 0)
	l.do(t, "verify", "--source").wants(0).has("verify", "ok", true, "duplicates", 0, "missing", 0, "unexpected", 0, "verdict", "unproven")
	l.wantSparks()
}

// What Spark left beside its files, such as checksums, neither disturbs nor is removed, and no file of ours breaks one.
func TestNoChecksumOfSparkCoversAFileOfOurs(t *testing.T) {
	t.Parallel()
	l := takeOver(t, "real-4.2.0")
	l.wrote(l.open - 1)
	l.run(t)
	for _, path := range files(t, l.checkpoint(), ".*.crc") {
		covered := filepath.Join(filepath.Dir(path), strings.TrimSuffix(strings.TrimPrefix(filepath.Base(path), "."), ".crc"))
		now, err := os.ReadFile(covered)
		was, wasErr := os.ReadFile(filepath.Join(l.golden, strings.TrimPrefix(covered, l.checkpoint()+"/")))
		if err != nil || wasErr != nil || !bytes.Equal(now, was) {
			t.Errorf("%s no longer belongs to its file: %v, %v", path, err, wasErr)
		}
	}
}
