package batch

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

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

// Next maps every partition to the next offset to read.
func (l *Ledger) Next() offsets.Offsets {
	next := make(offsets.Offsets, len(l.Accounts))
	for tp, a := range l.Accounts {
		next[tp] = a.Next
	}
	return next
}

// Rows sums the rows of all partitions.
func (l *Ledger) Rows() int64 {
	var n int64
	for _, a := range l.Accounts {
		n += a.Rows
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
	}
	if plan.Accepted != nil {
		l.Uncounted = plan.Batch
	}
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
	return l
}

// The stored form: one property sluice.query.<id> with the head, and the topics in it or, where they do not fit, in
// sluice.query.<id>.0, .1, … of the same commit.
type ledgerHead struct {
	V        int    `json:"v"`
	Name     string `json:"name"`
	Batch    int64  `json:"batch"`
	Snapshot int64  `json:"snapshot"`
	Sequence int64  `json:"sequence"`
	Plan     string `json:"plan"`
	Run      string `json:"run"`
	// Uncounted is the batch plus one, so that absent means none.
	Uncounted int64         `json:"uncounted,omitempty"`
	Branch    string        `json:"branch,omitempty"`
	Parts     int           `json:"parts,omitempty"`
	Topics    []ledgerTopic `json:"topics,omitempty"`
	Letters   *Letters      `json:"letters,omitempty"`
}

type ledgerTopic struct {
	Topic string `json:"t"`
	ID    string `json:"id,omitempty"`
	// P holds per partition: number, first, next, epoch, rows, dead letters, dropped, lost, and, up to the last that is not 0,
	// nulled and replayed.
	P []ledgerRow `json:"p"`
}

// ledgerRow is one account; as a slice, so that one with too few numbers is noticed.
type ledgerRow []int64

// rowLength is how many numbers an account has at least, and longestRow at most.
const (
	rowLength  = 8
	longestRow = 10
)

// Properties is the ledger as table properties. Every value stays under 3,500 bytes.
func (l *Ledger) Properties() (map[string]string, error) {
	head := ledgerHead{V: FormatVersion, Name: l.Name, Batch: l.Batch, Snapshot: l.Snapshot, Sequence: l.Sequence, Plan: l.Plan, Run: l.Run, Uncounted: l.Uncounted + 1, Branch: l.Branch, Letters: l.Letters}
	topics := l.topics()
	key := LedgerPrefix + l.Query
	head.Topics = topics
	if text, err := json.Marshal(head); err != nil {
		return nil, err
	} else if len(text) <= maxPropertyBytes {
		return map[string]string{key: string(text)}, nil
	}
	parts, err := pack(topics)
	if err != nil {
		return nil, err
	}
	head.Topics, head.Parts = nil, len(parts)
	text, err := json.Marshal(head)
	if err != nil {
		return nil, err
	}
	if len(text) > maxPropertyBytes {
		return nil, fmt.Errorf("ledger of query %q: the head alone takes %d bytes of %d: shorten the query's name", l.Name, len(text), maxPropertyBytes)
	}
	props := map[string]string{key: string(text)}
	for k, part := range parts {
		props[key+"."+strconv.Itoa(k)] = part
	}
	return props, nil
}

func (l *Ledger) topics() []ledgerTopic {
	var topics []ledgerTopic
	for _, tp := range slices.SortedFunc(maps.Keys(l.Accounts), offsets.Compare) {
		if len(topics) == 0 || topics[len(topics)-1].Topic != tp.Topic {
			topics = append(topics, ledgerTopic{Topic: tp.Topic, ID: l.TopicIDs[tp.Topic]})
		}
		a := l.Accounts[tp]
		t := &topics[len(topics)-1]
		row := ledgerRow{int64(tp.Partition), a.First, a.Next, int64(a.Epoch), a.Rows, a.DeadLetters, a.Dropped, a.Lost}
		if a.Nulled != 0 || a.Replayed != 0 {
			row = append(row, a.Nulled)
		}
		if a.Replayed != 0 {
			row = append(row, a.Replayed)
		}
		t.P = append(t.P, row)
	}
	return topics
}

