package runner

import (
	"context"
	"fmt"

	"sluice/batch"
	"sluice/columns"
)

// letterTable is the role of the place of dead letters in a plan. An identity has the names besides: lettersRole.
const letterTable = "deadLetters"

// lettersRole is the role of a place of dead letters in an identity: all that the query has written to, so that one which
// takes the place of another under its name is noticed.
func lettersRole(place batch.LetterPlace) string { return letterTable + "/" + place.String() }

// letters is a place of dead letters as this run sees it: a table, or what stands for one.
type letters struct {
	place batch.LetterPlace
	sink  Sink
	table *batch.Table
}

// String is how messages call it.
func (l *letters) String() string {
	return fmt.Sprintf("the %s of dead letters %s", l.place.Kind, l.place.Name)
}

// LetterColumns is the columns of a dead letter: those that decoders give it, and which batch of which query it is of.
func LetterColumns(decoders columns.Schema) columns.Schema {
	text := columns.Type{Kind: columns.String}
	return append(decoders[:len(decoders):len(decoders)],
		columns.Field{Name: "batch_id", Type: columns.Type{Kind: columns.Int64}, Required: true},
		columns.Field{Name: "query_id", Type: text, Required: true},
		columns.Field{Name: "query_name", Type: text, Required: true})
}

// stampLetters adds to dead letters what the decoder does not know.
func stampLetters(rejected *columns.Batch, task *batch.Task) *columns.Batch {
	stamped := &columns.Batch{Rows: rejected.Rows, Columns: rejected.Columns[:len(rejected.Columns):len(rejected.Columns)]}
	stamped.Columns = append(stamped.Columns,
		columns.Array{Kind: columns.Int64, Len: rejected.Rows, Repeat: true, Int64s: []int64{task.Batch}},
		repeated(task.Query, rejected.Rows), repeated(task.QueryName, rejected.Rows))
	return stamped
}

func repeated(text string, rows int) columns.Array {
	return columns.Array{Kind: columns.String, Len: rows, Repeat: true, Data: []byte(text), Offsets: []int32{0, int32(len(text))}}
}

// openLetters reads a place of dead letters. One that is not there is no error.
func (r *run) openLetters(ctx context.Context, place batch.LetterPlace) (*letters, error) {
	l := &letters{place: place, sink: r.DeadLetters(place)}
	return l, l.read(ctx, r.queryID)
}

func (l *letters) read(ctx context.Context, query string) (err error) {
	if l.table, err = l.sink.Table(ctx, query); err != nil {
		return fmt.Errorf("read %s: %w", l, err)
	}
	return nil
}

// readLetters reads the place that the job names, before the rows' table is read: a batch is in this one first, so that a
// rival which commits meanwhile only makes the other look newer.
func (r *run) readLetters(ctx context.Context) (err error) {
	if r.letters = nil; r.rejects() {
		r.letters, err = r.openLetters(ctx, r.Value.LetterPlace())
	}
	return err
}

// rejects says whether the job has a place of dead letters.
func (r *run) rejects() bool { return r.Value.LetterPlace() != batch.LetterPlace{} }

// shapeLetters makes the job's place of dead letters if it is not there, and checks that it takes ours.
func (r *run) shapeLetters(ctx context.Context) error {
	if !r.rejects() {
		return nil
	}
	return r.DeadLetters(r.Value.LetterPlace()).Create(ctx, LetterColumns(r.DeadLetterSchema))
}

// haveLetters is the job's place of dead letters, which is there then; nil if the job has none.
func (r *run) haveLetters(ctx context.Context) (*letters, error) {
	if r.letters == nil {
		return nil, nil
	}
	return r.letters, r.makeLetters(ctx, r.letters)
}

// makeLetters makes a place of dead letters that is not there.
func (r *run) makeLetters(ctx context.Context, l *letters) error {
	if l.table.Exists {
		return nil
	}
	if err := l.sink.Create(ctx, LetterColumns(r.DeadLetterSchema)); err != nil {
		return err
	}
	return l.read(ctx, r.queryID)
}

