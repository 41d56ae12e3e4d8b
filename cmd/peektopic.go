package cmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"sluice/batch"
	"sluice/columns"
	"sluice/decode"
	"sluice/decode/ddl"
	"sluice/decode/malformed"
	"sluice/kafkasrc"
	"sluice/offsets"
	"sluice/progress"
)

// peekTopic shows the last records before the ends of the partitions: what arrived a moment ago is what somebody who
// looks wants to see, and it is what is there whatever retention has taken.
func (l *pipeline) peekTopic(ctx context.Context, want look) (*progress.Peek, error) {
	isolation := l.job.Source.Isolation()
	view, err := l.source.View(ctx, isolation, nil)
	if err != nil {
		return nil, err
	}
	if err := l.settle(ctx); err != nil {
		return nil, err
	}
	t := &tail{source: l.source, isolation: isolation, value: l.settled()}
	if t.decoder, err = l.decoders.Lenient(t.value, l.job.Source.IncludeHeaders, t.noRow); err != nil {
		return nil, err
	}
	shown := &progress.Peek{From: "topic", Name: sourceName(l.job), Columns: []progress.PeekColumn{}, Rows: [][]any{}, Malformed: []progress.PeekFault{}}
	if topics := view.Ends().Topics(); len(topics) == 1 {
		shown.Name = topics[0]
	}
	var all []progress.PeekColumn
	for _, field := range t.decoder.Schema() {
		all = append(all, progress.PeekColumn{Name: field.Name, Type: field.Type.Kind.String()})
	}
	if t.chosen, err = want.choose(all); err != nil {
		return nil, err
	}
	for _, i := range t.chosen {
		shown.Columns = append(shown.Columns, all[i])
	}
	for _, part := range share(want.rows, view) {
		rows, err := t.read(ctx, part.Range, part.rows)
		if err != nil {
			return nil, err
		}
		for _, row := range rows {
			shown.Rows = append(shown.Rows, row.cells)
			if row.fault != nil {
				shown.Malformed = append(shown.Malformed, *row.fault)
			}
		}
	}
	t.showUnknown(shown)
	return shown, nil
}

// showUnknown tells which fields the records have beyond the schema.
func (t *tail) showUnknown(shown *progress.Peek) {
	finder, ok := t.decoder.(finder)
	if !ok {
		return
	}
	for _, f := range batch.NewColumns(finder.Unknown()) {
		shown.Unknown = append(shown.Unknown, progress.PeekUnknown{Name: f.Name, SQLType: ddl.FormatType(f.Type)})
	}
	if err := finder.Undecided(); err != nil {
		shown.Undecided = err.Error()
	}
}

// finder is a decoder that notes fields which the schema lacks.
type finder interface {
	Unknown() []batch.Unknown
	Undecided() error
}

// portion is how many of the last rows of a range to show.
type portion struct {
	offsets.Range
	rows int
}

// share divides rows evenly over the partitions that hold something; what one does not have goes to the others. With
// more partitions than rows, some show one row each: those at even distances in their order.
func share(rows int, view *offsets.View) []portion {
	var parts []portion
	for _, tp := range view.Ends().Partitions() {
		if b := view.Partitions[tp]; b.End > b.Start {
			parts = append(parts, portion{Range: offsets.Range{TopicPartition: tp, From: b.Start, Until: b.End}})
		}
	}
	if n := len(parts); n > rows {
		for i := range rows {
			parts[i] = parts[i*n/rows]
		}
		parts = parts[:rows]
	}
	for progressed := true; rows > 0 && progressed; {
		progressed = false
		for i := range parts {
			if p := &parts[i]; rows > 0 && int64(p.rows) < p.Len() {
				p.rows++
				rows--
				progressed = true
			}
		}
	}
	return parts
}

// tail reads the last rows of ranges.
type tail struct {
	source    *kafkasrc.Source
	isolation batch.Isolation
	value     batch.Value
	decoder   decode.Decoder
	// chosen are the columns to keep, in this order.
	chosen []int
	// faults are those of the records that were decoded last, by row.
	faults map[int]*progress.PeekFault
}

// tailRow is a record as it is shown.
type tailRow struct {
	cells []any
	// fault is nil for a record that is a row.
	fault *progress.PeekFault
}

// noRow is told of a record that is no row.
func (t *tail) noRow(records *columns.Records, row int, why *malformed.Error) {
	t.faults[row] = &progress.PeekFault{Topic: records.Topic, Partition: records.Partition, Offset: records.Offsets[row], Reason: string(why.Reason), Error: why.Error()}
}

// read returns the last rows of a range. Offsets may have no record (transaction markers, aborted and compacted
// records), so it goes back in growing steps until there are enough or the range is at its beginning.
func (t *tail) read(ctx context.Context, r offsets.Range, rows int) ([]tailRow, error) {
	var found []tailRow
	for step, until := int64(rows), r.Until; until > r.From && len(found) < rows; {
		from := max(r.From, until-step)
		earlier, err := t.last(ctx, offsets.Range{TopicPartition: r.TopicPartition, From: from, Until: until}, rows-len(found))
		if loss := (*kafkasrc.Loss)(nil); errors.As(err, &loss) && loss.Cause == kafkasrc.Retention && loss.Until > r.From {
			r.From = loss.Until // what retention took since we asked
			continue
		}
		if err != nil {
			return nil, err
		}
		found, until, step = append(earlier, found...), from, 4*step
	}
	return found, nil
}

// last reads a range to its end and keeps the last rows.
func (t *tail) last(ctx context.Context, r offsets.Range, rows int) ([]tailRow, error) {
	task := &batch.Task{Version: batch.FormatVersion, Isolation: t.isolation, Value: t.value,
		Pieces: []batch.Piece{{Topic: r.Topic, Partition: r.Partition, From: r.From, Until: r.Until, LeaderEpoch: -1}}}
	reader, err := t.source.Read(ctx, task)
	if err != nil {
		return nil, err
	}
	defer reader.Close()
	var kept []tailRow
	for {
		records, err := reader.Next(ctx)
		if errors.Is(err, io.EOF) {
			return kept, nil
		}
		if err != nil {
			return nil, err
		}
		t.faults = map[int]*progress.PeekFault{}
		decoded, err := t.decoder.Decode(records)
		for before := 0; err == nil && decoded != nil; decoded, err = decoded.Next() {
			fresh := t.rows(decoded, before, max(0, decoded.Rows-rows))
			kept = slices.Concat(kept, fresh)
			kept = kept[max(0, len(kept)-rows):]
			before += decoded.Rows // every record is a row here
		}
		if err != nil {
			return nil, fmt.Errorf("decode %s: %w", r, err)
		}
	}
}

// rows copies the chosen columns of the rows at and after from; before them came so many rows of the same records.
func (t *tail) rows(b *columns.Batch, before, from int) []tailRow {
	var rows []tailRow
	schema := t.decoder.Schema()
	for i := from; i < b.Rows; i++ {
		var row []any
		for _, c := range t.chosen {
			row = append(row, cellOf(&b.Columns[c], schema[c].Type, i))
		}
		rows = append(rows, tailRow{row, t.faults[before+i]})
	}
	return rows
}
