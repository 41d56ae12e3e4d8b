package decode

import "sluice/columns"

// describe fills the columns about the record: for all records without copying, else for those kept.
func (t *Typed) describe(records *columns.Records) error {
	all := len(t.kept) == records.Rows
	for i := t.width; i < len(t.schema); i++ {
		a, own := &t.rows.Columns[i], &t.own[i]
		switch t.schema[i].Name {
		case kafkaKey:
			if !t.readsKeys() { // else it was filled row by row
				*a = t.pick(&records.Key, own, all)
			}
		case kafkaValue:
			*a = t.pick(&records.Value, own, all)
		case kafkaTopic:
			repeatText(a, records.Topic, len(t.kept))
		case kafkaPartition:
			repeatInt(a, records.Partition, len(t.kept))
		case kafkaOffset:
			*a = t.offsets(records, own, all)
		case kafkaTimestamp:
			if err := t.timestamps(a, records); err != nil {
				return err
			}
		case kafkaHeaders:
			*a = t.headers(&records.Headers, own, all)
		}
	}
	return nil
}

// pick is the Binary or String column of from for the rows kept, in own where it must be copied.
func (t *Typed) pick(from, own *columns.Array, all bool) columns.Array {
	if all {
		return *from
	}
	own.Reset()
	for _, row := range t.kept {
		appendCopy(own, from, row)
	}
	return *own
}

func appendCopy(to, from *columns.Array, row int) {
	if value := from.Bytes(row); value != nil {
		to.AppendBytes(value)
	} else {
		to.AppendNullBytes()
	}
}

func (t *Typed) offsets(records *columns.Records, own *columns.Array, all bool) columns.Array {
	if all {
		return columns.Array{Kind: columns.Int64, Len: records.Rows, Int64s: records.Offsets}
	}
	own.Reset()
	for _, row := range t.kept {
		own.AppendInt64(records.Offsets[row])
	}
	return *own
}

func (t *Typed) timestamps(a *columns.Array, records *columns.Records) error {
	a.Reset()
	for _, row := range t.kept {
		if err := appendMicros(a, records, row); err != nil {
			return err
		}
	}
	return nil
}

func (t *Typed) headers(from, own *columns.Array, all bool) columns.Array {
	if all {
		return *from
	}
	own.Reset()
	pair, pairs := &own.Children[0], &from.Children[0]
	for _, row := range t.kept {
		if !from.Valid(row) {
			own.AppendNullSpan()
			continue
		}
		for k, until := from.Span(row); k < until; k++ {
			appendCopy(&pair.Children[0], &pairs.Children[0], k)
			appendCopy(&pair.Children[1], &pairs.Children[1], k)
			pair.AppendStruct()
		}
		own.AppendSpan()
	}
	return *own
}
