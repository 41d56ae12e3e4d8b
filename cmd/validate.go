package cmd

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"sluice/batch"
	"sluice/checkpoint"
	"sluice/decode"
	"sluice/job"
	"sluice/lakesink"
	"sluice/objectstore"
	"sluice/offsets"
	"sluice/progress"
	"sluice/runner"
)

// The checks of validate, in their order.
const (
	checkJob        = "job"
	checkRegistry   = "registry"
	checkKafka      = "kafka"
	checkGroup      = "consumerGroup"
	checkCheckpoint = "checkpoint"
	checkCatalog    = "catalog"
	checkTable      = "table"
	checkWarehouse  = "warehouse"
	checkLetters    = "deadLetters"
	checkQuery      = "query"
)

func (p *process) validateCommand() *cli.Command {
	return &cli.Command{
		Name:  "validate",
		Usage: "check the job, connections and permissions, without running",
		Description: "Checks one after the other what a run needs: the job itself, the broker and its topics, the checkpoint's store, the catalog, the table, the warehouse,\n" +
			"the table of dead letters if there is one, and whether checkpoint, table and topics fit together. Nothing is kept: in the checkpoint's store and where the table's files go, one small object is written\n" +
			"and removed again.\n\nThe exit code is that of the first check that failed.",
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
	line.check(c.Context, checks)
	if err := progress.Write(p.stdout, p.json, &checks.report); err != nil {
		return err
	}
	p.told = checks.first != nil
	return cause(c.Context, checks.first)
}

// check makes all checks. Each is skipped if one that it stands on did not succeed.
func (l *pipeline) check(ctx context.Context, checks *checklist) {
	read := false // the table, or that there is none
	registry := []string(nil)
	if l.job.Registry["url"] != "" {
		checks.do(checkRegistry, func() (string, error) { return l.checkRegistry(ctx) })
		registry = []string{checkRegistry}
	}
	checks.do(checkJob, func() (string, error) { return l.checkJob(ctx) }, registry...)
	checks.do(checkKafka, func() (string, error) { return l.checkKafka(ctx) })
	if group := l.job.Source.ConsumerGroup; group != "" {
		checks.do(checkGroup, func() (string, error) { return l.checkGroup(ctx, group) }, checkKafka)
	}
	checks.do(checkCheckpoint, func() (string, error) { return l.checkCheckpoint(ctx) })
	checks.do(checkCatalog, func() (string, error) { return l.checkCatalog(ctx) })
	needs := append(registry, checkCatalog)
	_, blind := l.sink.(*folder)
	if blind = blind && l.log != nil && !l.asked; blind { // the checkpoint would be told of again, as if it were the folder
		needs = append(needs, checkCheckpoint)
	}
	checks.do(checkTable, func() (detail string, err error) { read, detail, err = l.checkTable(ctx); return detail, err }, needs...)
	switch needs = []string{checkTable}; {
	case read: // one that does not take the rows lies somewhere all the same
		needs = nil
	case blind:
		needs = []string{checkCatalog}
	}
	checks.do(checkWarehouse, func() (string, error) { return l.checkWarehouse(ctx) }, needs...)
	sound := []string{checkKafka, checkCheckpoint, checkTable}
	given := givenValue(&l.job.Value)
	switch place := given.LetterPlace(); place.Kind {
	case batch.InTable, batch.InPath:
		checks.do(checkLetters, func() (string, error) { return l.checkLetters(ctx, place) }, checkCatalog)
		sound = append(sound, checkLetters)
	case batch.InTopic:
		checks.do(checkLetters, func() (string, error) { return l.checkTopic(ctx, place.Name) }, checkKafka)
		sound = append(sound, checkLetters)
	}
	checks.do(checkQuery, func() (string, error) { return l.checkQuery(ctx) }, sound...)
}

// checklist does checks and remembers the first failure.
type checklist struct {
	now    func() time.Time
	report progress.Validate
	first  error
}

// do makes a check, unless one of those that it needs did not succeed.
func (l *checklist) do(name string, check func() (string, error), needs ...string) {
	if missing := l.missing(needs); missing != nil {
		l.report.Checks = append(l.report.Checks, progress.Check{Name: name, Status: progress.CheckSkipped,
			Detail: fmt.Sprintf("it needs the check %s, which %s", missing.Name, failedOrSkipped[missing.Status])})
		return
	}
	began := l.now()
	detail, err := check()
	c := progress.Check{Name: name, Status: progress.CheckOK, Detail: detail, DurationMs: l.now().Sub(began).Milliseconds()}
	if err != nil {
		c.Status, c.Detail, c.Hint = progress.CheckFailed, err.Error(), choicesElsewhere(hintOf(err))
		if l.first == nil {
			l.first, l.report.OK = err, false
		}
	}
	l.report.Checks = append(l.report.Checks, c)
}

// choicesElsewhere says whose flags a hint names that validate does not have.
func choicesElsewhere(hint string) string {
	for _, name := range namesOf(choiceFlags()) {
		if strings.Contains(hint, "--"+name) {
			return hint + " (--" + name + " is a flag of run and plan)"
		}
	}
	return hint
}

var failedOrSkipped = map[string]string{progress.CheckFailed: "failed", progress.CheckSkipped: "was skipped"}

// missing is the first check of those named that did not succeed, nil if all did.
func (l *checklist) missing(names []string) *progress.Check {
	for i := range l.report.Checks {
		if c := &l.report.Checks[i]; c.Status != progress.CheckOK && slices.Contains(names, c.Name) {
			return c
		}
	}
	return nil
}

// checkJob only says what the job is: what is wrong with it was found when it was loaded.
func (l *pipeline) checkJob(ctx context.Context) (string, error) {
	d, err := l.decoder(ctx)
	if err != nil {
		return "", err
	}
	detail := fmt.Sprintf("%s into %s; value.format %s, rows of %s", sourceName(l.job), l.job.Sink.Name(), l.job.Value.Format, progress.Plural(int64(len(d.Schema())), "column"))
	if unfilled := l.unfilled(); unfilled != "" {
		detail += "; " + unfilled
	}
	return detail, nil
}

// checkKafka asks for what a new query would start from, which takes every permission that reading takes but Fetch.
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
	return fmt.Sprintf("%s, %s; a new query would read %s", progress.Plural(int64(len(start.Topics())), "topic"), progress.Plural(int64(len(start)), "partition"),
		progress.Plural(waiting, "offset")), nil
}

