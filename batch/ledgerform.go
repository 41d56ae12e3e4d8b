package batch

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"sluice/offsets"
)

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
	// nulled and replayed. Of a topic that is Past all are there, and where its log was cut, or -1.
	P    []ledgerRow `json:"p"`
	Past bool        `json:"past,omitempty"`
	// L are ranges that were lost: partition, from, until.
	L [][3]int64 `json:"l,omitempty"`
}

// ledgerRow is one account; as a slice, so that one with too few numbers is noticed.
type ledgerRow []int64

// rowLength is how many numbers an account has at least, and longestRow at most; one of the past has pastRow.
const (
	rowLength  = 8
	longestRow = 10
	pastRow    = 11
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

// topics lists the accounts by topic, then what was lost, then the past.
func (l *Ledger) topics() []ledgerTopic {
	var topics []ledgerTopic
	for _, tp := range slices.SortedFunc(maps.Keys(l.Accounts), offsets.Compare) {
		a := l.Accounts[tp]
		row := a.row(tp.Partition)
		if a.Replayed == 0 {
			row = row[:longestRow-1]
		}
		if a.Replayed == 0 && a.Nulled == 0 {
			row = row[:rowLength]
		}
		topics = grown(topics, ledgerTopic{Topic: tp.Topic, ID: l.TopicIDs[tp.Topic], P: []ledgerRow{row}})
	}
	for _, r := range l.Lost {
		topics = grown(topics, ledgerTopic{Topic: r.Topic, ID: l.TopicIDs[r.Topic], L: [][3]int64{{int64(r.Partition), r.From, r.Until}}})
	}
	for _, p := range l.Past {
		topics = grown(topics, ledgerTopic{Topic: p.Topic, ID: p.TopicID, Past: true, P: []ledgerRow{append(p.Account.row(p.Partition), p.Cut)}})
	}
	return topics
}

// row is all of an account.
func (a Account) row(partition int32) ledgerRow {
	return ledgerRow{int64(partition), a.First, a.Next, int64(a.Epoch), a.Rows, a.DeadLetters, a.Dropped, a.Lost, a.Nulled, a.Replayed}
}

func accountOf(p ledgerRow) Account {
	return Account{First: p[1], Next: p[2], Epoch: int32(p[3]), Rows: p[4], DeadLetters: p[5], Dropped: p[6], Lost: p[7], Nulled: p[8], Replayed: p[9]}
}

// grown adds to the last of the topics if that is the same, else one more.
func grown(topics []ledgerTopic, more ledgerTopic) []ledgerTopic {
	if n := len(topics); n > 0 && topics[n-1].Topic == more.Topic && topics[n-1].ID == more.ID && topics[n-1].Past == more.Past {
		topics[n-1].P, topics[n-1].L = append(topics[n-1].P, more.P...), append(topics[n-1].L, more.L...)
		return topics
	}
	if more.P == nil {
		more.P = []ledgerRow{}
	}
	return append(topics, more)
}

// pack fills as few values as it can, a topic's partitions split where they must be.
func pack(topics []ledgerTopic) ([]string, error) {
	var parts []string
	var current []ledgerTopic
	size := len("[]")
	flush := func() error {
		text, err := json.Marshal(current)
		parts, current, size = append(parts, string(text)), nil, len("[]")
		return err
	}
	for _, one := range apart(topics) {
		alone, added, err := one.sizes(current)
		if err != nil {
			return nil, err
		}
		if size+added > maxPropertyBytes && len(current) > 0 {
			if err := flush(); err != nil {
				return nil, err
			}
			added = alone
		}
		current, size = grown(current, one), size+added
	}
	if len(current) == 0 {
		return parts, nil
	}
	return parts, flush()
}

// apart is the topics with one row each.
func apart(topics []ledgerTopic) (rows []ledgerTopic) {
	for _, t := range topics {
		for _, p := range t.P {
			rows = append(rows, ledgerTopic{Topic: t.Topic, ID: t.ID, Past: t.Past, P: []ledgerRow{p}})
		}
		for _, r := range t.L {
			rows = append(rows, ledgerTopic{Topic: t.Topic, ID: t.ID, Past: t.Past, P: []ledgerRow{}, L: [][3]int64{r}})
		}
	}
	return rows
}

// sizes is how many bytes a topic with one row takes alone, and how many more it makes of what is there.
func (t ledgerTopic) sizes(current []ledgerTopic) (alone, added int, err error) {
	size := func(v any) (n int) {
		text, failed := json.Marshal(v)
		err = cmp.Or(err, failed)
		return len(text) + len(",")
	}
	alone = size(t)
	if n := len(current); n == 0 || current[n-1].Topic != t.Topic || current[n-1].ID != t.ID || current[n-1].Past != t.Past {
		return alone, alone, err
	}
	if len(t.P) > 0 {
		return alone, size(t.P[0]), err
	}
	if added = size(t.L[0]); len(current[len(current)-1].L) == 0 {
		added += len(`"l":[]`)
	}
	return alone, added, err
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
		if err := l.take(t); err != nil {
			return nil, fmt.Errorf("table property %s: %w", key, err)
		}
	}
	return l, nil
}

// take adds what is stored of a topic.
func (l *Ledger) take(t ledgerTopic) error {
	if t.Past {
		return l.takePast(t)
	}
	if t.ID != "" {
		l.TopicIDs[t.Topic] = t.ID
	}
	for _, p := range t.P {
		if len(p) < rowLength || len(p) > longestRow {
			return fmt.Errorf("an account of topic %q has %d numbers, want %d to %d", t.Topic, len(p), rowLength, longestRow)
		}
		p = append(p, make(ledgerRow, longestRow-len(p))...)
		tp := offsets.TopicPartition{Topic: t.Topic, Partition: int32(p[0])}
		if _, ok := l.Accounts[tp]; ok {
			return fmt.Errorf("%s is there twice", tp)
		}
		l.Accounts[tp] = accountOf(p)
	}
	for _, r := range t.L {
		l.Lost = append(l.Lost, offsets.Range{TopicPartition: offsets.TopicPartition{Topic: t.Topic, Partition: int32(r[0])}, From: r[1], Until: r[2]})
	}
	return nil
}

func (l *Ledger) takePast(t ledgerTopic) error {
	for _, p := range t.P {
		if len(p) != pastRow {
			return fmt.Errorf("an account of the past of topic %q has %d numbers, want %d", t.Topic, len(p), pastRow)
		}
		tp := offsets.TopicPartition{Topic: t.Topic, Partition: int32(p[0])}
		l.Past = append(l.Past, PastAccount{TopicPartition: tp, TopicID: t.ID, Account: accountOf(p), Cut: p[pastRow-1]})
	}
	return nil
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
