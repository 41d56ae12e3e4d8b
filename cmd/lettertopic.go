package cmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"sluice/batch"
	"sluice/columns"
	"sluice/kafkasink"
	"sluice/kafkasrc"
	"sluice/lakesink"
	"sluice/offsets"
	"sluice/progress"
	"sluice/runner"
	"sluice/verify"
)

// deadLetterTopic is a topic of dead letters, in the cluster that is read.
func (p *pipeline) deadLetterTopic(name string) (*kafkasink.Topic, error) {
	p.lettersMu.Lock()
	defer p.lettersMu.Unlock()
	if p.topics[name] == nil {
		connect, err := kafkasrc.Connection(p.job.Source.Kafka)
		if err != nil {
			return nil, err
		}
		if p.topics == nil {
			p.topics = map[string]*kafkasink.Topic{}
		}
		p.topics[name] = kafkasink.New(kafkasink.Options{Topic: name, Servers: p.job.Source.Kafka["bootstrap.servers"], Connect: connect, BufferBytes: p.budget.onTheWay()})
	}
	return p.topics[name], nil
}

// topicSink adapts a topic of dead letters likewise.
type topicSink struct{ *kafkasink.Topic }

func (s topicSink) Write(ctx context.Context, task *batch.Task, attempt string, schema columns.Schema) (runner.Writer, error) {
	writer, err := s.Topic.Write(ctx, task, attempt, schema)
	if err != nil {
		return nil, err
	}
	return writer, nil
}

// readTopic reads a topic of dead letters up to the end that it has when it begins, whatever is transactional in it too: visit
// gets the records with their headers, and keeps nothing. It returns nil for a topic that is not there.
func (p *pipeline) readTopic(ctx context.Context, name string, visit func(*columns.Records) error) (*verify.TopicState, error) {
	topic, err := p.deadLetterTopic(name)
	if err != nil {
		return nil, err
	}
	table, err := topic.Table(ctx, "")
	if err != nil || !table.Exists {
		return nil, err
	}
	keeps, err := topic.Keeps(ctx)
	if err != nil {
		return nil, err
	}
	source, err := kafkasrc.Open(ctx, kafkasrc.Options{Client: p.job.Source.Kafka, Subscription: kafkasrc.Subscription{Topics: []string{name}}, IncludeHeaders: true, FetchBytes: int(p.budget.fetch)})
	if err != nil {
		return nil, err
	}
	defer source.Close()
	view, err := source.View(ctx, batch.ReadUncommitted, nil)
	if err != nil {
		return nil, err
	}
	state := &verify.TopicState{ID: table.UUID, Whole: keeps}
	task := &batch.Task{Version: batch.FormatVersion, Isolation: batch.ReadUncommitted, IncludeHeaders: true}
	for _, r := range offsets.Between(starts(view), view.Ends()) {
		task.Pieces = append(task.Pieces, batch.Piece{Topic: name, Partition: r.Partition, From: r.From, Until: r.Until, LeaderEpoch: -1})
	}
	for _, bounds := range view.Partitions {
		state.Whole = state.Whole && bounds.Start == 0
	}
	return state, drain(ctx, source, task, visit)
}

func starts(view *offsets.View) offsets.Offsets {
	start := offsets.Offsets{}
	for tp, bounds := range view.Partitions {
		start[tp] = bounds.Start
	}
	return start
}

func drain(ctx context.Context, source *kafkasrc.Source, task *batch.Task, visit func(*columns.Records) error) error {
	reader, err := source.Read(ctx, task)
	if err != nil {
		return err
	}
	defer reader.Close()
	for {
		records, err := reader.Next(ctx)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = visit(records)
		}
		if err != nil {
			return err
		}
	}
}

// letterTopics are the topics that dead letters of the query may be in: all that it has used, and the job's.
func (p *pipeline) letterTopics(identity *batch.Identity) []string {
	names := verify.LetterPlaces(identity, batch.InTopic)
	if place := p.job.Value.LetterPlace(); place.Kind == batch.InTopic && !slices.Contains(names, place.Name) {
		names = append(names, place.Name)
	}
	return names
}

// judgedTopics are the topics that dead letters of the query may be in, as the judge reads them: not at all without Kafka.
func (p *pipeline) judgedTopics(identity *batch.Identity) map[string]verify.ReadTopic {
	topics := map[string]verify.ReadTopic{}
	for _, name := range p.letterTopics(identity) {
		topics[name] = nil
		if p.source != nil {
			topics[name] = p.judgedTopic(name)
		}
	}
	return topics
}

func (p *pipeline) judgedTopic(name string) verify.ReadTopic {
	return func(ctx context.Context, visit func([]verify.TopicHeader) error) (*verify.TopicState, error) {
		var headers []verify.TopicHeader
		return p.readTopic(ctx, name, func(records *columns.Records) error {
			pairs := &records.Headers.Children[0]
			for row := range records.Rows {
				headers = headers[:0]
				for k, until := records.Headers.Span(row); k < until; k++ {
					headers = append(headers, verify.TopicHeader{Key: string(pairs.Children[0].Bytes(k)), Value: pairs.Children[1].Bytes(k)})
				}
				if err := visit(headers); err != nil {
					return err
				}
			}
			return nil
		})
	}
}

