package runner

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/google/uuid"

	"sluice/batch"
	"sluice/offsets"
)

// position is where a query stands between two batches.
type position struct {
	// next is the number of the batch to plan. Numbers are never used twice, not even one whose plan was dropped.
	next int64
	// reached is where that batch begins, and topicIDs whose topics that is about.
	reached  offsets.Offsets
	topicIDs map[string]string
	// epochs are the leader epochs that the log had there, as far as they are known.
	epochs map[offsets.TopicPartition]int32
	// absent are the partitions that the query has gone on without.
	absent offsets.Offsets
	// losses are accepted losses that the next plan has to record.
	losses []batch.Loss
	// accepted is a decision about lost rows that the next plan has to carry out.
	accepted *batch.Acceptance
}

// step is what has to happen before a run may plan a batch of its own, and where the query stands after it.
type step struct {
	action Action
	position
	// lost is, where the action is Chosen, what the choice is about.
	lost error
}

// nextStep says from the reading what has to happen first, or why the run has to stop. Nothing outside this process
// changes: Run carries out what it says, Inspect tells it. What there is to say beside, such as options without effect,
// it leaves in r.
func (r *run) nextStep(ctx context.Context) (*step, error) {
	if err := r.checkIdentity(); err != nil {
		return nil, err
	}
	s, err := r.nextOfRows(ctx)
	if err != nil {
		return nil, err
	}
	if err := r.checkLetters(ctx, s); err != nil {
		return nil, err
	}
	return s, nil
}

// nextOfRows is nextStep as far as the rows' table goes.
func (r *run) nextOfRows(ctx context.Context) (*step, error) {
	action, err := r.decision()
	if err != nil {
		err = r.reconsider(ctx, err)
	}
	r.look(action)
	var lost *lostRowsError
	switch about := errors.As(err, &lost); {
	case about && r.LostRows != "":
		return r.afterLoss(ctx, lost)
	case r.LostRows != "" && !r.tableReplaced():
		r.idle("--lost-rows", r.noChoice(err))
	}
	if err != nil {
		return nil, err
	}
	return r.after(ctx, action)
}

// look finds what a person should know beside the action: that this run goes on, or begins, otherwise than they may think.
func (r *run) look(action Action) {
	if r.StartGiven != "" && (action != First || r.entries.Start != nil) {
		r.idle(r.StartGiven, fmt.Sprintf("query %s has begun, and goes on where it is; only a new one (new name and checkpoint) begins elsewhere", r.Name))
	}
	if a := &r.table.Applied; a.Ledger == nil && a.Plan != "" {
		r.remark(fmt.Sprintf("the table's ledger of this query is gone: somebody removed the property %s%s. The history says that batch %d is the newest, and the run goes on from there; its counts begin anew, so that sluice verify cannot account for the rows of the batches before", batch.LedgerPrefix, r.queryID, a.Batch))
	}
	if r.OddLocation == nil || !r.empty || r.missing || !r.table.Exists {
		return
	}
	if odd := r.OddLocation(r.table.Location); odd != "" {
		r.remark(odd)
	}
}

// noChoice says why there is nothing to choose about lost rows.
func (r *run) noChoice(refusal error) string {
	plan := r.entries.Plan
	switch {
	case refusal != nil:
		return "what stops this run is no question of lost rows"
	case plan != nil && plan.Accepted != nil && r.entries.Commit < plan.Batch:
		return fmt.Sprintf("the plan of batch %d has recorded the choice %s, and is carried out", plan.Batch, plan.Accepted.Choice)
	}
	return "the " + r.table.Word() + " has lost no rows of this query"
}

// decision is decide for this run's query and table.
func (r *run) decision() (Action, error) {
	action, err := decide(r.entries, r.table)
	if err == nil && action == Replay {
		err = r.checkPlanned(r.entries.Plan)
	}
	if err == nil {
		return action, nil
	}
	if r.table.Applied.Batch == batch.None {
		if id := r.namesake(); id != "" {
			return "", otherIDFault(r.queryID, id, r.Name)
		}
	}
	var lost *lostRowsError
	if errors.As(err, &lost) && r.entries.Plan == nil {
		return "", &batch.Fault{Class: batch.Inconsistent, Message: lost.Error() + "; no plan is left in the checkpoint to go on from",
			Hint: "bring back the table, or the checkpoint's offsets/, from a backup; or start a new query (new name and checkpoint) with startingOffsets where it should read from"}
	}
	return "", err
}

// namesake is another query of this name that the table remembers, empty if there is none.
func (r *run) namesake() string {
	for _, id := range slices.Sorted(maps.Keys(r.table.Queries)) {
		if id != r.queryID && r.table.Queries[id] == r.Name {
			return id
		}
	}
	return ""
}

