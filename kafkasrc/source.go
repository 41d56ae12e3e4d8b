package kafkasrc

import (
	"context"
	"fmt"
	"math"
	"regexp"
	"sync"

	"github.com/twmb/franz-go/pkg/kgo"

	"sluice/batch"
	"sluice/offsets"
)

// Source is a subscription to a Kafka cluster. Its methods may be called from several goroutines.
type Source struct {
	options  Options
	settings settings
	limits   Limits
	pattern  *regexp.Regexp
	cluster  *cluster
	dials    *dials
	// connected says that a broker has answered.
	connected bool

	mu    sync.Mutex
	spare []*workspace
}

// Open connects to the cluster. Faulty options are plain errors, found before anything is connected to. A cluster that
// does not answer is a fault that names the addresses and what each said, after Limits.Connect at the latest.
func Open(ctx context.Context, options Options) (*Source, error) {
	if err := options.Validate(); err != nil {
		return nil, err
	}
	settings, err := options.settings()
	if err != nil {
		return nil, err
	}
	if options.FetchBytes == 0 {
		options.FetchBytes = defaultFetchBytes
	}
	if settings.fetchBytes > 0 {
		options.FetchBytes = settings.fetchBytes
	}
	if options.MaxBatchBytes == 0 {
		options.MaxBatchBytes = defaultMaxBatchBytes
	}
	options.MaxBatchBytes = max(options.MaxBatchBytes, settings.fetchBytes)
	s := &Source{options: options, settings: settings, limits: options.Limits.withDefaults(&settings), dials: newDials()}
	if s.pattern, err = options.Subscription.compile(); err != nil {
		return nil, err
	}
	if err := s.connect(ctx); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

func (s *Source) connect(ctx context.Context) error {
	options, err := s.clientOptions()
	if err != nil {
		return err
	}
	client, err := kgo.NewClient(options...)
	if err != nil {
		return fmt.Errorf("open Kafka client: %w", err)
	}
	s.cluster = &cluster{client: client, topics: map[string]*topic{}, absences: newAbsences(s.limits)}
	err = s.retry(ctx, s.limits.Connect, func(ctx context.Context) error {
		_, err := s.cluster.metadata(ctx, []string{})
		return err
	})
	if err != nil {
		return s.unanswered(err)
	}
	s.connected = true
	return nil
}

func (s *Source) clientOptions() ([]kgo.Opt, error) {
	options, err := s.settings.connection(s.limits)
	if err != nil {
		return nil, err
	}
	fetchBytes := int32(s.options.FetchBytes)
	return append(options,
		kgo.WithHooks(s.dials),
		kgo.FetchMaxBytes(fetchBytes),
		kgo.FetchMaxPartitionBytes(fetchBytes),
		// What a batch may be, and room for the rest of an answer.
		kgo.BrokerMaxReadBytes(int32(min(math.MaxInt32, s.options.MaxBatchBytes+s.options.FetchBytes+64<<10))),
	), nil
}

// Close ends all connections. Readers must be closed before.
func (s *Source) Close() {
	if s.cluster != nil {
		s.cluster.client.Close()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, w := range s.spare {
		w.decoder.close()
	}
	s.spare = nil
}

// Isolation is the isolation.level of the client properties, read_committed if they do not name one: unlike in Kafka's
// own clients, what was aborted is not read by default.
func (s *Source) Isolation() batch.Isolation { return s.settings.isolation }

// Start resolves where a query that has read nothing begins: a number for every partition that the subscription matches
// now. The latest offset is the one of Isolation. Explicit offsets must name exactly those partitions, and lie between
// the log start and the high watermark; all that do not are in one fault. So are all partitions without a record of the
// starting timestamp or later, unless they are to begin at their end.
func (s *Source) Start(ctx context.Context) (offsets.Offsets, error) {
	found, err := s.resolve(ctx, nil)
	if err != nil {
		return nil, err
	}
	level, err := isolationLevel(s.settings.isolation)
	if err != nil {
		return nil, err
	}
	bounds, err := s.bounds(ctx, found.partitions, level)
	if err != nil {
		return nil, err
	}
	switch starting := s.options.Starting; {
	case starting.Offsets != nil:
		return explicitStart(starting.Offsets, bounds, starting.KeepExpired)
	case !starting.Timestamp.IsZero(), starting.Times != nil:
		return s.startAt(ctx, starting, level, bounds)
	case starting.Latest:
		return (&offsets.View{Partitions: bounds}).Ends(), nil
	}
	start := make(offsets.Offsets, len(bounds))
	for tp, b := range bounds {
		start[tp] = b.Start
	}
	return start, nil
}

// View reads what every subscribed partition holds now: log start, end for the isolation level, high watermark and
// leader epoch. An end below its known offset, and a partition or topic that is known and not there, are asked for again
// with new metadata, Limits.Repeats times. Then an end is returned as it is, for the caller to judge; what is not there
// is left out if it is known, and a NotSetUp fault if it is not. Repeatable; it changes nothing.
func (s *Source) View(ctx context.Context, isolation batch.Isolation, known offsets.Offsets) (*offsets.View, error) {
	level, err := isolationLevel(isolation)
	if err != nil {
		return nil, err
	}
	found, err := s.resolve(ctx, known)
	if err != nil {
		return nil, err
	}
	bounds, err := s.bounds(ctx, found.partitions, level)
	if err != nil {
		return nil, err
	}
	for n := 0; n < s.limits.Repeats; n++ {
		below := endsBelow(bounds, known)
		if len(below) == 0 {
			break
		}
		if err := pause(ctx, s.limits.backoff(n)); err != nil {
			return nil, err
		}
		if err := s.askAgain(ctx, below, level, bounds); err != nil {
			return nil, err
		}
	}
	return &offsets.View{ClusterID: s.cluster.clusterID(), TopicIDs: found.ids(), Partitions: bounds}, nil
}

func endsBelow(bounds map[offsets.TopicPartition]offsets.Bounds, known offsets.Offsets) []offsets.TopicPartition {
	below := offsets.Offsets{}
	for tp, at := range known {
		if b, ok := bounds[tp]; ok && b.End < at {
			below[tp] = b.End
		}
	}
	return below.Partitions()
}

func (s *Source) askAgain(ctx context.Context, partitions []offsets.TopicPartition, level int8, bounds map[offsets.TopicPartition]offsets.Bounds) error {
	err := s.retry(ctx, s.limits.Control, func(ctx context.Context) error {
		_, err := s.cluster.metadata(ctx, topicsOf(partitions))
		return err
	})
	if err != nil {
		return s.unanswered(err)
	}
	again, err := s.bounds(ctx, partitions, level)
	if err != nil {
		return err
	}
	for tp, b := range again {
		bounds[tp] = b
	}
	return nil
}

// Read opens a task's pieces for reading, in their order. Nothing is asked of a broker before Next. ctx bounds all that
// the reader does until it is closed.
func (s *Source) Read(ctx context.Context, task *batch.Task) (*Reader, error) {
	level, err := isolationLevel(task.Isolation)
	if err != nil {
		return nil, fmt.Errorf("read task %d of batch %d: %w", task.Index, task.Batch, err)
	}
	r := newReader(ctx, s, task.Pieces, level)
	r.accepts = task.Accepts
	r.decoder.headers = s.options.IncludeHeaders || task.IncludeHeaders || task.Value.NeedsHeaders() || task.DeadLetters != nil // which have the headers whatever the rows have
	return r, nil
}
