package runner

import (
	"context"
	"slices"

	"sluice/batch"
	"sluice/offsets"
	"sluice/progress"
)

// Outlook is what a run would do now.
type Outlook struct {
	// QueryID is empty and Identity nil where the checkpoint is empty.
	QueryID  string
	Identity *batch.Identity
	Log      *batch.LogState
	Table    *batch.Table
	// DeadLetters is the place of dead letters that the job names, nil if it names none.
	DeadLetters *batch.Table
	View        *offsets.View
	// Action is what recovery would do, empty if the run would refuse before it.
	Action Action
	// Refusal is why the run would stop, nil if it would not.
	Refusal error
	// Unused says which of the options that decide something would change nothing, and why.
	Unused []string
	// Losses are what Kafka does not have any more of what would be read, and what the policies say of each.
	Losses []Judged
	// Remarks are what else a person should know before the run writes rows.
	Remarks []string
	// Replay is the open plan that would be finished first, nil if there is none.
	Replay *batch.Plan
	// Start is where the first batch of the run's own would begin: what the query has reached, after the replay.
	Start offsets.Offsets
	// Next is that batch as it would be planned, nil if there is nothing to do.
	Next *batch.Plan
	// Remaining is the number of offsets from Start to the ends in View, Batches how many batches they take.
	Remaining int64
	Batches   int64
	// Limit is how many offsets that batch may have, 0 for any number; BatchBytes what it takes in Kafka, -1 if nobody can tell.
	Limit, BatchBytes int64
	// Waiting says that the run would do nothing, since too little is there; nil if it would.
	Waiting *progress.Waiting
	// Bound says how the query stands to where its runs end; nil where they end where the log does.
	Bound *progress.Bound
	bound offsets.Offsets
}

// Inspect reads what Run would read and says what it would do. It writes nothing, not even the lease. An error means
// that something could not be read; what Run would refuse is in the Outlook.
func (q *Query) Inspect(ctx context.Context) (*Outlook, error) {
	r := newRun(q)
	id, refusal := r.preflight(ctx)
	if refusal != nil && !refused(refusal) {
		return nil, refusal
	}
	o := &Outlook{QueryID: r.queryID}
	r.queryID = id
	if err := r.read(ctx); err != nil {
		return nil, err
	}
	o.Identity, o.Log, o.Table, o.View = r.identity, r.entries, r.table, r.view
	if r.letters != nil {
		o.DeadLetters = r.letters.table
	}
	if refusal == nil {
		refusal = r.foresee(ctx, o)
	}
	if o.Unused, o.Remarks, o.Losses = r.unused, r.remarks, r.judged; refusal != nil && !refused(refusal) {
		return nil, refusal
	}
	o.Refusal = refusal
	return o, nil
}

// refused tells what a run stops for on its own account from what could not be read.
func refused(err error) bool {
	switch batch.ClassOf(err) {
	case batch.Inconsistent, batch.DataLoss, batch.Fenced:
		return true
	}
	return false
}

// foresee goes through the steps of a run without carrying any out.
func (r *run) foresee(ctx context.Context, o *Outlook) error {
	next, err := r.nextStep(ctx)
	if err != nil {
		return err
	}
	replayed := r.judged
	defer func() { r.judged = together(replayed, r.judged) }()
	r.enter(next)
	if o.Action = next.action; o.Action == Replay {
		o.Replay = r.entries.Plan
	}
	o.Start = r.reached
	if err := r.freeze(ctx); err != nil {
		return err
	}
	o.View, o.Remaining, o.Waiting, o.Bound = r.view, lag(r.reached, r.inside), r.waits(ctx), r.atBound(r.reached)
	o.bound = r.bound
	r.weigh(ctx)
	if o.Waiting == nil {
		o.Next = r.plan()
	}
	o.Limit, o.BatchBytes = r.limit(), -1
	if o.Next != nil {
		o.BatchBytes = r.seen.bytesOf(o.Next.Offsets())
	}
	switch limit := o.Limit; {
	case o.Next == nil:
	case limit <= 0 || o.Remaining == 0: // in one, or none but the decision
		o.Batches = 1
	default:
		o.Batches = (o.Remaining + limit - 1) / limit
	}
	return nil
}

// together is what is lost of a batch that is to be replayed, and then what is lost of other partitions after it.
func together(replayed, after []Judged) []Judged {
	all := slices.Clone(replayed)
	for _, j := range after {
		if !slices.ContainsFunc(replayed, func(r Judged) bool { return r.Range().TopicPartition == j.Range().TopicPartition }) {
			all = append(all, j)
		}
	}
	return all
}

// Landed is where the batches that are in the table end: its own word if it has one, else the checkpoint's. known is
// false where neither can tell. For a query that has not begun it is nil, and known.
func (o *Outlook) Landed() (end offsets.Offsets, known bool) {
	log, applied := o.Log, &o.Table.Applied
	t, sure := believed(log, applied)
	switch ledger := applied.Ledger; {
	case !sure, applied.RolledBack:
		return nil, false
	case ledger != nil && ledger.Batch == t:
		return ledger.Next(), true
	case log.Plan != nil && log.Plan.Batch == t:
		return log.Plan.End, true
	case log.Plan != nil && log.Plan.Batch == t+1:
		return log.Plan.Before(), true
	case t == batch.None && (log.Start != nil || log.Plan == nil):
		return log.Start, true
	}
	return nil, false
}

// GoneOnWithout says that the newest plan leaves the partition out, since Kafka did not have it and the job accepts that.
func (o *Outlook) GoneOnWithout(tp offsets.TopicPartition) bool {
	if o.Log.Plan == nil {
		return false
	}
	_, absent := o.Log.Plan.Absent[tp]
	return absent
}

// Lost says of which partitions the log does not have any more what comes after landed, or is another one: how far
// behind the query is there, nobody can tell.
func (o *Outlook) Lost(landed offsets.Offsets) map[offsets.TopicPartition]bool {
	ids := map[string]string{}
	switch ledger := o.Table.Applied.Ledger; {
	case ledger != nil:
		ids = ledger.TopicIDs
	case o.Log.Plan != nil:
		ids = o.Log.Plan.TopicIDs
	}
	lost := map[offsets.TopicPartition]bool{}
	for _, f := range findLosses(position{reached: landed, topicIDs: ids}, within(o.View, o.bound, landed)) {
		for _, l := range f.losses {
			lost[l.Range().TopicPartition] = true
		}
	}
	return lost
}