// otherIDFault is no question about lost rows: to read them again under another id would double them.
func otherIDFault(query, other, name string) error {
	return &batch.Fault{Class: batch.Inconsistent,
		Message: fmt.Sprintf("the checkpoint's metadata says that this is query %s, of which the table knows nothing; what it holds of %q is by query %s", query, name, other),
		Hint:    fmt.Sprintf(`if metadata was damaged or mixed up, write {"id":"%s"} there again; otherwise find out which query this checkpoint belongs to`, other),
	}
}

// reconsider looks at the table once more before a disagreement is believed: it was read before the log, so a run that
// committed in between makes it look behind.
func (r *run) reconsider(ctx context.Context, disagreement error) error {
	table, err := r.Sink.Table(ctx, r.queryID)
	if err != nil {
		return err
	}
	if table.Applied.Batch == r.table.Applied.Batch && table.UUID == r.table.UUID {
		return disagreement
	}
	return overtaken(fmt.Sprintf("the %s went from batch %d to batch %d while this run was starting", table.Word(), r.table.Applied.Batch, table.Applied.Batch))
}

func overtaken(what string) error {
	return &batch.Fault{Class: batch.Fenced, Message: "another run is active: " + what, Hint: "nothing to do: the other run goes on, nothing was harmed"}
}

// after is where an action leaves the query.
func (r *run) after(ctx context.Context, action Action) (*step, error) {
	s, plan, ledger := &step{action: action}, r.entries.Plan, r.table.Applied.Ledger
	switch action {
	case First:
		start, err := r.beginning(ctx)
		s.reached = start
		if i := r.identity.BeganAt(start); i != nil {
			s.topicIDs, s.epochs = i.TopicIDs, i.Epochs()
		}
		if err == nil {
			err = r.readMeanwhile(ctx, start)
		}
		return s, err
	case Rebuild:
		s.next, s.reached, s.topicIDs, s.epochs = ledger.Batch+1, ledger.Next(), ledger.TopicIDs, ledger.Epochs()
		return s, nil
	case Replay:
		// What is accepted is found again, to the offset, by whoever reads.
		if err := r.face(ctx, position{reached: plan.ReadFrom(), topicIDs: plan.TopicIDs, epochs: plan.LeaderEpochs, absent: plan.Absent}, plan); err != nil {
			return nil, err
		}
	}
	s.position = behind(plan)
	if plan.Foreign && ledger != nil {
		s.topicIDs = ledger.TopicIDs // Spark keeps no topic ids; ours from before are better than none
	}
	return s, nil
}

// behind is where a plan leaves the query.
func behind(plan *batch.Plan) position {
	return position{next: plan.Batch + 1, reached: plan.End, topicIDs: plan.TopicIDs, epochs: plan.LeaderEpochs, absent: plan.Absent}
}

// beginning is where a query begins that has planned nothing.
func (r *run) beginning(ctx context.Context) (start offsets.Offsets, err error) {
	if r.entries.Start != nil {
		return r.entries.Start, nil
	}
	if r.start == nil && r.identity != nil && r.identity.Imported != nil {
		return r.identity.Imported.Start(), nil
	}
	if r.start == nil {
		r.start, err = r.Source.Start(ctx)
	}
	return r.start, err
}

// afterLoss goes on as somebody chose about rows which the table lost. The next plan records the choice.
func (r *run) afterLoss(ctx context.Context, lost *lostRowsError) (*step, error) {
	plan, applied := r.entries.Plan, &r.table.Applied
	s := &step{action: Chosen, lost: lost, position: behind(plan)}
	s.accepted = &batch.Acceptance{Choice: r.LostRows, Batch: applied.Batch, Snapshot: applied.Snapshot}
	if r.LostRows == batch.Reread {
		return s, r.endOf(ctx, applied, &s.position)
	}
	if r.entries.Commit < plan.Batch {
		s.reached, s.losses = plan.Start, plan.Restarts()
	}
	return s, nil
}

// endOf moves to where the newest batch that is still in the table's history ended.
func (r *run) endOf(ctx context.Context, applied *batch.Applied, to *position) error {
	if applied.InHistory == batch.None {
		if applied.Cut || r.entries.Start == nil {
			return endUnknown("its history was expired")
		}
		to.reached = r.entries.Start
		return nil
	}
	plan, err := r.Log.ReadPlan(ctx, applied.InHistory)
	if err != nil {
		return err
	}
	if plan == nil {
		return endUnknown(fmt.Sprintf("the plan of batch %d is no longer in the checkpoint", applied.InHistory))
	}
	end := behind(plan)
	to.reached, to.epochs, to.absent = end.reached, end.epochs, end.absent
	if !plan.Foreign { // Spark keeps no topic ids; those of the newest plan are better than none
		to.topicIDs = end.topicIDs
	}
	return nil
}

func endUnknown(because string) error {
	return &batch.Fault{Class: batch.Inconsistent, Message: "where the rows that are still in the table end cannot be told: " + because,
		Hint: "use --lost-rows accept, or start a new query (new name and checkpoint) with startingOffsets where it should read again from"}
}

