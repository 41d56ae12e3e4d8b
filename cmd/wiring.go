package cmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/apache/iceberg-go/catalog"
	"github.com/google/uuid"

	"sluice/batch"
	"sluice/checkpoint"
	"sluice/columns"
	"sluice/decode"
	"sluice/decode/registry"
	"sluice/job"
	"sluice/kafkasink"
	"sluice/kafkasrc"
	"sluice/lakesink"
	"sluice/lakesink/files"
	"sluice/objectstore"
	"sluice/offsets"
	"sluice/runner"
)

// pipeline is the packages wired for one job. Fields of parts that were not asked for are nil.
type pipeline struct {
	job    *job.Job
	budget budget
	runID  string
	source *kafkasrc.Source
	// sink is where the rows go. catalog and iceberg are nil where that is a folder of files.
	sink    outlet
	catalog catalog.Catalog
	iceberg *lakesink.Iceberg
	// letters are the tables and folders of dead letters that were asked for, by their place, topics the topics.
	lettersMu sync.Mutex
	letters   map[batch.LetterPlace]outlet
	topics    map[string]*kafkasink.Topic
	store     objectstore.Store
	log       *checkpoint.Log
	lease     *checkpoint.Lease
	// asked says that validate could read the checkpoint.
	asked bool
	// registry is nil where the job names none; decoders asks it.
	registry *registry.Client
	decoders decode.Maker
	// value is what settle settled, subjects are what it follows from; held is what the table has of it, nil if that is all.
	value    *batch.Value
	subjects []string
	held     *lakesink.Held
	narrowed bool
}

// connect opens what the parts need: the broker, the catalog, the store. Each answers or fails within seconds.
// After an error the pipeline has what was opened before it, and is to be closed as well.
func connect(ctx context.Context, j *job.Job, parts job.Part) (*pipeline, error) {
	p := &pipeline{job: j, budget: newBudget(j.Memory, cores(), cmp.Or(j.Sink.Place(), j.Sink.Iceberg.Catalog.URI)).withLetters(j),
		runID: uuid.Must(uuid.NewV7()).String()} // sorts by time: the newest record of a run is the last
	if err := sourceOptions(j).Validate(); parts&job.ForSource != 0 && err != nil {
		return p, &usage{fmt.Errorf("source: %w", err), "nothing was touched"}
	}
	if parts&job.ForSink != 0 { // before anything is opened: it is about the job alone
		if err := readable(j); err != nil {
			return p, err
		}
	}
	if parts&job.ForSource != 0 {
		if err := p.openRegistry(ctx); err != nil {
			return p, err
		}
	}
	limitMemory(j.Memory)
	if parts&job.ForCheckpoint != 0 {
		if err := p.openCheckpoint(ctx); err != nil {
			return p, err
		}
	}
	if parts&job.ForSource != 0 {
		if err := p.openSource(ctx); err != nil {
			return p, err
		}
	}
	if parts&job.ForSink != 0 {
		if err := p.openSink(ctx); err != nil {
			return p, err
		}
	}
	return p, nil
}

func (p *pipeline) openCheckpoint(ctx context.Context) (err error) {
	if p.store, err = objectstore.Open(ctx, p.job.Checkpoint); err != nil {
		return fmt.Errorf("open the checkpoint: %w", err)
	}
	p.log = checkpoint.NewLog(p.store)
	p.log.Retain = int(p.job.Retain)
	p.lease = checkpoint.NewLease(p.store, p.runID)
	p.lease.Wait, p.lease.TTL, p.lease.Renew = p.job.Run.Wait, p.job.Run.Lease, p.job.Run.Lease/3
	return nil
}

// openSource connects to the broker. Options that do not fit are plain errors there, what the broker says is a fault.
func (p *pipeline) openSource(ctx context.Context) (err error) {
	options := sourceOptions(p.job)
	options.FetchBytes = int(p.budget.fetch)
	p.source, err = kafkasrc.Open(ctx, options)
	var fault *batch.Fault
	if err != nil && ctx.Err() == nil && !errors.As(err, &fault) {
		return &usage{fmt.Errorf("source: %w", err), "correct the job; nothing was touched"}
	}
	return err
}

