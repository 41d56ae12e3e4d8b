package maintain

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"

	"sluice/lakesink"
)

// CompactOptions say which files are compacted and within what bounds. The zero value of a field stands for its default. Names
// and meanings of the first three are those of Iceberg's rewrite_data_files.
type CompactOptions struct {
	// TargetFileBytes is how large files are to be (target-file-size-bytes); the default is the sink's: the job's targetFileSize.
	TargetFileBytes int64
	// MinFileBytes is the size below which a file is small (min-file-size-bytes); the default is 75 % of the target.
	MinFileBytes int64
	// MinInputFiles is how many small files are worth one of the target's size or less (min-input-files); the default is 5. Two
	// are enough where they fill a file.
	MinInputFiles int
	// MemoryBytes bounds what all workers hold together; the default is 256 MiB. Workers is how many files are made at a time;
	// the default is as many as the processor has cores, and no more than have 64 MiB each.
	MemoryBytes int64
	Workers     int
	// MaxCommits is in how many commits a whole compaction is done at most (partial-progress.max-commits); the default is 10. What
	// is committed stays, whatever becomes of the rest.
	MaxCommits int
}

// workerBytes is what a worker should have at least.
const workerBytes = 64 << 20

func (o CompactOptions) withDefaults(sinkTarget int64) CompactOptions {
	setDefault(&o.TargetFileBytes, sinkTarget)
	setDefault(&o.MinFileBytes, o.TargetFileBytes*3/4)
	setDefault(&o.MinInputFiles, 5)
	setDefault(&o.MemoryBytes, 256<<20)
	setDefault(&o.Workers, max(1, min(runtime.GOMAXPROCS(0), int(o.MemoryBytes/workerBytes))))
	setDefault(&o.MaxCommits, 10)
	return o
}

func setDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

// CompactState is what became of a group of files.
type CompactState string

// The states.
const (
	// Planned: this is a dry run, or the compaction ended before the group's turn.
	Planned CompactState = "planned"
	// Compacted: the files were replaced.
	Compacted CompactState = "compacted"
	// Dropped: somebody else changed or deleted rows of the files meanwhile, or there was nothing to gain. The table is as it was.
	Dropped CompactState = "dropped"
	// FailedGroup: the files could not be read or others not be written. The table is as it was.
	FailedGroup CompactState = "failed"
)

// CompactedGroup is some small files of a partition, and what became of them.
type CompactedGroup struct {
	// Partition is for people: day=2026-11-30/region=eu. It is empty where the table has no partitions.
	Partition string
	State     CompactState
	// In was replaced by Out. In a dry run Out is an estimate: one file, of the bytes that go into it.
	In, Out Count
	// Rows is how many there were to be, by the metadata of the files, or are.
	Rows int64
	// Why is why it was dropped or failed.
	Why string
}

// LeftAlone counts small files that are not compacted, by why.
type LeftAlone struct {
	// Few are too few of their partition to be worth it.
	Few int64
	// WithDeletes are files of whose rows some may be deleted by equality.
	WithDeletes int64
	// OtherSpecs are files of an earlier partition spec.
	OtherSpecs int64
	// OtherFormats are files that are not Parquet, or encrypted.
	OtherFormats int64
	// WithoutIDs are files of a table whose rows have ids (format version 3) that were there before and have been given none yet:
	// the next commit to the table does that.
	WithoutIDs int64
	// TooLarge are files with row groups that take too much of the memory.
	TooLarge int64
}

// Compaction is what was done, or is to be done.
type Compaction struct {
	Groups []CompactedGroup
	Left   LeftAlone
	// Commits is how many snapshots it made.
	Commits int
	// Abandoned are new files that nothing refers to and that could not be deleted safely: removal of orphans takes them.
	Abandoned Count
	// Skipped says why nothing was looked at, empty if it was.
	Skipped string
}