// checkLetters refuses, before anything is planned or replayed, a place of dead letters that is not as this query left
// it.
func (r *run) checkLetters(ctx context.Context, s *step) error {
	if err := r.decideLetters(ctx); err != nil {
		return err
	}
	if s.action == Replay {
		if _, err := r.lettersOf(ctx, r.entries.Plan); err != nil {
			return err
		}
	}
	if r.letters == nil {
		return nil
	}
	if r.letters.forgets() {
		if gone := r.letters.gone(LettersUUID(r.letters.place, r.identity)); gone != "" {
			r.remark(gone)
			r.noteLoss(r.letters, gone)
		}
		return nil
	}
	if err := r.believed(ctx, r.letters); err != nil {
		return err
	}
	if err := r.letters.apart(r.table); err != nil {
		return err
	}
	if at := &r.letters.table.Applied; at.Batch >= s.next {
		return &batch.Fault{Class: batch.Inconsistent,
			Message: fmt.Sprintf("%s has batch %d of this query, and the next one to plan is %d: it is ahead of the rows' table and the checkpoint", r.letters, at.Batch, s.next),
			Hint:    "bring the checkpoint, or the rows' table, back to what it was; or remove the dead letters of that batch and name another deadLetter." + string(r.letters.place.Kind)}
	}
	return nil
}

// believed checks a place of dead letters. It was read before the rows' table, and is read again before it is said to lack any.
func (r *run) believed(ctx context.Context, l *letters) error {
	if l.check(r.identity, r.table) == nil {
		return nil
	}
	if err := l.read(ctx, r.queryID); err != nil {
		return err
	}
	return l.check(r.identity, r.table)
}

// apart refuses a place that is the table of the rows under another name.
func (l *letters) apart(rows *batch.Table) error {
	if !l.table.Exists || !rows.Exists || l.table.UUID != rows.UUID {
		return nil
	}
	return &batch.Fault{Class: batch.Inconsistent, Message: fmt.Sprintf("%s is the table of the rows: the catalog has both names for the one with UUID %s", l, rows.UUID),
		Hint: fmt.Sprintf("set another deadLetter.%s", l.place.Kind)}
}

// forgets says whether the place remembers no batch: dead letters are there at least once, and nothing is refused that
// happens to them afterwards.
func (l *letters) forgets() bool { return l.place.Kind == batch.InTopic }

// gone says what became of the dead letters in a place that forgets; empty if it is the one that the query wrote to.
func (l *letters) gone(uuid string) string {
	switch t := l.table; {
	case uuid == "" || t.Exists && (t.UUID == uuid || t.UUID == ""):
		return ""
	case !t.Exists:
		return fmt.Sprintf("%s is gone, and the dead letters of the batches before with it: it is made again", l)
	}
	return fmt.Sprintf("%s was created again: its id is %s and was %s, and the dead letters of the batches before are gone", l, l.table.UUID, uuid)
}

// lettersOf is the place that the dead letters of an open plan go to: the plan's own, as long as it can be used, for
// another run that carries the plan out may be about to add to it; then the job's. nil if neither names one. A place that
// forgets binds no other run, and the job's does as well where it cannot be used.
func (r *run) lettersOf(ctx context.Context, plan *batch.Plan) (*letters, error) {
	var planned batch.LetterPlace
	if plan.Value != nil {
		planned = plan.Value.LetterPlace()
	}
	if planned == (batch.LetterPlace{}) {
		return nil, nil
	}
	other := r.letters != nil && r.letters.place != planned
	own, err := r.openLetters(ctx, planned)
	switch {
	case own.forgets() && other && (batch.ClassOf(err) == batch.NotSetUp || err == nil && !own.table.Exists):
		return r.letters, nil
	case err != nil:
		return nil, err
	case own.forgets():
		return own, nil
	}
	uuid := plan.Tables[letterTable]
	if err = own.checkUUID(uuid, r.identity); err == nil {
		return own, nil
	}
	if r.letters == nil || !other && r.identity.AcceptedLoss(uuid) == nil {
		return nil, err
	}
	return r.letters, nil
}

