package files

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"

	"sluice/batch"
)

// Manifest makes one batch part of the folder. It is written once and never replaced.
type Manifest struct {
	V int `json:"v"`
	// Folder is the UUID of the folder that it was made for.
	Folder string `json:"folder"`
	// Query is the query's id, Name its name.
	Query string `json:"query"`
	Name  string `json:"name"`
	// Batch is the batch's number; Previous that of the batch before it in the folder, -1 if there is none. The batches of
	// a query are those that are met on the way back from the newest one: a manifest that is not among them counts for
	// nothing.
	Batch    int64 `json:"batch"`
	Previous int64 `json:"previous"`
	// Plan is the hash of the batch's plan, Run the run that wrote this, Attempt tells its bytes from those of any other run.
	Plan    string `json:"plan"`
	Run     string `json:"run"`
	Attempt string `json:"attempt"`
	// WrittenMs is when it was made, in milliseconds since 1970, for people.
	WrittenMs int64 `json:"writtenMs"`
	// Schema numbers the folder's columns that the files were written with.
	Schema int    `json:"schema"`
	Counts Counts `json:"counts"`
	// Spark is what a Spark query has written on the same checkpoint between Previous and Batch; nil for nothing.
	Spark *Turn `json:"spark,omitempty"`
	// Files are the batch's data files; paths are relative to the folder, statistics by field id.
	Files []batch.DataFile `json:"files"`
	// Altered says how the folder's columns were altered for the batch; Accepted is set where somebody has decided about
	// batches that the folder had lost.
	Altered  []string          `json:"altered,omitempty"`
	Accepted *batch.Acceptance `json:"accepted,omitempty"`
	// Losses is what the batch goes on without, by the job's policies.
	Losses []batch.Loss `json:"losses,omitempty"`
	// Ledger is what the query has done up to this batch, in the form of an Iceberg table's properties.
	Ledger map[string]string `json:"ledger,omitempty"`
	// Alone are the batches before it whose manifests must stand alone beside it, in order: those that are met on the way back
	// from it, and are of no range yet while it is the newest. Whoever lists the folder sees by it that one of them is gone.
	Alone []span `json:"alone,omitempty"`

	// id stands for the snapshot that a table would have: the first 63 bits of the SHA-256 of the manifest's bytes.
	id int64
}

// span is batches that follow each other without a gap: the first and the last.
type span [2]int64

// numbersOf are the numbers in spans.
func numbersOf(spans []span) (all []int64) {
	for _, s := range spans {
		for n := s[0]; n <= s[1]; n++ {
			all = append(all, n)
		}
	}
	return all
}

// aloneBefore is what a manifest says that stands alone before it. There are never more than two ranges of them.
func aloneBefore(newest *Manifest, n int64) (spans []span) {
	for _, before := range append(numbersOf(newest.Alone), newest.Batch) {
		last := len(spans) - 1
		switch {
		case rangedBy(before, n):
		case last >= 0 && spans[last][1]+1 == before:
			spans[last][1] = before
		default:
			spans = append(spans, span{before, before})
		}
	}
	return spans
}

// Counts says where the records of a batch went.
type Counts struct {
	Rows        int64 `json:"rows"`
	DeadLetters int64 `json:"deadLetters"`
	Dropped     int64 `json:"dropped"`
	Nulled      int64 `json:"nulled"`
}

func countsOf(results []batch.TaskResult) (c Counts) {
	for i := range results {
		for _, p := range results[i].Pieces {
			c.Rows += p.Rows
			c.DeadLetters += p.DeadLetters
			c.Dropped += p.Dropped
			c.Nulled += p.Nulled
		}
	}
	return c
}

// parseManifest reads what stands under the name of a query's batch.
func parseManifest(text []byte, query string, n int64) (*Manifest, error) {
	var m Manifest
	if err := json.Unmarshal(text, &m); err != nil {
		return nil, err
	}
	switch {
	case m.V != m.version():
		return nil, fmt.Errorf("it has format version %d, this program knows %d, and %d with batches of Spark's", m.V, formatVersion, sparkVersion)
	case m.Query != query || m.Batch != n:
		return nil, fmt.Errorf("it is of batch %d of query %s", m.Batch, m.Query)
	case m.Previous >= m.Batch || m.Previous < batch.None:
		return nil, fmt.Errorf("it says that batch %d came before it", m.Previous)
	}
	if t := m.Spark; t != nil && (t.From <= m.Previous || t.Until < t.From || t.Until >= m.Batch) {
		return nil, fmt.Errorf("it says that Spark wrote the batches %d to %d between %d and %d", t.From, t.Until, m.Previous, m.Batch)
	}
	last := batch.None
	for _, s := range m.Alone {
		if s[0] <= last || s[1] < s[0] || s[1] >= n || s[1]-s[0] >= rangeSize+keptAlone {
			return nil, fmt.Errorf("it says that the batches %d to %d stand alone before it", s[0], s[1])
		}
		last = s[1]
	}
	ledger, err := m.ledger()
	if err != nil {
		return nil, err
	}
	if ledger.Batch != n || ledger.Plan != m.Plan {
		return nil, fmt.Errorf("its ledger is of batch %d, plan %.12s", ledger.Batch, ledger.Plan)
	}
	sum := sha256.Sum256(text)
	m.id = int64(binary.BigEndian.Uint64(sum[:8]) >> 1)
	return &m, nil
}

// version is the version of its form.
func (m *Manifest) version() int {
	if m.Spark != nil {
		return sparkVersion
	}
	return formatVersion
}

// ledger is the query's ledger after the batch.
func (m *Manifest) ledger() (*batch.Ledger, error) {
	l, err := batch.ParseLedger(m.Ledger, m.Query)
	if err == nil && l == nil {
		err = fmt.Errorf("it has no ledger of query %s", m.Query)
	}
	if err == nil {
		l.Snapshot = m.id // which cannot be in the bytes
	}
	return l, err
}

// applied is what the folder says of the query while this manifest is the newest.
func (m *Manifest) applied() (*batch.Applied, error) {
	l, err := m.ledger()
	if err != nil {
		return nil, err
	}
	return &batch.Applied{Batch: m.Batch, Plan: m.Plan, Snapshot: m.id, Ledger: l, InHistory: m.Batch}, nil
}