// openSink opens the catalog, or the folder. Whether its places are readable has been looked at.
func (p *pipeline) openSink(ctx context.Context) (err error) {
	if to := &p.job.Sink.Parquet; p.job.Sink.IsFolder() {
		opened, err := openFolder(ctx, to.Path, files.Options{PartitionBy: to.PartitionBy, SortBy: to.SortBy, TargetFileBytes: to.TargetFileSize, SparkMetadata: to.SparkMetadata, MemoryBytes: p.budget.files, RowGroupBytes: p.budget.rowGroup})
		if err == nil {
			p.sink = opened
		}
		return err
	}
	if p.catalog, err = lakesink.OpenCatalog(ctx, p.catalogOptions()); err != nil {
		return err
	}
	options := p.tableOptions(p.job.Sink.Iceberg.Table)
	options.MemoryBytes, options.RowGroupBytes = p.budget.files, p.budget.rowGroup
	options.Branch = p.job.Sink.Iceberg.Branch
	options.PartitionBy, options.SortBy = p.job.Sink.Iceberg.PartitionBy, p.job.Sink.Iceberg.SortBy
	p.iceberg = lakesink.New(p.catalog, options)
	p.sink = sink{p.iceberg}
	return nil
}

// unwritable says why the catalog takes no commits; a folder has none.
func (p *pipeline) unwritable(ctx context.Context) error {
	if p.catalog == nil {
		return nil
	}
	return lakesink.Unwritable(ctx, p.catalog)
}

// tableOptions are those of any table that the job writes.
func (p *pipeline) tableOptions(table string) lakesink.Options {
	to, options := p.job.Sink.Iceberg, p.catalogOptions()
	return lakesink.Options{Table: table, Catalog: options.String(), TargetFileBytes: p.targetFileBytes(),
		ExpireEvery: int(to.ExpireEvery), KeepSnapshots: int(to.KeepSnapshots), CreatedBy: "sluice " + Version()}
}

// word is what messages call where the rows go.
func (p *pipeline) word() string {
	if p.job.Sink.IsFolder() {
		return "folder"
	}
	return "table"
}

// targetFileBytes is what the job says of the size of a table's files, 0 if nothing: then the table's property holds.
func (p *pipeline) targetFileBytes() int64 {
	if p.job.Origin("sink.iceberg.targetFileSize").Layer == job.Default {
		return 0
	}
	return p.job.Sink.Iceberg.TargetFileSize
}

// deadLetters is a table or a folder of dead letters: the job's, or that of a plan which was made under another job. There
// are few of them in a batch as a rule, so that their files get little of a worker's memory.
func (p *pipeline) deadLetters(ctx context.Context, place batch.LetterPlace) (outlet, error) {
	p.lettersMu.Lock()
	defer p.lettersMu.Unlock()
	if there := p.letters[place]; there != nil {
		return there, nil
	}
	made, err := p.openLetters(ctx, place)
	if err != nil {
		return nil, err
	}
	if p.letters == nil {
		p.letters = map[batch.LetterPlace]outlet{}
	}
	p.letters[place] = made
	return made, nil
}

func (p *pipeline) openLetters(ctx context.Context, place batch.LetterPlace) (outlet, error) {
	switch {
	case place.Kind == batch.InTable && p.catalog != nil:
		options := p.tableOptions(place.Name)
		options.DeadLetters = true
		options.MemoryBytes, options.RowGroupBytes = p.budget.letters, p.budget.letters/2
		return sink{lakesink.New(p.catalog, options)}, nil
	case place.Kind == batch.InPath:
		return openFolder(ctx, p.located(place.Name), files.Options{DeadLetters: true, TargetFileBytes: p.job.Sink.TargetFileSize(), MemoryBytes: p.budget.letters, RowGroupBytes: p.budget.letters / 2})
	}
	return nil, &batch.Fault{Class: batch.NotSetUp, Message: fmt.Sprintf("dead letters cannot go to %s here", place),
		Hint: "set deadLetter.table (beside sink.iceberg), or deadLetter.path; a batch that was planned under another job is to be finished under that one"}
}

// located is a folder's address with the parameters of its store: those that the job gives for it, else for another folder of
// that bucket.
func (p *pipeline) located(folder string) string {
	bucket := func(address string) string {
		scheme, rest, _ := strings.Cut(address, "://")
		host, _, _ := strings.Cut(rest, "/")
		return scheme + "://" + host
	}
	given := []string{p.job.Value.DeadLetterPath, p.job.Sink.Parquet.Path, p.job.Checkpoint}
	for _, same := range []func(string) bool{func(g string) bool { return job.Folder(g) == folder }, func(g string) bool { return bucket(job.Folder(g)) == bucket(folder) }} {
		for _, g := range given {
			if _, parameters, ok := strings.Cut(g, "?"); ok && strings.Contains(folder, "://") && same(g) {
				return folder + "?" + parameters
			}
		}
	}
	return folder
}

