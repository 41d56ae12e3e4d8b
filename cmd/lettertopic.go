package cmd

import (
	"context"
	"errors"
	"io"

	"sluice/batch"
	"sluice/columns"
	"sluice/kafkasink"
	"sluice/kafkasrc"
	"sluice/offsets"
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

// judgedTopics are the topics that dead letters of the query may be in, as the judge reads them: not at all without Kafka.
func (p *pipeline) judgedTopics(identity *batch.Identity) map[string]verify.ReadTopic {
	names := verify.LetterPlaces(identity, batch.InTopic)
	if place := p.job.Value.LetterPlace(); place.Kind == batch.InTopic {
		names = append(names, place.Name)
	}
	topics := map[string]verify.ReadTopic{}
	for _, name := range names {
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
