package files

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"

	"github.com/google/uuid"

	"sluice/batch"
	"sluice/offsets"
)

// Replay makes dead letters that were decoded again part of the folder. Replays of a query are numbered by themselves, from
// 0: a run never writes a row of a dead letter, so that neither has to wait for the other.
type Replay struct {
	V      int    `json:"v"`
	Folder string `json:"folder"`
	Query  string `json:"query"`
	Name   string `json:"name"`
	Run    string `json:"run"`
	// Attempt tells its bytes from those of any other.
	Attempt   string           `json:"attempt"`
	Number    int64            `json:"number"`
	WrittenMs int64            `json:"writtenMs"`
	Schema    int              `json:"schema"`
	Records   int64            `json:"records"`
	Files     []batch.DataFile `json:"files"`
	// Replayed counts, for every partition that has any, the dead letters that are rows after it.
	Replayed []Replayed `json:"replayed"`
}

// Replayed counts the dead letters of a partition that are rows.
type Replayed struct {
	Topic     string `json:"topic"`
	Partition int32  `json:"partition"`
	Records   int64  `json:"records"`
}

const replayFolder = "replays/"

func replayKey(query string, n int64) string {
	return bookFolder + query + "/" + replayFolder + fmt.Sprint(n) + jsonSuffix
}

// replay reads one replay.
func (f *Folder) replay(ctx context.Context, query string, n int64) (*Replay, error) {
	text, err := f.options.Objects.Get(ctx, replayKey(query, n))
	if err != nil {
		return nil, err
	}
	var r Replay
	if err = json.Unmarshal(text, &r); err == nil && (r.V != formatVersion || r.Query != query || r.Number != n) {
		err = fmt.Errorf("it is number %d of query %s in format version %d", r.Number, r.Query, r.V)
	}
	if err != nil {
		return nil, f.damaged(replayKey(query, n), err)
	}
	return &r, nil
}

// replayedOf adds to a ledger how many dead letters are rows besides.
func (f *Folder) replayedOf(ctx context.Context, s *state, ledger *batch.Ledger) error {
	numbers := s.replays[ledger.Query]
	if len(numbers) == 0 {
		return nil
	}
	newest, err := f.replay(ctx, ledger.Query, slices.Max(numbers))
	if err != nil {
		return err
	}
	for _, r := range newest.Replayed {
		tp := offsets.TopicPartition{Topic: r.Topic, Partition: r.Partition}
		a := ledger.Accounts[tp]
		a.Replayed = r.Records
		ledger.Accounts[tp] = a
	}
	return nil
}

// NextReplay is the number of the replay that a query would have next. Whoever searches the folder afterwards sees at least
// what the replays before it have added.
func (f *Folder) NextReplay(ctx context.Context, query string) (int64, error) {
	s, err := f.look(ctx)
	if err != nil || len(s.replays[query]) == 0 {
		return 0, err
	}
	return slices.Max(s.replays[query]) + 1, nil
}

// AddReplay makes rows of dead letters part of the folder, as the replay of a number, and only if there is none of that number
// yet: moved says that there is, and nothing was added. uuid and schema are what the folder and its columns were when it
// was searched. The ledger says how many dead letters are rows afterwards. UnknownOutcome: it may have been added.
func (f *Folder) AddReplay(ctx context.Context, r *Replay, ledger *batch.Ledger) (moved bool, err error) {
	s, err := f.look(ctx)
	switch {
	case err != nil:
		return false, err
	case s.schema == nil:
		return false, f.gone()
	case s.schema.Folder != r.Folder:
		return true, nil
	}
	if err := f.sameColumns(s.schema, r.Schema); err != nil {
		return false, err
	}
	r.V, r.Attempt, r.WrittenMs = formatVersion, uuid.NewString(), f.options.Now().UnixMilli()
	for _, tp := range slices.SortedFunc(maps.Keys(ledger.Accounts), offsets.Compare) {
		if n := ledger.Accounts[tp].Replayed; n > 0 {
			r.Replayed = append(r.Replayed, Replayed{tp.Topic, tp.Partition, n})
		}
	}
	text, err := json.Marshal(r)
	if err != nil {
		return false, err
	}
	if err := f.proved(ctx); err != nil {
		return false, err
	}
	limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), f.options.Timeout)
	defer cancel()
	err = f.options.Objects.Own(limited, replayKey(r.Query, r.Number), text)
	switch {
	case errors.Is(err, fs.ErrExist):
		return true, nil
	case errors.Is(err, ErrUnknown):
		return false, &batch.Fault{Class: batch.UnknownOutcome, Err: err, Message: fmt.Sprintf("the replayed dead letters may or may not be in %s", f.options.Location),
			Hint: "run again when the store answers: what is there is not added again"}
	case err != nil:
		return false, fmt.Errorf("add the replayed dead letters to %s: %w", f.options.Location, err)
	}
	return false, nil
}

// PauseReplay waits before another attempt at a replay, and is an error if there are to be no more.
func (f *Folder) PauseReplay(ctx context.Context, attempt int) error {
	if attempt <= f.options.Attempts {
		return f.options.Sleep(ctx, f.options.Backoff(attempt-1))
	}
	return &batch.Fault{Class: batch.Failed, Message: fmt.Sprintf("the replayed dead letters are not in %s: others replay all the time, %d attempts were too few", f.options.Location, f.options.Attempts),
		Hint: "run again when no other replay is active"}
}