// letterSink is the sink of any place of dead letters.
func (p *pipeline) letterSink(place batch.LetterPlace) runner.Sink {
	if place.Kind == batch.InTopic {
		topic, err := p.deadLetterTopic(place.Name)
		if err != nil {
			return noSink{err}
		}
		return topicSink{topic}
	}
	opened, err := p.deadLetters(context.Background(), place)
	if err != nil {
		return noSink{err}
	}
	return opened
}

// noSink is the sink of a place that there is none for. It fails whatever it is asked.
type noSink struct{ why error }

func (s noSink) Table(context.Context, string) (*batch.Table, error)           { return nil, s.why }
func (s noSink) Create(context.Context, columns.Schema) error                  { return s.why }
func (s noSink) Commit(context.Context, *batch.Commit) (*batch.Applied, error) { return nil, s.why }
func (s noSink) Maintain(context.Context, *batch.Applied) error                { return s.why }
func (s noSink) Write(context.Context, *batch.Task, string, columns.Schema) (runner.Writer, error) {
	return nil, s.why
}

// readable refuses a warehouse or a table in which only sluice would find its files.
func readable(j *job.Job) error {
	var wrong []job.Problem
	check := func(key, place string) {
		if err := lakesink.Readable(place); err != nil {
			wrong = append(wrong, job.Problem{At: j.Origin(key), Key: key, Message: err.Error()})
		}
	}
	if j.Sink.IsFolder() {
		check("sink.parquet.path", job.Folder(j.Sink.Parquet.Path))
	} else {
		if !j.Sink.Iceberg.Catalog.IsNamed() {
			check("sink.iceberg.catalog.warehouse", j.Sink.Iceberg.Catalog.Warehouse)
		}
		check("sink.iceberg.table", j.Sink.Iceberg.Table)
	}
	if j.Value.DeadLetterPath != "" {
		check("deadLetter.path", job.Folder(j.Value.DeadLetterPath))
	}
	if j.Value.DeadLetters != "" {
		check("deadLetter.table", j.Value.DeadLetters)
	}
	if len(wrong) == 0 {
		return nil
	}
	return &job.Error{Problems: wrong}
}

func (p *pipeline) catalogOptions() lakesink.CatalogOptions {
	c := &p.job.Sink.Iceberg.Catalog
	return lakesink.CatalogOptions{Type: c.Type, URI: c.URI, Warehouse: c.Warehouse, Name: c.Name, Properties: c.Properties}
}

// close lets go of connections. Nothing waits to be written: what counts is durable by then.
func (p *pipeline) close() {
	if p.source != nil {
		p.source.Close()
	}
	if p.registry != nil {
		p.registry.Close()
	}
	for _, topic := range p.topics {
		topic.Close()
	}
	if closer, ok := p.catalog.(catalog.Closer); ok {
		_ = closer.Close() // a catalog that was only read or whose commits were answered has nothing to lose
	}
}

// query is the pipeline as the runner's Query.
func (p *pipeline) query(reporter runner.Reporter) *runner.Query {
	j := p.job
	return &runner.Query{
		Source: source{p.source, reporter}, Sink: p.sink, Log: p.log, Journal: p.log, Lease: p.lease, Reporter: reporter,
		NewDecoder: p.newDecoder, DeadLetters: p.letterSink, DeadLetterSchema: decode.DeadLetterSchema(),
		Bound:    p.bound(),
		Mirror:   p.mirror(),
		Widening: &runner.Widening{Evolver: p.sink, On: altersTable, Widen: decode.Widen, Bounded: decode.Bounded},
		Options: runner.Options{
			Name: j.Name, RunID: p.runID, SinkName: p.sink.Describe(), Keys: j.Identity(), CheckKeys: checkKeys,
			CheckSink: p.checkSink, OddLocation: p.oddLocation,
			Isolation: j.Source.Isolation(), IncludeHeaders: j.Source.IncludeHeaders, Value: p.settled(), MaxOffsetsPerTrigger: j.Source.MaxOffsetsPerTrigger,
			MaxBytesPerTrigger: j.Source.MaxBytesPerTrigger, MinOffsetsPerTrigger: j.Source.MinOffsetsPerTrigger, MaxTriggerDelay: j.Source.MaxTriggerDelay,
			MaxBatches: int(j.Run.MaxBatches), MaxDuration: j.Run.MaxDuration, Grace: j.Run.Grace,
			Accepts: j.Source.Accepts(), Workers: p.budget.workers, MinPartitions: int(j.Source.MinPartitions), MaxRecordsPerPartition: j.Source.MaxRecordsPerPartition,
			TableName: p.sink.TableName(), SourceName: sourceName(j), ConsumerGroup: j.Source.ConsumerGroup, Now: time.Now, ExitCode: exitCode,
		},
	}
}