// pack fills as few values as it can, a topic's partitions split where they must be.
func pack(topics []ledgerTopic) ([]string, error) {
	var parts []string
	var current []ledgerTopic
	size := 2
	flush := func() error {
		if len(current) == 0 {
			return nil
		}
		text, err := json.Marshal(current)
		if err != nil {
			return err
		}
		parts = append(parts, string(text))
		current, size = nil, 2
		return nil
	}
	for _, t := range topics {
		for _, p := range t.P {
			row, err := json.Marshal(p)
			if err != nil {
				return nil, err
			}
			need := len(row) + 1
			fresh := len(current) == 0 || current[len(current)-1].Topic != t.Topic
			if fresh {
				shell, err := json.Marshal(ledgerTopic{Topic: t.Topic, ID: t.ID, P: []ledgerRow{}})
				if err != nil {
					return nil, err
				}
				need += len(shell) + 1
			}
			if size+need > maxPropertyBytes && len(current) > 0 {
				if err := flush(); err != nil {
					return nil, err
				}
				shell, err := json.Marshal(ledgerTopic{Topic: t.Topic, ID: t.ID, P: []ledgerRow{}})
				if err != nil {
					return nil, err
				}
				need, fresh = len(row)+len(shell)+2, true
			}
			if fresh {
				current = append(current, ledgerTopic{Topic: t.Topic, ID: t.ID})
			}
			last := &current[len(current)-1]
			last.P = append(last.P, p)
			size += need
		}
	}
	if err := flush(); err != nil {
		return nil, err
	}
	return parts, nil
}

// ParseLedger reads the ledger of a query out of a table's properties; nil if there is none. A ledger that is there
// and cannot be read whole is an error, never nil.
func ParseLedger(properties map[string]string, query string) (*Ledger, error) {
	key := LedgerPrefix + query
	text, ok := properties[key]
	if !ok {
		return nil, nil
	}
	var head ledgerHead
	if err := json.Unmarshal([]byte(text), &head); err != nil {
		return nil, fmt.Errorf("table property %s: %w", key, err)
	}
	if head.V != FormatVersion {
		return nil, fmt.Errorf("table property %s has format version %d, this program knows %d", key, head.V, FormatVersion)
	}
	topics := head.Topics
	for k := range head.Parts {
		name := key + "." + strconv.Itoa(k)
		part, ok := properties[name]
		if !ok {
			return nil, fmt.Errorf("table property %s is missing: %s counts %d parts", name, key, head.Parts)
		}
		var more []ledgerTopic
		if err := json.Unmarshal([]byte(part), &more); err != nil {
			return nil, fmt.Errorf("table property %s: %w", name, err)
		}
		topics = append(topics, more...)
	}
	l := &Ledger{Query: query, Name: head.Name, Batch: head.Batch, Plan: head.Plan, Run: head.Run, Snapshot: head.Snapshot,
		Sequence: head.Sequence, Uncounted: head.Uncounted - 1, Branch: head.Branch, Letters: head.Letters, TopicIDs: map[string]string{}, Accounts: map[offsets.TopicPartition]Account{}}
	for _, t := range topics {
		if t.ID != "" {
			l.TopicIDs[t.Topic] = t.ID
		}
		for _, p := range t.P {
			if len(p) < rowLength || len(p) > longestRow {
				return nil, fmt.Errorf("table property %s: an account of topic %q has %d numbers, want %d to %d", key, t.Topic, len(p), rowLength, longestRow)
			}
			p = append(p, make(ledgerRow, longestRow-len(p))...)
			tp := offsets.TopicPartition{Topic: t.Topic, Partition: int32(p[0])}
			if _, ok := l.Accounts[tp]; ok {
				return nil, fmt.Errorf("table property %s: %s is there twice", key, tp)
			}
			l.Accounts[tp] = Account{First: p[1], Next: p[2], Epoch: int32(p[3]),
				Rows: p[4], DeadLetters: p[5], Dropped: p[6], Lost: p[7], Nulled: p[8], Replayed: p[9]}
		}
	}
	return l, nil
}

// LedgerQueries lists the ids of all queries that have a ledger among a table's properties, with their names.
func LedgerQueries(properties map[string]string) (map[string]string, error) {
	names := map[string]string{}
	for key := range properties {
		id, ok := strings.CutPrefix(key, LedgerPrefix)
		if !ok || strings.Contains(id, ".") { // a part: query ids are UUIDs and hold no dot
			continue
		}
		l, err := ParseLedger(properties, id)
		if err != nil {
			return nil, err
		}
		names[id] = l.Name
	}
	return names, nil
}
