package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"sluice/objectstore"
)

// KeptRuns is how many reports of runs are kept, at least; they are cleared by one run in sweepRuns.
const (
	KeptRuns  = 500
	sweepRuns = 16
)

// WriteProgress keeps the report of a batch, for people and monitoring.
func (l *Log) WriteProgress(ctx context.Context, n int64, report []byte) error {
	if err := l.store.Put(ctx, progressKey(n), report); err != nil {
		return fmt.Errorf("write progress %d: %w", n, err)
	}
	return nil
}

// Progress reads the report of a batch; nil if there is none.
func (l *Log) Progress(ctx context.Context, n int64) ([]byte, error) {
	report, _, err := l.store.Get(ctx, progressKey(n))
	if errors.Is(err, objectstore.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read progress %d: %w", n, err)
	}
	return report, nil
}

// WriteRun keeps the report of a run; the next report of the same run replaces it. The newest KeptRuns are kept, which
// needs ids that sort by time (UUIDs of version 7); others count as older than all of those. Clearing away is left to
// one run in sixteen, chosen by its id: it costs a listing.
func (l *Log) WriteRun(ctx context.Context, run string, report []byte) error {
	key := runsDir + run + ".json"
	if err := objectstore.CheckPath(key); err != nil {
		return fmt.Errorf("write run %q: the id %w", run, err)
	}
	if err := l.store.Put(ctx, key, report); err != nil {
		return fmt.Errorf("write run %s: %w", run, err)
	}
	if crc32.ChecksumIEEE([]byte(run))%sweepRuns != 0 {
		return nil
	}
	keys, err := l.runKeys(ctx)
	if err != nil {
		return fmt.Errorf("clear old runs: %w", err)
	}
	if len(keys) <= KeptRuns {
		return nil
	}
	old := slices.DeleteFunc(keys[:len(keys)-KeptRuns], func(k string) bool { return k == key })
	if err := l.store.Delete(ctx, old...); err != nil {
		return fmt.Errorf("clear old runs: %w", err)
	}
	return nil
}

// Runs reads the newest reports of runs, newest first, at most count.
func (l *Log) Runs(ctx context.Context, count int) ([][]byte, error) {
	keys, err := l.runKeys(ctx)
	if err != nil {
		return nil, fmt.Errorf("read runs: %w", err)
	}
	var reports [][]byte
	for _, key := range slices.Backward(keys) {
		if len(reports) == count {
			break
		}
		report, _, err := l.store.Get(ctx, key)
		if errors.Is(err, objectstore.ErrNotFound) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("read runs: %w", err)
		}
		reports = append(reports, report)
	}
	return reports, nil
}

// runKeys lists the runs, oldest first.
func (l *Log) runKeys(ctx context.Context) ([]string, error) {
	keys, err := l.store.List(ctx, runsDir, "")
	if err != nil {
		return nil, err
	}
	// What lies deeper is not ours: somebody may have put another checkpoint there.
	keys = slices.DeleteFunc(keys, func(k string) bool {
		name := strings.TrimPrefix(k, runsDir)
		return strings.Contains(name, "/") || !strings.HasSuffix(name, ".json")
	})
	slices.SortStableFunc(keys, func(a, b string) int { return runTime(a).Compare(runTime(b)) })
	return keys, nil
}

// runTime is when a run's id was made, the zero time if the id does not tell. Ids of one millisecond keep their order.
func runTime(key string) time.Time {
	id, err := uuid.Parse(strings.TrimSuffix(strings.TrimPrefix(key, runsDir), ".json"))
	if err != nil || id.Version() != 7 {
		return time.Time{}
	}
	return time.Unix(id.Time().UnixTime())
}
