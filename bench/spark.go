package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"
)

// The targets: so many times Spark's rows for a second of CPU, once it is warm, and of the whole process with few records.
const (
	targetSteady = 8
	targetWhole  = 15
)

// sparkDrain is what rig/spark_drain.py tells.
type sparkDrain struct {
	Rows    int64         `json:"rows"`
	CPU     time.Duration `json:"cpu"`
	Peak    int64         `json:"peak"`
	Batches []struct {
		Rows int64         `json:"rows"`
		CPU  time.Duration `json:"cpu"`
		Wall time.Duration `json:"wall"`
	} `json:"batches"`
	// took is the wall of all of it.
	took time.Duration
}

// measureSpark compares runs with Spark's Trigger.AvailableNow, in turn: the same records, limit, columns and codec. Spark is given
// its best: its steady figure is that of the batches after the first, without its start and most of the time in which its code is
// compiled, and that of sluice is of the whole process.
func (b *bench) measureSpark(ctx context.Context) error {
	b.begin("spark", fmt.Sprintf("%s and %s orders beside Spark, which takes as many cores, into local Iceberg tables; medians of %d rounds", thousands(b.large.Records), thousands(b.few.Records), b.rounds))
	for _, c := range []corpus{b.large, b.few} {
		if err := b.provide(ctx, c); err != nil {
			return err
		}
	}
	for _, form := range []string{"raw", "json"} {
		if err := b.besideSpark(ctx, form); err != nil {
			return err
		}
	}
	return nil
}

func (b *bench) besideSpark(ctx context.Context, form string) error {
	var more []string
	if form == "json" {
		more = []string{"--value-format", "json", "--value-schema", ordersSchema}
	}
	var steady, ours, sparks, whole, walls, peaks []float64
	for range b.rounds {
		if _, err := b.awaitQuiet(ctx); err != nil {
			return err
		}
		run, _, err := b.freshRun(ctx, b.large, more...)
		if err != nil {
			return err
		}
		spark, err := b.drainBySpark(ctx, b.large, form)
		if err != nil {
			return err
		}
		first, last := spark.Batches[0], spark.Batches[len(spark.Batches)-1]
		rate := float64(b.large.Records) / run.cpu().Seconds()
		theirs := float64(b.large.Records-first.Rows) / (last.CPU - first.CPU).Seconds()
		ours, sparks, steady, peaks = append(ours, rate), append(sparks, theirs), append(steady, rate/theirs), append(peaks, float64(spark.Peak)/float64(run.Peak))
		if run, _, err = b.freshRun(ctx, b.few, more...); err != nil {
			return err
		}
		if spark, err = b.drainBySpark(ctx, b.few, form); err != nil {
			return err
		}
		whole, walls = append(whole, spark.CPU.Seconds()/run.cpu().Seconds()), append(walls, spark.took.Seconds()/run.Wall.Seconds())
	}
	few := thousands(b.few.Records) + " records, whole process: "
	b.add(of(form+": rows of sluice, whole process", "/CPU-s", ours...), of(form+": rows of Spark, after its first batch", "/CPU-s", sparks...),
		of(form+": sluice / Spark", "x", steady...).atLeast(targetSteady), of(form+": peak memory, Spark / sluice", "x", peaks...),
		of(form+", "+few+"CPU, Spark / sluice", "x", whole...).atLeast(targetWhole), of(form+", "+few+"wall, Spark / sluice", "x", walls...))
	return nil
}

// drainBySpark has the rig's Spark drain a corpus into a new table, a million offsets a batch, as a run does.
func (b *bench) drainBySpark(ctx context.Context, c corpus, form string) (*sparkDrain, error) {
	folder, discard, err := b.folder()
	if err != nil {
		return nil, err
	}
	defer discard()
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, filepath.Join(b.root, "rig", "spark"), "--iceberg", filepath.Join(b.root, "rig", "spark_drain.py"), b.broker, c.topic(), folder, form, strconv.Itoa(batchOffsets))
	cmd.Env = append(os.Environ(), "KAFKA=")
	began := time.Now()
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("drain %s by Spark: %w", c.topic(), err)
	}
	drained := &sparkDrain{took: time.Since(began)}
	if err := json.Unmarshal(out, drained); err != nil {
		return nil, fmt.Errorf("read what Spark took: %w", err)
	}
	if drained.Rows != c.Records || len(drained.Batches) == 0 {
		return nil, fmt.Errorf("%d rows were written by Spark in %d batches, of %d records", drained.Rows, len(drained.Batches), c.Records)
	}
	return drained, nil
}

// batchOffsets is the default of source.maxOffsetsPerTrigger.
const batchOffsets = 1_000_000
