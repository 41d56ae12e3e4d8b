package cmd

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"sluice/batch"
	"sluice/decode"
	"sluice/kafkasrc"
	"sluice/offsets"
)

// sampleTopic takes records from one end of each partition that has any, the same number from each as far as they have it.
func (l *pipeline) sampleTopic(ctx context.Context, most int, earliest bool) (*sample, error) {
	isolation := l.job.Source.Isolation()
	view, err := l.source.View(ctx, isolation, nil)
	if err != nil {
		return nil, err
	}
	s := &sample{from: sourceName(l.job), which: "newest"}
	if topics := view.Ends().Topics(); len(topics) == 1 {
		s.from = "topic " + topics[0]
	}
	if earliest {
		s.which = "oldest"
	}
	parts := share(most, view)
	t := &sampler{source: l.source, isolation: isolation, earliest: earliest}
	for _, part := range parts {
		t.records, t.bytes = part.rows, mostSampledBytes/len(parts)
		values, err := t.take(ctx, part.Range)
		if err != nil {
			return nil, err
		}
		s.values = append(s.values, values...)
	}
	return s, nil
}

// sampler takes records from one end of ranges.
type sampler struct {
	source    *kafkasrc.Source
	isolation batch.Isolation
	earliest  bool
	// records and bytes bound what is taken of a range; one record is always taken.
	records, bytes int
}

// take reads forward from the beginning, or goes back from the end in growing steps: offsets may have no record.
func (t *sampler) take(ctx context.Context, r offsets.Range) ([]decode.SampledValue, error) {
	var taken window
	if t.earliest {
		err := t.read(ctx, &r, &taken)
		return taken.values, err
	}
	for step, until := int64(t.records), r.Until; until > r.From && !t.full(&taken); step *= 4 {
		piece := offsets.Range{TopicPartition: r.TopicPartition, From: max(r.From, until-step), Until: until}
		var earlier window
		if err := t.read(ctx, &piece, &earlier); err != nil {
			return nil, err
		}
		if piece.From > until-step { // retention has taken what was before
			r.From = max(r.From, piece.From)
		}
		until = piece.From
		earlier.append(&taken)
		taken = earlier
		t.trim(&taken)
	}
	return taken.values, nil
}

// window is values in the order of their offsets.
type window struct {
	values []decode.SampledValue
	bytes  int
}

func (w *window) add(value []byte, place string) {
	w.values = append(w.values, decode.SampledValue{Value: value, Place: place})
	w.bytes += len(value)
}

func (w *window) append(later *window) {
	w.values = append(w.values, later.values...)
	w.bytes += later.bytes
}

func (t *sampler) full(w *window) bool { return len(w.values) >= t.records || w.bytes >= t.bytes }

// trim drops the oldest values beyond the bounds.
func (t *sampler) trim(w *window) {
	drop := 0
	for drop < len(w.values)-1 && (len(w.values)-drop > t.records || w.bytes > t.bytes) {
		w.bytes -= len(w.values[drop].Value)
		drop++
	}
	w.values = w.values[drop:]
}

// read takes what is in a range: the first values that fit if the sample is of the earliest ones, else the last. What
// retention has taken since somebody asked is left out, and r then begins behind it.
func (t *sampler) read(ctx context.Context, r *offsets.Range, into *window) error {
	for {
		err := t.readAll(ctx, *r, into)
		loss := (*kafkasrc.Loss)(nil)
		if !errors.As(err, &loss) || loss.Cause != kafkasrc.Retention || loss.Until <= r.From {
			return err
		}
		if r.From = loss.Until; r.From >= r.Until {
			r.From = r.Until
			return nil
		}
		*into = window{}
	}
}

func (t *sampler) readAll(ctx context.Context, r offsets.Range, into *window) error {
	reader, err := t.source.Read(ctx, &batch.Task{Version: batch.FormatVersion, Isolation: t.isolation,
		Pieces: []batch.Piece{{Topic: r.Topic, Partition: r.Partition, From: r.From, Until: r.Until, LeaderEpoch: -1}}})
	if err != nil {
		return err
	}
	defer reader.Close()
	for !t.earliest || !t.full(into) {
		records, err := reader.Next(ctx)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		for i := 0; i < records.Rows && (!t.earliest || !t.full(into)); i++ {
			into.add(bytes.Clone(records.Value.Bytes(i)), fmt.Sprintf("%s-%d@%d", r.Topic, r.Partition, records.Offsets[i]))
		}
		if !t.earliest {
			t.trim(into)
		}
	}
	return nil
}
