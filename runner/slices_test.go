package runner_test

import (
	"fmt"
	"testing"

	"sluice/batch"
	"sluice/columns"
	"sluice/runner"
)

// inSlices decodes records a few at a time, as a decoder does whose rows take much more room than the records.
type inSlices struct{ runner.Decoder }

func (d inSlices) Decode(r *columns.Records) (*columns.Batch, error) {
	return sliced(r, d.Decoder.Decode)
}

func sliced(r *columns.Records, decode func(*columns.Records) (*columns.Batch, error)) (*columns.Batch, error) {
	const most = 2
	n := min(most, r.Rows)
	rows, err := decode(part(r, 0, n))
	if err == nil && n < r.Rows {
		rows.Rest = func() (*columns.Batch, error) { return sliced(part(r, n, r.Rows), decode) }
	}
	return rows, err
}

// part is some of the records.
func part(r *columns.Records, from, until int) *columns.Records {
	p := *r
	p.Rows, p.Offsets, p.Timestamps = until-from, r.Offsets[from:until], nil
	if len(r.Timestamps) > 0 {
		p.Timestamps = r.Timestamps[from:until]
	}
	p.Value, p.Key = cut(&r.Value, from, until), cut(&r.Key, from, until)
	p.Headers = columns.Array{Kind: columns.List, Children: r.Headers.Children}
	for i := from; i < until && i < r.Headers.Len; i++ {
		begin, end := r.Headers.Span(i)
		p.Headers.Offsets = append(p.Headers.Offsets[:i-from], int32(begin), int32(end))
		p.Headers.Len++
	}
	return &p
}

func cut(a *columns.Array, from, until int) columns.Array {
	part := columns.Array{Kind: a.Kind}
	for i := from; i < until && i < a.Len; i++ {
		if v := a.Bytes(i); v != nil {
			part.AppendBytes(v)
		} else {
			part.AppendNullBytes()
		}
	}
	return part
}

// Records that become several batches are written and counted whole: rows, dead letters, and why they are none.
func TestRecordsThatBecomeSeveralBatchesAreAllThere(t *testing.T) {
	var came []string
	for _, wrap := range []func(runner.Decoder) runner.Decoder{
		func(d runner.Decoder) runner.Decoder { return d },
		func(d runner.Decoder) runner.Decoder { return inSlices{d} },
	} {
		w := newLettersWorld(rejects, rejects)
		seen := &reports{}
		w.drain(t, func(q *runner.Query) {
			seen.Reporter = q.Reporter
			q.Reporter, q.MaxOffsetsPerTrigger = seen, 0
			makes := q.NewDecoder
			q.NewDecoder = func(v batch.Value, headers bool) (runner.Decoder, error) {
				d, err := makes(v, headers)
				return wrap(d), err
			}
		})
		if err := w.audit(); err != nil {
			t.Error(err)
		}
		rows, err := w.rows()
		if err != nil {
			t.Fatal(err)
		}
		for i := range seen.batches {
			seen.batches[i].PeakMemoryBytes = 0
		}
		came = append(came, fmt.Sprint(len(rows), seen.batches))
	}
	if came[0] != came[1] {
		t.Errorf("got %s in slices, want %s", came[1], came[0])
	}
}
