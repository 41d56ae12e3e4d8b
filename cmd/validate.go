package cmd

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/urfave/cli/v2"

	"sluice/batch"
	"sluice/checkpoint"
	"sluice/decode"
	"sluice/job"
	"sluice/offsets"
	"sluice/progress"
)

func (p *process) validateCommand() *cli.Command {
	return &cli.Command{
		Name:  "validate",
		Usage: "check the job, connections and permissions, without running",
		Description: "Checks one after the other what a run needs: the job itself, the broker and its topics, the checkpoint's store, the catalog and the table.\n" +
			"Nothing is kept: in the checkpoint's store one object is written and removed again.\n\nThe exit code is that of the first check that failed.",
		Flags:  slices.Concat(jobFlags(), outputFlags()),
		Action: p.validate,
	}
}

func (p *process) validate(c *cli.Context) error {
	if err := p.begin(c); err != nil {
		return err
	}
	j, err := p.loadJob(c, job.ForAll)
	if err != nil {
		return err
	}
	line, err := connect(c.Context, j, 0)
	defer line.close()
	if err != nil {
		return err
	}
	checks := &checklist{now: time.Now, report: progress.Validate{Query: j.Name, OK: true, Checks: []progress.Check{}}}
	checks.do("job", func() (string, error) { return line.checkJob() })
	checks.do("kafka", func() (string, error) { return line.checkKafka(c.Context) })
	checks.do("checkpoint", func() (string, error) { return line.checkCheckpoint(c.Context) })
	checks.do("catalog", func() (string, error) { return line.checkCatalog(c.Context) })
	checks.do("table", func() (string, error) { return line.checkTable(c.Context) })
	if err := progress.Write(p.stdout, p.json, &checks.report); err != nil {
		return err
	}
	p.told = checks.first != nil
	return cause(c.Context, checks.first)
}

// checklist does checks and remembers the first failure.
type checklist struct {
	now    func() time.Time
	report progress.Validate
	first  error
}

func (l *checklist) do(name string, check func() (string, error)) {
	began := l.now()
	detail, err := check()
	c := progress.Check{Name: name, Status: progress.CheckOK, Detail: detail, DurationMs: l.now().Sub(began).Milliseconds()}
	if err != nil {
		c.Status, c.Detail, c.Hint = progress.CheckFailed, err.Error(), hintOf(err)
		if l.first == nil {
			l.first, l.report.OK = err, false
		}
	}
	l.report.Checks = append(l.report.Checks, c)
}

func (l *pipeline) checkJob() (string, error) {
	if err := sourceOptions(l.job).Validate(); err != nil {
		return "", &usage{err, "see the table of keys in the README"}
	}
	return fmt.Sprintf("%s into %s", sourceName(l.job), l.job.Sink.Iceberg.Table), nil
}

// checkKafka asks for what a first run would start from, which takes every permission that reading takes but Fetch.
func (l *pipeline) checkKafka(ctx context.Context) (string, error) {
	if err := l.openSource(ctx); err != nil {
		return "", err
	}
	start, err := l.source.Start(ctx)
	if err != nil {
		return "", err
	}
	view, err := l.source.View(ctx, l.job.Source.Isolation(), nil)
	if err != nil {
		return "", err
	}
	waiting := offsets.Total(offsets.Between(start, view.Ends()))
	return fmt.Sprintf("%d topics, %d partitions; a first run would read %d offsets", len(start.Topics()), len(start), waiting), nil
}

func (l *pipeline) checkCheckpoint(ctx context.Context) (string, error) {
	if err := l.openCheckpoint(ctx); err != nil {
		return "", err
	}
	id, err := l.log.Query(ctx) // reading first: a store that does not answer costs one wait, not the probe's several
	if err != nil {
		return "", err
	}
	if err := checkpoint.Probe(ctx, l.store); err != nil {
		return "", err
	}
	if id == "" {
		return l.store.String() + " is empty; conditional writes work", nil
	}
	log, err := l.log.Last(ctx)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%s is at batch %d; conditional writes work", l.store, log.Commit), nil
}

func (l *pipeline) checkCatalog(ctx context.Context) (string, error) {
	if err := l.openSink(ctx); err != nil {
		return "", err
	}
	return l.sink.Describe(), nil
}

func (l *pipeline) checkTable(ctx context.Context) (string, error) {
	if l.sink == nil {
		return "", &batch.Fault{Class: batch.NotSetUp, Message: "there is no catalog to ask", Hint: "mend the catalog first"}
	}
	table, err := l.sink.Table(ctx, "")
	if err != nil {
		return "", err
	}
	if !table.Exists {
		return l.sink.TableName() + " is not there yet; the first run creates it", nil
	}
	if err := l.sink.Create(ctx, decode.NewRaw(l.job.Source.IncludeHeaders).Schema()); err != nil {
		return "", err
	}
	return fmt.Sprintf("%s takes the rows; %s", l.sink.TableName(), table.Location), nil
}