func (l *pipeline) checkCheckpoint(ctx context.Context) (string, error) {
	if err := l.openCheckpoint(ctx); err != nil {
		return "", err
	}
	id, err := l.log.Query(ctx) // reading first: a store that does not answer costs one wait, not the probe's several
	if err != nil {
		return "", err
	}
	l.asked = true
	if err := objectstore.Try(ctx, l.store, checkpoint.ProbePrefix); err != nil {
		return "", err
	}
	if id == "" {
		return l.store.String() + " is empty; conditional writes work", nil
	}
	log, err := l.log.Last(ctx)
	if err != nil {
		return "", err
	}
	if log.Commit < 0 {
		return fmt.Sprintf("%s has no batch yet; conditional writes work", l.store), nil
	}
	return fmt.Sprintf("%s is at batch %d; conditional writes work", l.store, log.Commit), nil
}

func (l *pipeline) checkCatalog(ctx context.Context) (string, error) {
	if err := readable(l.job); err != nil {
		return "", err
	}
	if err := l.openSink(ctx); err != nil {
		return "", err
	}
	if l.catalog == nil {
		return l.sink.Describe() + "; a folder of files has no catalog", nil
	}
	if err := lakesink.Writable(ctx, l.catalog); err != nil {
		return "", err
	}
	if path := lakesink.MissingDatabase(ctx, l.catalog); path != "" {
		return fmt.Sprintf("%s; %s does not exist yet; the first run makes it", l.sink.Describe(), path), nil
	}
	return l.sink.Describe(), nil
}

