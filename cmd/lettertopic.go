package cmd

import (
	"context"

	"sluice/batch"
	"sluice/columns"
	"sluice/kafkasink"
	"sluice/kafkasrc"
	"sluice/runner"
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
