package cmd

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/apache/iceberg-go/catalog"
	"github.com/apache/iceberg-go/table"
	"github.com/urfave/cli/v2"

	"sluice/batch"
	"sluice/job"
	"sluice/kafkasrc"
	"sluice/lakesink"
	"sluice/offsets"
	"sluice/progress"
	"sluice/verify"
)

const flagSource = "source"

func (p *process) verifyCommand() *cli.Command {
	return &cli.Command{
		Name:  "verify",
		Usage: "prove from checkpoint, table and Kafka that every record is there once",
		Description: "Reads the table without any of the code that wrote it. From the table alone: that no offset is there twice, none outside what the ledgers say was read,\n" +
			"none by two queries, and that the counts agree. With --source also that every record which Kafka still holds in those ranges is there.\n\nExit codes: 0 nothing contradicts; 13 something does.",
		Flags: slices.Concat(jobFlags(), outputFlags(), []cli.Flag{
			&cli.BoolFlag{Name: flagSource, Usage: "read Kafka as well and compare by topic, partition and offset"},
		}),
		Action: p.verify,
	}
}

func (p *process) verify(c *cli.Context) error {
	if err := p.begin(c); err != nil {
		return err
	}
	parts := job.ForSink | job.ForCheckpoint
	if c.Bool(flagSource) {
		parts |= job.ForSource
	}
	j, err := p.loadJob(c, parts)
	if err != nil {
		return err
	}
	line, err := connect(c.Context, j, parts)
	defer line.close()
	if err != nil {
		return cause(c.Context, err)
	}
	report, err := line.verify(c.Context)
	if err != nil {
		return cause(c.Context, err)
	}
	shown, err := shownReport(report)
	if err == nil {
		err = progress.Write(p.stdout, p.json, shown)
	}
	if err == nil && !report.OK {
		p.told = true
		err = &batch.Fault{Class: batch.Inconsistent, Message: "the " + line.word() + " is not what it should be", Hint: "each problem in the report says what to do"}
	}
	return err
}

// verify judges the table of the job, with the checkpoint as a witness and Kafka if it is connected.
func (l *pipeline) verify(ctx context.Context) (*verify.Report, error) {
	options := verify.Options{Checkpoint: l.log.Last}
	var err error
	if options.Query, err = l.log.Query(ctx); err != nil {
		return nil, err
	}
	if options.Query == "" {
		options.Checkpoint = nil // an empty checkpoint is no witness
	} else if options.Identity, err = l.log.Identity(ctx); err != nil {
		return nil, err
	}
	if l.source != nil {
		options.Source = judged{l.source, l.job.Source.Isolation()}
	}
	if options.DeadLetters, err = l.letterTables(ctx, options.Identity); err != nil {
		return nil, err
	}
	if l.iceberg != nil {
		options.Branch = l.iceberg.Branch()
	}
	options.LetterTopics = l.judgedTopics(options.Identity)
	load := func(ctx context.Context) (*table.Table, error) {
		t, err := l.sink.Load(ctx)
		if errors.Is(err, catalog.ErrNoSuchTable) || errors.Is(err, catalog.ErrNoSuchNamespace) {
			return nil, l.noTable(err, "to verify", "")
		}
		return t, err
	}
	if f, ok := l.sink.(*folder); ok {
		judged := f.read
		report, err := judged.Of(ctx, options)
		if isNoTable(err) {
			_, err = load(ctx)
		}
		return report, err
	}
	return verify.Table(ctx, load, options)
}

// letterTables are the tables and folders that dead letters of the query may be in: all that it has used, and the job's.
func (l *pipeline) letterTables(ctx context.Context, identity *batch.Identity) (map[string]func(context.Context) (*table.Table, error), error) {
	places := readablePlaces(identity)
	if place := l.job.Value.LetterPlace(); place.Kind != "" && place.Kind != batch.InTopic {
		places = append(places, place.String())
	}
	tables := map[string]func(context.Context) (*table.Table, error){}
	for _, place := range places {
		in, err := l.letterbox(ctx, place)
		if err != nil {
			return nil, err
		}
		tables[place] = in.Load
		if f, ok := in.(*folder); ok {
			tables[place] = f.loadForJudge
		}
	}
	return tables, nil
}

// noTable is the fault of a table that is not there, which says so where its catalog is not there either.
func (l *pipeline) noTable(err error, purpose, otherwise string) error {
	message, hint := fmt.Sprintf("there is no table %s %s", l.sink.TableName(), purpose), "check the table's name and the catalog, or run sluice run first"+otherwise
	if l.catalog == nil {
		message, hint = fmt.Sprintf("%s is not a folder that sluice has written to, so there is nothing %s", l.sink.TableName(), purpose), "check sink.parquet.path, or run sluice run first"+otherwise
	}
	if missing := (*lakesink.DatabaseMissing)(nil); errors.As(err, &missing) {
		message += fmt.Sprintf(": the catalog's database %s does not exist", missing.Path)
		hint = "check that its disk is mounted and that sink.iceberg.catalog.uri is right; " + hint
	}
	return &batch.Fault{Class: batch.NotSetUp, Message: message, Hint: hint}
}

// shownReport is the report in the form that progress shows. Both have the same JSON form; what one has and the other
// lacks is an error here and not a silent loss.
func shownReport(report *verify.Report) (*progress.Verify, error) {
	var shown progress.Verify
	if err := sameJSON(report, &shown); err != nil {
		return nil, fmt.Errorf("show report: %w", err)
	}
	return &shown, nil
}

// sameJSON makes the one by the JSON form of the other.
func sameJSON(from, to any) error {
	text, err := json.Marshal(from)
	if err != nil {
		return err
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	return d.Decode(to)
}

// judged is Kafka as the judge asks it.
type judged struct {
	source    *kafkasrc.Source
	isolation batch.Isolation
}

func (k judged) View(ctx context.Context, partitions []offsets.TopicPartition) (*offsets.View, error) {
	known := offsets.Offsets{}
	for _, tp := range partitions {
		known[tp] = 0
	}
	return k.source.View(ctx, k.isolation, known)
}

// Offsets reads what Kafka still holds of a range. Retention may move the log's start while it reads; what it took is
// left out.
func (k judged) Offsets(ctx context.Context, r offsets.Range, found func([]int64) error) error {
	for r.From < r.Until {
		err := k.read(ctx, &r, found)
		var loss *kafkasrc.Loss
		if err == nil || !errors.As(err, &loss) {
			return err
		}
		view, err := k.View(ctx, []offsets.TopicPartition{r.TopicPartition})
		if err != nil {
			return err
		}
		bounds, ok := view.Partitions[r.TopicPartition]
		if !ok || bounds.Start <= r.From {
			return fmt.Errorf("read %s: %w", r, loss)
		}
		r.From = min(bounds.Start, r.Until)
	}
	return nil
}

// read reads on from r.From and moves it along.
func (k judged) read(ctx context.Context, r *offsets.Range, found func([]int64) error) error {
	task := &batch.Task{Version: batch.FormatVersion, Isolation: k.isolation, Pieces: []batch.Piece{{Topic: r.Topic, Partition: r.Partition, From: r.From, Until: r.Until, LeaderEpoch: -1}}}
	reader, err := k.source.Read(ctx, task)
	if err != nil {
		return err
	}
	defer reader.Close()
	for {
		records, err := reader.Next(ctx)
		if errors.Is(err, io.EOF) {
			r.From = r.Until
			return nil
		}
		if err != nil {
			return err
		}
		if err := found(records.Offsets); err != nil {
			return err
		}
		r.From = records.Offsets[records.Rows-1] + 1
	}
}
