package verify

import (
	"context"
	"fmt"
	"slices"

	"github.com/apache/iceberg-go"

	"sluice/offsets"
)

// maxSearched bounds how many files are read again to say where a problem is, and maxLocated for how many problems.
const (
	maxSearched = 200
	maxLocated  = 20
)

// locate adds to problems about rows the files that hold the first of them, and the snapshots that added those.
func (c *court) locate(ctx context.Context) error {
	searches := 0
	for i := range c.report.Problems {
		p := &c.report.Problems[i]
		if (p.Kind != DuplicateRows && p.Kind != UnexpectedRows) || len(p.Offsets) == 0 {
			continue
		}
		if searches++; searches > maxLocated {
			return nil
		}
		holding := c.holding(ctx, offsets.TopicPartition{Topic: p.Topic, Partition: *p.Partition}, p.Offsets)
		if err := ctx.Err(); err != nil {
			return err
		}
		for _, f := range holding {
			p.Files = append(p.Files, f.path())
			p.Evidence += fmt.Sprintf(", in %s added by %s", f.path(), c.history.describeID(f.snapshot))
		}
	}
	return nil
}

// holding finds files with rows at the first offset of any span. It is a help for people: what cannot be read again is
// left out.
func (c *court) holding(ctx context.Context, tp offsets.TopicPartition, spans []Span) []*dataFile {
	wanted := make([]int64, len(spans))
	for i, s := range spans {
		wanted[i] = s.From
	}
	scan := c.reader.scan(iceberg.NewAnd(
		iceberg.EqualTo(iceberg.Reference(c.reader.columns.Partition), int64(tp.Partition)),
		iceberg.IsIn(iceberg.Reference(c.reader.columns.Offset), wanted...)))
	defer scan.Close()
	var holding []*dataFile
	searched := 0
	for i := range c.files {
		f := &c.files[i]
		if !f.partition.mayHold(int64(tp.Partition)) || !slices.ContainsFunc(wanted, f.offset.mayHold) {
			continue
		}
		if searched++; searched > maxSearched || len(holding) == maxFiles {
			break
		}
		rows := newRowSet(map[string]bool{tp.Topic: true}, c.rows.depth)
		if err := c.reader.read(ctx, scan, f.task, gather(rows)); err == nil && rows.of(tp).rows > 0 {
			holding = append(holding, f)
		}
	}
	return holding
}

// mayHold says whether bounds allow a value; unknown bounds allow all.
func (e extent) mayHold(v int64) bool { return !e.any || (e.min <= v && v <= e.max) }
