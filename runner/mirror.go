package runner

import (
	"context"
	"fmt"
	"time"

	"sluice/batch"
	"sluice/offsets"
	"sluice/progress"
)

// mirrorWait is how long failures of the mirror may hold up a run, all together.
const mirrorWait = 5 * time.Second

// reflection is what a run knows of its mirror.
type reflection struct {
	// waited is the time that failures took.
	waited time.Duration
	// warned, told and shared say that a person was told that it fails, that it has more than the query, and that another query
	// writes to it.
	warned, told, shared bool
	// anew are the partitions that began anew in batches which the mirror may not have been told of.
	anew map[offsets.TopicPartition]bool
}

// mirror tells the mirror where a batch that is marked as done has left the query. held is the context of the lease: a run that
// has lost it has nothing to tell. Whatever becomes of it, the run goes on.
func (r *run) mirror(ctx, held context.Context, at position) {
	if r.Mirror == nil || fenced(held) {
		return
	}
	group, left := r.summary.ConsumerGroup, mirrorWait-r.reflection.waited
	if left <= 0 { // it did not answer, and is not waited for again
		group.Failures++
		return
	}
	ctx, cancel := context.WithTimeout(ctx, left)
	defer cancel()
	began := r.Now()
	err := r.reflect(ctx, held, at)
	if err == nil {
		r.reflection.anew = nil
		return
	}
	if r.reflection.waited += r.Now().Sub(began); ctx.Err() != nil {
		r.reflection.waited = mirrorWait
	}
	group.Failures++
	r.warnOfMirror(at.next-1, err)
}

// fenced says that the lease was lost to another run.
func fenced(held context.Context) bool { return batch.ClassOf(context.Cause(held)) == batch.Fenced }

// reflect reads what the mirror has and replaces what is behind. No broker makes one operation of the two: who is overtaken
// between them may move the mirror back, until the next batch or run.
func (r *run) reflect(ctx, held context.Context, at position) error {
	shown, err := r.Mirror.Shown(ctx)
	if err != nil {
		return err
	}
	r.warnOfOthers(shown, at)
	due, ahead := reflected(shown, at, r.reflection.anew, r.queryID)
	if len(ahead) > 0 && !r.reflection.told {
		r.reflection.told = true
		r.Reporter.Notice("the consumer group has more than the query has reached, and is not moved back", "group", r.ConsumerGroup, "partitions", places(ahead))
	}
	if len(due) == 0 || fenced(held) {
		return nil
	}
	if err := r.Mirror.Show(ctx, due); err != nil {
		return err
	}
	r.summary.ConsumerGroup.Commits++
	return nil
}

// reflected is what a mirror has to be told that shows something else, and what it has ahead of the query. Notes of this query
// tell which batch is newer. What anybody else has put there is only moved forward, save for partitions that began anew. It
// depends on its arguments alone.
func reflected(shown map[offsets.TopicPartition]offsets.Committed, at position, anew map[offsets.TopicPartition]bool, query string) (due map[offsets.TopicPartition]offsets.Committed, ahead offsets.Offsets) {
	due, ahead = map[offsets.TopicPartition]offsets.Committed{}, offsets.Offsets{}
	n := at.next - 1
	for tp, next := range at.reached {
		if _, absent := at.absent[tp]; absent {
			continue
		}
		has, there := shown[tp]
		if there && has.Next == next {
			continue
		}
		if newest, ours := noted(has.Note, query); there && (ours && newest > n || !ours && has.Next > next && !anew[tp]) {
			ahead[tp] = has.Next
			continue
		}
		epoch, known := at.epochs[tp]
		if !known {
			epoch = -1
		}
		due[tp] = offsets.Committed{Next: next, Epoch: epoch, Note: noteOf(n, query)}
	}
	return due, ahead
}

const noteForm = "sluice batch %d of query %s"

func noteOf(n int64, query string) string { return fmt.Sprintf(noteForm, n, query) }

// noted reads a note: the batch, and whether it is one of the query's.
func noted(text, query string) (int64, bool) {
	n, by := notedBy(text)
	return n, by != "" && by == query
}

// notedBy reads the batch and the query of a note, which is empty if the note is of nobody's making here.
func notedBy(text string) (n int64, query string) {
	if _, err := fmt.Sscanf(text, noteForm, &n, &query); err != nil {
		return 0, ""
	}
	return n, query
}

// warnOfOthers warns once if partitions of this query were last written by another: of two that share a group each undoes what
// the other shows, or is hidden by it.
func (r *run) warnOfOthers(shown map[offsets.TopicPartition]offsets.Committed, at position) {
	for _, tp := range at.reached.Partitions() {
		_, by := notedBy(shown[tp].Note)
		if by == "" || by == r.queryID || r.reflection.shared {
			continue
		}
		r.reflection.shared = true
		r.Reporter.Warning("another query commits to this consumer group, so that it shows the lag of neither", "group", r.ConsumerGroup, "query", by, "partition", tp.String(),
			"try", "give each query a group of its own (source.consumerGroup); if the other one has ended for good, delete the group's offsets (kafka-consumer-groups.sh --delete-offsets) and the next batch commits them anew")
	}
}

// beganAnew lists the partitions that a plan has begin again, so that their offsets may be lower than before.
func beganAnew(plan *batch.Plan) map[offsets.TopicPartition]bool {
	anew := map[offsets.TopicPartition]bool{}
	for _, l := range plan.Losses {
		if l.Cause == batch.Recreated || l.Cause == batch.Diverged {
			anew[l.Range().TopicPartition] = true
		}
	}
	if plan.Accepted != nil && plan.Accepted.Choice == batch.Reread {
		for tp := range plan.End {
			anew[tp] = true
		}
	}
	return anew
}

// mirrorBatch tells the mirror of a batch that has just been marked as done.
func (r *run) mirrorBatch(ctx, held context.Context, plan *batch.Plan) {
	r.expectAnew(plan)
	r.mirror(ctx, held, behind(plan))
}

// expectAnew remembers, until the mirror was told, what a plan has begin again.
func (r *run) expectAnew(plan *batch.Plan) {
	for tp := range beganAnew(plan) {
		if r.reflection.anew == nil {
			r.reflection.anew = map[offsets.TopicPartition]bool{}
		}
		r.reflection.anew[tp] = true
	}
}

// catchUp tells the mirror what a run before this one did not get to: of a run that made no batch. found is where recovery has
// left the query.
func (r *run) catchUp(held context.Context, found position) {
	if r.summary.Batches == 0 && found.next > 0 && found.accepted == nil && held.Err() == nil {
		r.mirror(held, held, found)
	}
}

func (r *run) warnOfMirror(n int64, err error) {
	if r.reflection.warned {
		return
	}
	r.reflection.warned = true
	attributes := []any{"group", r.ConsumerGroup, "batch", n, "error", err}
	if hint := batch.HintOf(err); hint != "" {
		attributes = append(attributes, "try", hint)
	}
	r.Reporter.Warning("the offsets of a batch were not committed to the consumer group; the batch itself is done, and the next batch or run commits them", attributes...)
}

// mirrored is what the summary begins with, nil where there is no mirror.
func (q *Query) mirrored() *progress.ConsumerGroup {
	if q.ConsumerGroup == "" {
		return nil
	}
	return &progress.ConsumerGroup{Name: q.ConsumerGroup}
}
