package batch

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
)

// DeadLetterOutput is the shape of the place of dead letters that a task's files are written for. The place is in the
// task's Value.
type DeadLetterOutput struct {
	SchemaID int `json:"schemaId"`
	SpecID   int `json:"specId"`
}

// DeadLetters are the files that one attempt at a task wrote for the table of dead letters.
type DeadLetters struct {
	Files    []DataFile `json:"files"`
	SchemaID int        `json:"schemaId"`
	SpecID   int        `json:"specId"`
	// Digest is that of the records in them.
	Digest Digest `json:"digest"`
}

// fits checks the files against what was asked for and counted.
func (d *DeadLetters) fits(t *Task, counted int64) error {
	if d == nil {
		if counted > 0 {
			return fmt.Errorf("%d dead letters, and no file has them", counted)
		}
		return nil
	}
	if t.DeadLetters == nil {
		return fmt.Errorf("there are files of dead letters, and none were to be written")
	}
	if d.SchemaID != t.DeadLetters.SchemaID || d.SpecID != t.DeadLetters.SpecID {
		return fmt.Errorf("files of dead letters have schema %d and spec %d, want %d and %d", d.SchemaID, d.SpecID, t.DeadLetters.SchemaID, t.DeadLetters.SpecID)
	}
	var records int64
	for _, f := range d.Files {
		records += f.Records
	}
	if records != counted {
		return fmt.Errorf("%d dead letters, but their files hold %d", counted, records)
	}
	return nil
}

// Misfits says which records are no rows.
type Misfits struct {
	// Malformed counts those that a policy for malformed records was asked about.
	Malformed int64 `json:"malformed"`
	// Reasons counts all of them, and tombstones that went to the dead letters, by why they are no rows.
	Reasons map[string]int64 `json:"reasons"`
	// Examples are the first few.
	Examples []Misfit `json:"examples"`
}

// Misfit is one record that is no row.
type Misfit struct {
	Topic     string `json:"topic"`
	Partition int32  `json:"partition"`
	Offset    int64  `json:"offset"`
	Reason    string `json:"reason"`
	// Text says what is wrong, and is safe for a terminal.
	Text string `json:"text"`
}

// MaxExamples is how many bad records are told one by one.
const MaxExamples = 5

// Add counts what other counts.
func (m *Misfits) Add(other *Misfits) {
	if other == nil {
		return
	}
	m.Malformed += other.Malformed
	if m.Reasons == nil {
		m.Reasons = map[string]int64{}
	}
	for reason, n := range other.Reasons {
		m.Reasons[reason] += n
	}
	m.Examples = append(m.Examples, other.Examples[:min(len(other.Examples), max(0, MaxExamples-len(m.Examples)))]...)
}

// Digest identifies a set of records, each by topic, partition and offset, whatever their order and however they were
// split: the sum of the SHA-256 of each, modulo 2^256. The zero value is that of no record.
type Digest [sha256.Size]byte

// Add puts a record into the set. One that is in it already makes it another set.
func (d *Digest) Add(topic string, partition int32, offset int64) {
	d.Plus(sha256.Sum256(fmt.Appendf(nil, "%s\x00%d\x00%d", topic, partition, offset)))
}

// Plus puts the records of another set into the set.
func (d *Digest) Plus(other Digest) {
	carry := uint64(0)
	for i := len(d) - 1; i >= 0; i-- {
		sum := uint64(d[i]) + uint64(other[i]) + carry
		d[i], carry = byte(sum), sum>>8
	}
}

// MarshalText is the digest in hex.
func (d Digest) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// String is the digest in hex.
func (d Digest) String() string { return hex.EncodeToString(d[:]) }

// UnmarshalText reads what MarshalText writes.
func (d *Digest) UnmarshalText(text []byte) error {
	b, err := hex.DecodeString(string(text))
	if err == nil && len(b) != len(d) {
		err = fmt.Errorf("%d bytes are no digest of %d", len(b), len(d))
	}
	copy(d[:], b)
	return err
}

// Letters is what a batch put into a table of dead letters.
type Letters struct {
	Count  int64  `json:"count"`
	Digest Digest `json:"digest"`
}

// DeadLetterResults are results with the dead letters for their rows: what a commit to their table takes.
func DeadLetterResults(results []TaskResult) (letters []TaskResult, all Letters) {
	for _, r := range results {
		d := r.DeadLetters
		if d == nil {
			continue
		}
		all.Digest.Plus(d.Digest)
		own := TaskResult{Version: r.Version, Query: r.Query, Batch: r.Batch, Plan: r.Plan, Index: r.Index, Attempt: r.Attempt,
			Files: d.Files, SchemaID: d.SchemaID, SpecID: d.SpecID}
		for _, p := range r.Pieces {
			all.Count += p.DeadLetters
			own.Pieces = append(own.Pieces, PieceResult{Piece: p.Piece, Position: p.Position, Delivered: p.DeadLetters, Rows: p.DeadLetters})
		}
		letters = append(letters, own)
	}
	return letters, all
}

// Ledger is the ledger of a commit's table after it, prior being the one before.
func (c *Commit) Ledger(prior *Ledger) *Ledger {
	l := Advance(prior, c.Plan, c.Query, c.Name, c.Run, c.Results)
	l.Letters = c.DeadLetters
	return l
}