// checkTopic asks for what a run needs of the topic of dead letters: that it takes them, or can be made.
func (p *pipeline) checkTopic(ctx context.Context, name string) (string, error) {
	topic, err := p.deadLetterTopic(name)
	if err != nil {
		return "", err
	}
	there, err := topic.Probe(ctx)
	if err != nil {
		return "", err
	}
	if !there {
		return "topic " + name + " is not there yet; the first run creates it", nil
	}
	return "topic " + name + " takes the dead letters", nil
}

// lookAtTopic sees whether a topic of dead letters is the one that the query wrote to, and says so where it is not.
func (p *process) lookAtTopic(ctx context.Context, line *pipeline, s *letterSet, name string) error {
	topic, err := line.deadLetterTopic(name)
	if err != nil {
		return &usage{fmt.Errorf("source: %w", err), "the dead letters of this query are in a topic: give source.kafka"}
	}
	t, err := topic.Table(ctx, "")
	if err != nil {
		return err
	}
	was, lost := runner.LettersUUID(batch.LetterPlace{Kind: batch.InTopic, Name: name}, s.identity), ""
	switch {
	case was != "" && !t.Exists:
		lost = fmt.Sprintf("the topic of dead letters %s is gone", name)
	case was != "" && t.UUID != "" && was != t.UUID:
		lost = fmt.Sprintf("the topic of dead letters %s was created again", name)
	}
	if lost != "" {
		hint := "the dead letters that it had are gone with it; nothing stops a run"
		s.shown.Lost = append(s.shown.Lost, progress.DeadLetterLoss{Table: "topic " + name, Error: lost, Hint: hint})
		fmt.Fprintf(p.stderr, "sluice: %s: %s\n", lost, hint)
	}
	if t.Exists {
		s.topics = append(s.topics, name)
	}
	return nil
}

// foreignOnce tells, once for each topic, that it has records which are no dead letters.
func (p *process) foreignOnce() func(topic string, foreign int64) {
	told := map[string]bool{}
	return func(topic string, foreign int64) {
		if foreign > 0 && !told[topic] {
			told[topic] = true
			fmt.Fprintf(p.stderr, "sluice: topic %s has %s of sluice: passed over\n", topic, progress.Plural(foreign, "record")+" that "+map[bool]string{true: "is no dead letter", false: "are no dead letters"}[foreign == 1])
		}
	}
}

// errEnough ends the reading of a topic of which the rest is not needed.
var errEnough = errors.New("enough was read")

// eachInTopic visits the dead letters of a query in a topic, but those that were seen, each once: more is false once visit has
// seen enough.
func (p *pipeline) eachInTopic(ctx context.Context, of *letterSet, name string, seen lakesink.Places, visit func(table string, letter *lakesink.Letter) (bool, error)) (more bool, err error) {
	foreign := int64(0)
	_, err = p.readTopic(ctx, name, func(records *columns.Records) error {
		for row := range records.Rows {
			l, ours := kafkasink.ParseLetter(records, row)
			switch {
			case !ours:
				foreign++
				continue
			case l.Query != of.shown.QueryID || seen.Has(l.TopicPartition, l.Offset):
				continue
			}
			seen.Add(l.TopicPartition, l.Offset)
			if more, err := visit("topic "+name, letterOf(l)); err != nil || !more {
				return cmp.Or(err, errEnough)
			}
		}
		return nil
	})
	if errors.Is(err, errEnough) {
		return false, nil
	}
	if err == nil {
		of.told(name, foreign)
	}
	return true, err
}

// letterOf is a dead letter of a topic in the form that those of tables have.
func letterOf(l *kafkasink.Letter) *lakesink.Letter {
	letter := &lakesink.Letter{TopicPartition: l.TopicPartition, Offset: l.Offset, TimestampMs: l.TimestampMs, Key: l.Key, Value: l.Value, Class: l.Reason, Error: l.Error,
		Batch: l.Batch, Query: l.Query, QueryName: l.QueryName}
	for _, h := range l.Headers {
		letter.Headers = append(letter.Headers, lakesink.Header{Key: []byte(h.Key), Value: h.Value})
	}
	return letter
}

// inTopics visits the dead letters of a query that are in topics; nil if there are none.
func (p *pipeline) inTopics(of *letterSet) func(ctx context.Context, visit func(*lakesink.Letter) error) error {
	if len(of.topics) == 0 {
		return nil
	}
	return func(ctx context.Context, visit func(*lakesink.Letter) error) error {
		seen := lakesink.Places{}
		for _, name := range of.topics {
			_, err := p.eachInTopic(ctx, of, name, seen, func(_ string, letter *lakesink.Letter) (bool, error) { return true, visit(letter) })
			if err != nil {
				return err
			}
		}
		return nil
	}
}