// commitLetters makes the dead letters of a batch part of their place, before its rows are part of theirs. A batch without
// any leaves it alone, unless it is replayed: whoever planned it, and stalled, may have some, and must find the
// batch there.
func (r *run) commitLetters(ctx context.Context, plan *batch.Plan, work *work, replayed bool) error {
	own, all := batch.DeadLetterResults(work.results)
	switch {
	case work.letters == nil:
		return nil
	case all.Count == 0 && !replayed:
		return r.leaveLetters(ctx, plan, work.letters)
	}
	applied, err := r.commit(ctx, work.letters.sink, &batch.Commit{Query: r.queryID, Name: r.Name, Run: r.RunID, Plan: plan, Results: own,
		TableUUID: work.letters.table.UUID, DeadLetters: &all, Accepted: r.identity.AcceptedLoss(work.letters.table.UUID)})
	if err != nil {
		return r.overtakenBefore(ctx, plan, fmt.Errorf("dead letters: %w", otherSince(err, plan.Batch, work)))
	}
	work.letters.table.Applied = *applied
	if r.letters != nil && r.letters.place == work.letters.place {
		r.letters.table.Applied = *applied
	}
	return nil
}

// leaveLetters looks once more at the place that a batch without dead letters leaves alone. If the batch is there, another run
// has read it under other settings, found dead letters among what are rows here, and may have died before its rows: to commit
// ours would put those records in both tables.
func (r *run) leaveLetters(ctx context.Context, plan *batch.Plan, l *letters) error {
	table, err := l.sink.Table(ctx, r.queryID)
	if err != nil {
		return fmt.Errorf("read %s: %w", l, err)
	}
	if table.UUID == l.table.UUID && table.Applied.Batch >= plan.Batch {
		return overtaken(fmt.Sprintf("%s has batch %d, which this run was about to commit without any", l, table.Applied.Batch))
	}
	return nil
}

// overtakenBefore looks at the rows' table before a disagreement about dead letters is believed: if the batch is there,
// another run has finished it, perhaps under another job, and this one is just late.
func (r *run) overtakenBefore(ctx context.Context, plan *batch.Plan, disagreement error) error {
	if batch.ClassOf(disagreement) != batch.Inconsistent {
		return disagreement
	}
	table, err := r.Sink.Table(ctx, r.queryID)
	if err != nil || table.Applied.Batch < plan.Batch {
		return disagreement
	}
	return overtaken(fmt.Sprintf("the %s has batch %d, which this run was about to commit", table.Word(), table.Applied.Batch))
}

// otherSince says of dead letters that are others than those that are there what has changed besides the job: records that
// Kafka had when they were put there, and has not any more.
func otherSince(err error, n int64, work *work) error {
	lost := batch.LostIn(work.results)
	if len(lost) == 0 || batch.ClassOf(err) != batch.Inconsistent {
		return err
	}
	texts := make([]string, len(lost))
	for i := range lost {
		texts[i] = lost[i].Range().String()
	}
	return &batch.Fault{Class: batch.Inconsistent, Err: err,
		Message: fmt.Sprintf("since the batch was cut short Kafka has lost %s of it, and some of those records are dead letters by now", list(texts)),
		Hint: fmt.Sprintf("those dead letters are all that is left of their records: copy them (sluice deadletter show --batch %d --output json > letters.json); then take the batch's out of %s (roll the table back to before the snapshot that is named, or drop it if there is none before; of a folder move the batch's manifest away) "+
			"and run again, with --lost-dead-letters accept if it asks for that; the records are counted as lost then", n, work.letters.place.Name)}
}