// perform carries out what nextStep said; the table is there.
func (r *run) perform(ctx context.Context, s *step) error {
	switch plan := r.entries.Plan; s.action {
	case First:
		return r.pin(ctx, s)
	case Rebuild:
		if err := r.list(ctx); err != nil {
			return err
		}
		return r.restoreEntries(ctx)
	case Mark:
		return r.mark(ctx, plan.Batch)
	case Replay:
		return r.carryOut(ctx, plan, true, r.Now())
	case Chosen:
		r.Reporter.Warning("going on after lost rows as chosen", "choice", r.LostRows, "from", s.reached, "because", s.lost.Error())
	}
	return nil
}

// mark writes the marker of a batch that is there already, and has the sink make up for what it did not come to.
func (r *run) mark(ctx context.Context, n int64) error {
	if err := r.list(ctx); err != nil {
		return err
	}
	if err := r.Log.WriteCommit(ctx, n); err != nil {
		return err
	}
	r.Reporter.Notice("batch was in the "+r.table.Word()+" already; wrote its marker", "batch", n)
	if r.table.Folder {
		return nil
	}
	if err := r.Sink.Maintain(ctx, &r.table.Applied); err != nil {
		r.Reporter.Notice(r.table.Word()+" maintenance failed; it is tried again later, no row is affected", "batch", n, "error", err)
	}
	return nil
}

// list has the log by which Spark reads a folder list its newest batch, which a commit that was cut short may not have come to. That
// comes before the marker: a Spark that takes over goes by both, and would never list a batch that has the marker alone.
func (r *run) list(ctx context.Context) error {
	if !r.table.Folder {
		return nil
	}
	return r.Sink.Maintain(ctx, &r.table.Applied)
}

// enter takes over where a step leaves the query. After some of them, what is available now has to be read again: the
// view may be of the plan's isolation level, or old by the time that a replay has ended.
func (r *run) enter(s *step) {
	r.position = s.position
	if s.action != First && s.action != Next {
		r.view = nil
	}
}

// pin writes where the query starts, before anything is planned: a "latest" that was resolved must not be resolved
// again after a crash.
func (r *run) pin(ctx context.Context, s *step) error {
	if r.entries.Start != nil {
		return nil
	}
	pinned, err := r.Log.PinStart(ctx, s.reached)
	if err != nil {
		return err
	}
	if !pinned.Equal(s.reached) {
		r.view = nil // another run pinned it, and may know partitions that ours was too early for
	}
	s.reached, r.summary.Began = pinned, pinned
	r.Reporter.Notice("a new query begins", "query", r.Name, "id", r.queryID, "at", places(pinned))
	return nil
}

// places names the first few partitions with an offset each.
func places(at offsets.Offsets) string {
	var named []string
	for _, tp := range at.Partitions() {
		named = append(named, fmt.Sprintf("%s from %d", tp, at[tp]))
	}
	return list(named)
}

// restoreEntries writes the checkpoint's newest entries again from the table's ledger.
func (r *run) restoreEntries(ctx context.Context) error {
	applied := &r.table.Applied
	newest := batch.None
	if r.entries.Plan != nil {
		newest = r.entries.Plan.Batch
	}
	r.Reporter.Notice("the "+r.table.Word()+" is ahead of the checkpoint (lost in part, or restored from a backup?): rebuilding its newest entries from the "+r.table.Word(),
		"table", applied.Batch, "checkpoint", newest)
	for _, plan := range rebuilt(applied, r.Isolation, map[string]string{mainTable: r.table.UUID}) {
		if plan.Batch > newest {
			plan.TimestampMs, plan.Nonce, plan.LeaseEpoch = r.Now().UnixMilli(), uuid.NewString(), r.epoch
			if err := r.Log.WritePlan(ctx, plan); err != nil {
				return err
			}
		}
		if err := r.Log.WriteCommit(ctx, plan.Batch); err != nil {
			return err
		}
	}
	return nil
}

// rebuilt is the pair of entries that stands for what the ledger says: batch T-1 and T, both ending where T ended. The
// ranges of the lost plans are not known any more and not needed: what follows starts at T's end.
func rebuilt(applied *batch.Applied, isolation batch.Isolation, tables map[string]string) []*batch.Plan {
	ledger := applied.Ledger
	next := ledger.Next()
	epochs := ledger.Epochs()
	var plans []*batch.Plan
	for n := max(0, ledger.Batch-1); n <= ledger.Batch; n++ {
		plan := &batch.Plan{Batch: n, Start: next, End: next, TopicIDs: ledger.TopicIDs, LeaderEpochs: epochs, Tables: tables, Isolation: isolation}
		if n == ledger.Batch {
			plan.Rebuilt = ledger.Plan
		}
		plans = append(plans, plan)
	}
	return plans
}