// checkSink and oddLocation look at a catalog; a folder of files is what it is wherever it lies.
func (p *pipeline) checkSink(uuid, was, is string) (remark string, err error) {
	if p.iceberg == nil {
		return "", nil
	}
	return lakesink.CheckMoved(uuid, was, is)
}

func (p *pipeline) oddLocation(location string) string {
	if p.iceberg == nil {
		return ""
	}
	return lakesink.OddLocation(p.catalogOptions(), location)
}

// checkKeys refuses a job that is no longer the query of its checkpoint.
func checkKeys(was, is map[string]string, read []offsets.TopicPartition) error {
	return job.Refuse(job.Forbidden(was, is, read))
}

func sourceOptions(j *job.Job) kafkasrc.Options {
	s := &j.Source
	return kafkasrc.Options{Client: s.Kafka, IncludeHeaders: s.IncludeHeaders,
		Subscription: kafkasrc.Subscription{Topics: s.Subscribe, Pattern: s.SubscribePattern, Assign: s.Assign},
		Ending:       kafkasrc.Ending{Offsets: s.EndingOffsets, Timestamp: s.EndingTimestamp, Times: s.EndingOffsetsByTimestamp},
		Starting: kafkasrc.Starting{Latest: s.StartingOffsets.Each == nil && s.StartingTimestamp.IsZero() && s.StartingOffsetsByTimestamp == nil && s.StartingOffsets.All == offsets.Latest,
			Offsets: s.StartingOffsets.Each, Timestamp: s.StartingTimestamp, Times: s.StartingOffsetsByTimestamp, EndIfNone: s.StartingOffsetsByTimestampStrategy == "latest", KeepExpired: s.Accepts().Accept(batch.Retention)}}
}

// sourceName describes the source as Spark does in its progress.
func sourceName(j *job.Job) string {
	s := &j.Source
	switch {
	case len(s.Subscribe) > 0:
		return fmt.Sprintf("KafkaV2[Subscribe[%s]]", strings.Join(s.Subscribe, ", "))
	case s.SubscribePattern != "":
		return fmt.Sprintf("KafkaV2[SubscribePattern[%s]]", s.SubscribePattern)
	}
	return fmt.Sprintf("KafkaV2[Assign[%v]]", s.Assign)
}

// source and sink adapt the leaves, whose methods return their own types, to the runner's interfaces.
type source struct {
	*kafkasrc.Source
	reporter runner.Reporter
}

func (s source) Read(ctx context.Context, task *batch.Task) (runner.Reader, error) {
	reader, err := s.Source.Read(ctx, task)
	if err != nil {
		return nil, err // and no interface that holds a nil pointer
	}
	reader.OnWait(func(w kafkasrc.Wait) {
		s.reporter.Notice("nothing has come from Kafka for a while; the run asks again", "partition", w.TopicPartition.String(), "offset", w.Offset,
			"waited", w.Waited.Round(time.Second), "gives up after", w.Patience, "error", w.Err)
	})
	return reader, nil
}

type sink struct{ *lakesink.Iceberg }

func (s sink) Write(ctx context.Context, task *batch.Task, attempt string, schema columns.Schema) (runner.Writer, error) {
	writer, err := s.Iceberg.Write(ctx, task, attempt, schema)
	if err != nil {
		return nil, err
	}
	return writer, nil
}

var (
	_ runner.Log     = (*checkpoint.Log)(nil)
	_ runner.Journal = (*checkpoint.Log)(nil)
	_ runner.Lease   = (*checkpoint.Lease)(nil)
)
