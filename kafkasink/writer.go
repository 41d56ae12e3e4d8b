package kafkasink

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"sluice/batch"
	"sluice/columns"
)

// Writer writes the dead letters of one attempt at a task. It is used by one goroutine.
type Writer struct {
	topic  *Topic
	client *kgo.Client
	layout layout

	// onTheWay counts records that were not answered.
	onTheWay sync.WaitGroup
	mu       sync.Mutex
	// large are those that were refused for the size of their batch, or their own.
	large []letter
	// written are those that are there.
	written, bytes int64
	failed         error
}

type letter struct {
	*kgo.Record
	from origin
}

// Write starts the dead letters of one attempt at a task. Its name does not reach the topic.
func (t *Topic) Write(ctx context.Context, task *batch.Task, attempt string, schema columns.Schema) (*Writer, error) {
	at, err := layoutOf(schema)
	if err != nil {
		return nil, err
	}
	if _, err := t.configured(ctx); err != nil { // before the first record: the size of batches follows from it
		return nil, err
	}
	client, err := t.connected()
	if err != nil {
		return nil, err
	}
	return &Writer{topic: t, client: client, layout: at}, nil
}

// Write sends the rows, and waits where more are on their way than may be. It keeps nothing of the batch.
func (w *Writer) Write(ctx context.Context, rows *columns.Batch) error {
	for row := range rows.Rows {
		if err := w.failure(); err != nil {
			return err
		}
		record, from := w.layout.record(w.topic.options.Topic, rows, row)
		w.onTheWay.Add(1)
		w.client.Produce(ctx, record, func(r *kgo.Record, err error) {
			defer w.onTheWay.Done()
			w.answered(letter{r, from}, err)
		})
	}
	return w.writeLarge(ctx)
}

func (w *Writer) failure() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.failed
}

// answered keeps what became of a record. One that a batch was too large for is tried alone.
func (w *Writer) answered(l letter, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case err == nil:
		w.written++
		w.bytes += int64(len(l.Key) + len(l.Value))
	case errors.Is(err, kerr.MessageTooLarge), errors.Is(err, kerr.RecordListTooLarge):
		w.large = append(w.large, l)
	case w.failed == nil:
		w.failed = w.topic.explain(fmt.Sprintf("write record %s to the topic of dead letters %s", l.from, w.topic.options.Topic), err)
	}
}

// writeLarge writes, one by one, what was refused for its size.
func (w *Writer) writeLarge(ctx context.Context) error {
	w.mu.Lock()
	large := w.large
	w.large = nil
	w.mu.Unlock()
	for _, l := range large {
		err := w.topic.writeAlone(ctx, l)
		if err != nil {
			return err
		}
		w.answered(l, nil)
	}
	return nil
}

func (t *Topic) writeAlone(ctx context.Context, l letter) error {
	client, err := t.large()
	if err != nil {
		return err
	}
	t.alone.Lock()
	defer t.alone.Unlock()
	err = client.ProduceSync(ctx, &kgo.Record{Topic: l.Topic, Key: l.Key, Value: l.Value, Headers: l.Headers}).FirstErr()
	switch {
	case err == nil:
		return nil
	case errors.Is(err, kerr.MessageTooLarge), errors.Is(err, kerr.RecordListTooLarge):
		return t.tooLarge(l.from, l.Record, err)
	}
	return t.explain(fmt.Sprintf("write record %s to the topic of dead letters %s", l.from, t.options.Topic), err)
}

// Close waits until all records are there, and fails if one is not. A topic has no files: what it returns stands for them
// in the books.
func (w *Writer) Close(ctx context.Context) ([]batch.DataFile, error) {
	if err := w.wait(ctx); err != nil {
		return nil, err
	}
	if err := w.failure(); err != nil {
		return nil, err
	}
	if err := w.writeLarge(ctx); err != nil {
		return nil, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	place := batch.LetterPlace{Kind: batch.InTopic, Name: w.topic.options.Topic}
	return []batch.DataFile{{Path: place.String(), Records: w.written, Bytes: w.bytes}}, nil
}

// wait is for all answers, or for the end of ctx.
func (w *Writer) wait(ctx context.Context) error {
	answered := make(chan struct{})
	go func() {
		w.onTheWay.Wait()
		close(answered)
	}()
	select {
	case <-answered:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Abort gives up. What was sent may still arrive: a dead letter is there at least once, not once.
func (w *Writer) Abort() {}
