package batch

import (
	"maps"
	"slices"

	"sluice/offsets"
)

// LedgerPrefix begins the name of every ledger property of a table; the query's id follows.
const LedgerPrefix = "sluice.query."

// maxPropertyBytes bounds each property value: Hive's metastore keeps 4,000 characters, often less after encoding.
const maxPropertyBytes = 3500

// Ledger is what a table remembers of one query. It is a table property set in the same commit as the batch's
// files, so it is right whatever becomes of the process, and it survives snapshot expiry, compaction and other
// writers, which summaries of snapshots do not.
type Ledger struct {
	Query string
	Name  string
	// Batch is the newest batch applied, Plan its hash and Run the run that applied it.
	Batch int64
	Plan  string
	Run   string
	// Snapshot and Sequence are the snapshot that applied it and that snapshot's sequence number. They tell a rollback
	// from an expiry.
	Snapshot int64
	Sequence int64
	// Uncounted is the newest batch that carried out a decision about lost rows (Acceptance), None if there was no
	// such decision. Up to it the accounts count rows that the table may not have.
	Uncounted int64
	// Branch is the branch of the table that the query writes to, empty for main.
	Branch string
	// TopicIDs are the ids of the topics read, where known.
	TopicIDs map[string]string
	Accounts map[offsets.TopicPartition]Account
	// Past are the accounts of logs that are gone: of topics that were created again under their name, and of logs that were
	// cut below what was read of them. The oldest of a partition comes first.
	Past []PastAccount
	// Lost are the newest ranges whose loss was accepted, the oldest first; at most MostLost, and none of a log that is gone.
	// Accounts count all.
	Lost []offsets.Range
	// Letters is what Batch put into a table of dead letters; nil in the ledger of any other table.
	Letters *Letters
}

// Account is what a query has applied of one partition, over all its batches.
type Account struct {
	// First is the first offset ever planned, Next the next one to read.
	First, Next int64
	// Epoch is the leader epoch that the last plan saw, -1 if unknown.
	Epoch int32
	// Rows, DeadLetters and Dropped count records by where they went. In the ledger of a table of dead letters Rows are those
	// in it.
	Rows, DeadLetters, Dropped int64
	// Lost counts offsets whose loss was accepted.
	Lost int64
	// Nulled counts those of the rows whose record was malformed, so that its columns are null.
	Nulled int64
	// Replayed counts the dead letters that are rows besides, since they were decoded again.
	Replayed int64
}

// PastAccount is what a query applied of a log that is gone.
type PastAccount struct {
	offsets.TopicPartition
	// TopicID is the id of the topic that it was of, empty if unknown.
	TopicID string
	Account
	// Cut is where the log was cut that goes on under the same topic id: offsets from there on are other records now. It is
	// -1 where the topic is another one.
	Cut int64
}

// MostLost is how many ranges of accepted losses a ledger names.
const MostLost = 100

// Next maps every partition to the next offset to read.
func (l *Ledger) Next() offsets.Offsets {
	next := make(offsets.Offsets, len(l.Accounts))
	for tp, a := range l.Accounts {
		next[tp] = a.Next
	}
	return next
}

// Epochs maps every partition to the leader epoch that the last plan saw, as far as it is known.
func (l *Ledger) Epochs() map[offsets.TopicPartition]int32 {
	epochs := map[offsets.TopicPartition]int32{}
	for tp, a := range l.Accounts {
		if a.Epoch >= 0 {
			epochs[tp] = a.Epoch
		}
	}
	return epochs
}

// Rows sums the rows of all partitions.
func (l *Ledger) Rows() int64 {
	var n int64
	for _, a := range l.Accounts {
		n += a.Rows
	}
	for _, p := range l.Past {
		n += p.Rows
	}
	return n
}

// Advance is the ledger after a batch: prior (nil before the first batch) with the plan's ends and the results' counts
// added. Snapshot and Sequence are left for the committer, which knows them. It depends on its arguments alone.
func Advance(prior *Ledger, plan *Plan, query, name, run string, results []TaskResult) *Ledger {
	l := &Ledger{Query: query, Name: name, Batch: plan.Batch, Plan: plan.Hash, Run: run, Uncounted: None,
		TopicIDs: map[string]string{}, Accounts: map[offsets.TopicPartition]Account{}}
	if prior != nil {
		l.Uncounted = prior.Uncounted
		maps.Copy(l.TopicIDs, prior.TopicIDs)
		maps.Copy(l.Accounts, prior.Accounts)
		l.Past, l.Lost = slices.Clone(prior.Past), slices.Clone(prior.Lost)
	}
	if plan.Accepted != nil {
		l.Uncounted = plan.Batch
	}
	l.leave(plan)
	maps.Copy(l.TopicIDs, plan.TopicIDs)
	for tp, end := range plan.End {
		a, ok := l.Accounts[tp]
		if !ok {
			a.First = plan.Start[tp]
		}
		a.Next, a.Epoch = end, -1
		if epoch, ok := plan.LeaderEpochs[tp]; ok {
			a.Epoch = epoch
		}
		l.Accounts[tp] = a
	}
	for _, r := range results {
		for _, p := range r.Pieces {
			tp := p.Range().TopicPartition
			a := l.Accounts[tp]
			a.Rows += p.Rows
			a.DeadLetters += p.DeadLetters
			a.Dropped += p.Dropped
			a.Nulled += p.Nulled
			l.Accounts[tp] = a
		}
	}
	for _, loss := range append(slices.Clip(plan.Losses), LostIn(results)...) {
		l.lose(loss)
	}
	return l
}

// leave closes the accounts of logs that a plan leaves behind.
func (l *Ledger) leave(plan *Plan) {
	restarts := plan.restarts()
	for _, tp := range slices.SortedFunc(maps.Keys(restarts), offsets.Compare) {
		a, known := l.Accounts[tp]
		past := PastAccount{TopicPartition: tp, TopicID: l.TopicIDs[tp.Topic], Account: a, Cut: -1}
		if !known { // nothing was read of it: where the query was to begin is all that is left of that log
			past.TopicID, past.Account = restarts[tp].TopicID, Account{First: restarts[tp].From, Next: restarts[tp].From, Epoch: -1}
		}
		if restarts[tp].Cause == Diverged {
			past.Cut = plan.Start[tp]
		}
		l.Past = append(l.Past, past)
		delete(l.Accounts, tp)
		l.Lost = slices.DeleteFunc(l.Lost, func(r offsets.Range) bool { return r.TopicPartition == tp })
	}
}

// lose counts an accepted loss: with the log that had it, where that is gone.
func (l *Ledger) lose(loss Loss) {
	n := loss.Range().Len()
	a, known := l.Accounts[loss.at()]
	if n == 0 || !known || loss.From < a.First || loss.Until > a.Next {
		return
	}
	a.Lost += n
	l.Accounts[loss.at()] = a
	if l.Lost = append(l.Lost, loss.Range()); len(l.Lost) > MostLost {
		l.Lost = slices.Delete(l.Lost, 0, len(l.Lost)-MostLost)
	}
}