// Compact makes large files of small ones: of the files of one partition of the current spec that are smaller than wanted, as
// many as fill one, in the order in which they were written. Rows keep their values; those of one file are sorted as the table
// says. Rows that are deleted by position are left out. Files of which rows may be deleted by equality are left alone, as are those
// of earlier specs and other formats. Deletion vectors and files of positions that are for one file go with it; other delete files
// stay, for others may need them. Where rows have ids they keep them.
//
// Each commit replaces the files of some groups, and only if the table, read again, still has all of these files and no new
// deletes for them; a group of which that is not so is dropped, the others go on. A group that cannot be read fails and leaves
// the others alone; the error then names the first, beside what was done.
//
// UnknownOutcome: a commit may have happened. Nothing was deleted, and the next compaction goes on from what it finds.
func (t *Table) Compact(ctx context.Context, o CompactOptions) (*Compaction, error) {
	plan, err := t.planCompaction(ctx, o)
	if err != nil {
		return nil, err
	}
	if !t.DryRun() && len(plan.groups) > 0 {
		err = newCompactor(t.sink, plan).run(ctx)
	}
	report := plan.report()
	if t.DryRun() {
		report.estimate()
	}
	return report, err
}

// estimate says what would become of a plan: a group fills one file, and what that takes is known only once it is written.
func (c *Compaction) estimate() {
	for i := range c.Groups {
		c.Groups[i].Out = Count{Files: 1, Bytes: c.Groups[i].In.Bytes}
	}
}

// compactor carries out a plan.
type compactor struct {
	sink *lakesink.Iceberg
	o    CompactOptions
	plan *compactPlan
}

func newCompactor(sink *lakesink.Iceberg, plan *compactPlan) *compactor {
	o := plan.options
	o.Workers = min(o.Workers, len(plan.groups))
	return &compactor{o: o, plan: plan, sink: sink.With(func(s *lakesink.Options) {
		s.PartitionBy = nil
		s.MemoryBytes = o.MemoryBytes / int64(o.Workers) / 2
		// A group fills one file; where its rows take more room than before, a remainder of some percent is no file of its own.
		s.TargetFileBytes = o.TargetFileBytes + o.TargetFileBytes*4/10
	})}
}

// run rewrites groups side by side, and commits them in the order in which they are done.
func (c *compactor) run(ctx context.Context) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	next, done := make(chan *group), make(chan *group)
	var workers sync.WaitGroup
	for range c.o.Workers {
		workers.Go(func() {
			for g := range next {
				c.rewrite(ctx, g)
				done <- g
			}
		})
	}
	go func() {
		defer close(done)
		defer workers.Wait()
		defer close(next)
		for _, g := range c.plan.groups {
			select {
			case next <- g:
			case <-ctx.Done():
				return
			}
		}
	}()
	err := c.collect(ctx, done, stop)
	if err == nil {
		err = context.Cause(ctx)
	}
	return errors.Join(err, c.plan.failure())
}

var errStopped = errors.New("the compaction has ended")

// collect commits what is done, so many groups at a time, until nothing more comes. After an error the workers stop, and what
// they still bring is deleted.
func (c *compactor) collect(ctx context.Context, done <-chan *group, stop func(error)) (err error) {
	atOnce := (len(c.plan.groups) + c.o.MaxCommits - 1) / c.o.MaxCommits
	var waiting []*group
	for g := range done {
		switch {
		case g.state != Planned:
		case err != nil || ctx.Err() != nil:
			c.discard(ctx, g)
		default:
			waiting = append(waiting, g)
		}
		if len(waiting) < atOnce {
			continue
		}
		if err = c.commit(ctx, waiting); err != nil {
			stop(errStopped)
		}
		waiting = nil
	}
	if err == nil && len(waiting) > 0 {
		err = c.commit(ctx, waiting)
	}
	return err
}

// report is what became of the plan.
func (p *compactPlan) report() *Compaction {
	r := &Compaction{Left: p.left, Commits: p.commits, Abandoned: p.abandoned, Skipped: p.skipped}
	if p.head == nil {
		r.Skipped = noHead
	}
	for _, g := range p.groups {
		r.Groups = append(r.Groups, CompactedGroup{Partition: g.label, State: g.state, In: g.in, Out: g.out, Rows: g.rows, Why: g.why})
	}
	return r
}

// failure is the first group's that could not be read or written, with how many there were.
func (p *compactPlan) failure() error {
	n := 0
	var first *group
	for _, g := range p.groups {
		if g.state == FailedGroup {
			n++
			if first == nil {
				first = g
			}
		}
	}
	if n == 0 {
		return nil
	}
	return fmt.Errorf("compact %d groups of %d: the first: %w", n, len(p.groups), first.err)
}