// checkTable also reports whether the table could be read, be it only to find that there is none.
func (l *pipeline) checkTable(ctx context.Context) (read bool, detail string, err error) {
	id := ""
	if _, isFolder := l.sink.(*folder); isFolder && l.log != nil { // whether it can be made may depend on what the checkpoint's query has written there
		if id, err = l.log.Query(ctx); err != nil {
			return false, "", err
		}
	}
	table, err := l.sink.Table(ctx, id)
	if err != nil {
		return false, "", err
	}
	if !table.Exists {
		if err := l.unmakeable(ctx, table); err != nil {
			return true, "", err
		}
		if table.Applied.Batch != batch.None {
			return true, fmt.Sprintf("%s has the batches of Spark's query up to %d; the first run goes on there", l.sink.TableName(), table.Applied.Batch), nil
		}
		return true, l.sink.TableName() + " is not there yet; the first run creates it", nil
	}
	value, err := l.valueFor(ctx, table)
	if err == nil {
		err = l.takes(ctx, value, l.job.Source.IncludeHeaders)
	}
	if err != nil {
		return true, "", err
	}
	detail = fmt.Sprintf("%s takes the rows; %s", l.sink.TableName(), table.Location)
	if left := l.leftOut(); left != "" {
		detail += "; " + left
	}
	return true, detail, nil
}

func (l *pipeline) checkWarehouse(ctx context.Context) (string, error) {
	return l.probe(ctx, l.sink)
}

// probe says what can be done where an outlet's files go.
func (l *pipeline) probe(ctx context.Context, to outlet) (string, error) {
	place := to.TableName()
	switch to := to.(type) {
	case *folder:
		return "files can be written, read and removed in " + place + ", and conditional writes work", to.Probe(ctx)
	case sink:
		place, err := to.Probe(ctx, l.catalogOptions())
		if err == nil && place == "" {
			return "only the catalog knows where the files of " + to.TableName() + " go, and tells once its namespace is there; the first run makes it", nil
		}
		return "files can be written, read and removed in " + place, err
	}
	return "", fmt.Errorf("%s cannot be tried out", place)
}

// checkLetters asks for what a run needs of the table of dead letters: that it takes them, or can be made, and that files can
// be written where it is.
func (l *pipeline) checkLetters(ctx context.Context, in batch.LetterPlace) (string, error) {
	s, err := l.deadLetters(ctx, in)
	if err != nil {
		return "", err
	}
	table, err := s.Table(ctx, "")
	if err != nil {
		return "", err
	}
	state := " is not there yet; the first run creates it"
	if table.Exists {
		if err := s.Fits(ctx, runner.LetterColumns(decode.DeadLetterSchema())); err != nil {
			return "", err
		}
		state = " takes the dead letters"
	} else if to, ok := s.(*folder); ok {
		if err := to.Makeable(ctx, nil); err != nil {
			return "", err
		}
	}
	tried, err := l.probe(ctx, s)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%s%s; %s", in, state, tried), nil
}

// checkQuery asks what a run would do, or why it would refuse.
func (l *pipeline) checkQuery(ctx context.Context) (string, error) {
	o, err := l.query(silent{}).Inspect(ctx)
	if err == nil {
		err = o.Refusal
	}
	if err != nil {
		return "", err
	}
	return strings.Join(append([]string{"checkpoint, table and topics fit together", nextStep(o)}, o.Remarks...), "; "), nil
}

// nextStep says what a run would do first.
func nextStep(o *runner.Outlook) string {
	switch {
	case o.Replay != nil:
		return fmt.Sprintf("a run would first finish batch %d", o.Replay.Batch)
	case o.Next != nil:
		return fmt.Sprintf("a run would begin with batch %d and read %s", o.Next.Batch, progress.Plural(o.Remaining, "offset"))
	}
	return "a run would find nothing to read"
}
