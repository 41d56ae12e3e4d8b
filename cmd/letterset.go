package cmd

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/apache/iceberg-go/catalog"
	"github.com/urfave/cli/v2"

	"sluice/batch"
	"sluice/job"
	"sluice/lakesink"
	"sluice/progress"
	"sluice/runner"
	"sluice/verify"
)

// letterSet is the dead letters of a query, in all tables that it has put some into.
type letterSet struct {
	shown    *progress.DeadLetters
	identity *batch.Identity
	rows     *batch.Table
	// read are the tables that are there and are those that the query wrote to, topics the topics that are there.
	read, topics []string
	// told is told how many records of a topic are no dead letters, once.
	told func(topic string, foreign int64)
	// stop is why a run would stop over the table that the job names, nil if it would not.
	stop error
}

// deadLetters connects to the tables of a query's dead letters.
func (p *process) deadLetters(c *cli.Context) (*pipeline, *letterSet, error) {
	if err := p.begin(c); err != nil {
		return nil, nil, err
	}
	j, err := p.loadJob(c, job.ForSink|job.ForCheckpoint)
	if err != nil {
		return nil, nil, err
	}
	line, err := connect(c.Context, j, job.ForSink|job.ForCheckpoint)
	if err != nil {
		return line, nil, cause(c.Context, err)
	}
	found, err := p.letterSet(c.Context, line)
	return line, found, cause(c.Context, err)
}

func (p *process) letterSet(ctx context.Context, line *pipeline) (*letterSet, error) {
	shown := &progress.DeadLetters{Query: line.job.Name, Tables: []string{}, ByTopic: []progress.DeadLetterCount{}, ByReason: []progress.DeadLetterCount{}, ByBatch: []progress.DeadLetterCount{},
		Newest: []progress.DeadLetterPlace{}, Lost: []progress.DeadLetterLoss{}}
	s := &letterSet{shown: shown, told: p.foreignOnce()}
	var err error
	if shown.QueryID, err = line.log.Query(ctx); err != nil {
		return nil, err
	}
	if shown.QueryID == "" {
		return nil, &batch.Fault{Class: batch.NotSetUp, Message: fmt.Sprintf("the checkpoint %s has no query yet", line.store), Hint: "check that checkpoint is the right one, or run sluice run first"}
	}
	if s.identity, err = line.log.Identity(ctx); err != nil {
		return nil, err
	}
	shown.Tables = append(shown.Tables, readablePlaces(s.identity)...)
	if place := line.job.Value.LetterPlace(); place.Kind != "" && place.Kind != batch.InTopic && !slices.Contains(shown.Tables, place.String()) {
		shown.Tables = append(shown.Tables, place.String())
	}
	if s.rows, err = line.sink.Table(ctx, shown.QueryID); err != nil {
		return nil, err
	}
	for _, name := range shown.Tables {
		if err := p.lookAt(ctx, line, s, name); err != nil {
			return nil, err
		}
	}
	for _, name := range line.letterTopics(s.identity) {
		shown.Tables = append(shown.Tables, batch.LetterPlace{Kind: batch.InTopic, Name: name}.String())
		if err := p.lookAtTopic(ctx, line, s, name); err != nil {
			return nil, err
		}
	}
	if len(shown.Tables) == 0 {
		return nil, &batch.Fault{Class: batch.NotSetUp, Message: fmt.Sprintf("query %s has no place of dead letters", line.job.Name), Hint: "set deadLetter.table, deadLetter.path or deadLetter.topic, and value.onMalformed to deadLetter: docs/formats.md says more"}
	}
	return s, nil
}

// lookAt sees whether a table is as the query left it, and says so where it is not, so that nobody takes what is left for
// all of them.
func (p *process) lookAt(ctx context.Context, line *pipeline, s *letterSet, name string) error {
	place := batch.ParseLetterPlace(name)
	in, err := line.deadLetters(ctx, place)
	if err != nil {
		return err
	}
	t, err := in.Table(ctx, s.shown.QueryID)
	if err != nil {
		return err
	}
	if fault := runner.LettersFault(place, t, s.rows, s.identity); fault != nil {
		s.shown.Lost = append(s.shown.Lost, progress.DeadLetterLoss{Table: name, Error: fault.Error(), Hint: batch.HintOf(fault)})
		if place == line.job.Value.LetterPlace() {
			s.stop = fault
		} else {
			fmt.Fprintf(p.stderr, "sluice: %v, and the dead letters that it had with it: %s\n", fault, batch.HintOf(fault))
		}
	}
	if was := runner.LettersUUID(place, s.identity); t.Exists && (was == "" || was == t.UUID) {
		s.read = append(s.read, name)
	}
	return nil
}

func isNoTable(err error) bool {
	return errors.Is(err, catalog.ErrNoSuchTable) || errors.Is(err, catalog.ErrNoSuchNamespace)
}

// readablePlaces are the tables and folders that a query's dead letters went to, as its identity has them.
func readablePlaces(identity *batch.Identity) (places []string) {
	for _, kind := range []batch.LetterKind{batch.InTable, batch.InPath} {
		for _, name := range verify.LetterPlaces(identity, kind) {
			places = append(places, batch.LetterPlace{Kind: kind, Name: name}.String())
		}
	}
	return places
}

// letterbox is a place of dead letters that can be read, by its words.
func (l *pipeline) letterbox(ctx context.Context, place string) (outlet, error) {
	return l.deadLetters(ctx, batch.ParseLetterPlace(place))
}

// eachLetter visits the dead letters of a query in all its tables and folders, then those in its topics that are in none of
// them, each once. A place that is not there any more has none.
func (l *pipeline) eachLetter(ctx context.Context, of *letterSet, parts lakesink.LetterParts, visit func(table string, letter *lakesink.Letter) (more bool, err error)) error {
	seen := lakesink.Places{}
	for _, name := range of.read {
		more := true
		in, err := l.letterbox(ctx, name)
		if err != nil {
			return err
		}
		err = lakesink.Letters(ctx, in, parts, func(letter *lakesink.Letter) (_ bool, err error) {
			if letter.Query == of.shown.QueryID {
				if len(of.topics) > 0 {
					seen.Add(letter.TopicPartition, letter.Offset)
				}
				more, err = visit(name, letter)
			}
			return more, err
		})
		if isNoTable(err) {
			continue
		}
		if err != nil || !more {
			return err
		}
	}
	for _, name := range of.topics {
		if more, err := l.eachInTopic(ctx, of, name, seen, visit); err != nil || !more {
			return err
		}
	}
	return nil
}
