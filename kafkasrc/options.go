package kafkasrc

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"sluice/batch"
	"sluice/offsets"
)

// Options says what to read from where. Validate checks everything that needs no broker.
type Options struct {
	// Client holds Kafka client properties under their Java names. Unknown names are errors.
	Client map[string]string
	// Subscription says which partitions to read.
	Subscription Subscription
	// Starting says where a query begins that has read nothing, Ending where runs end at the latest.
	Starting Starting
	Ending   Ending
	// IncludeHeaders asks for the record headers, also for tasks that do not.
	IncludeHeaders bool
	// FetchBytes is how much one Fetch asks for, 1 MiB if 0. The client properties max.partition.fetch.bytes and
	// fetch.max.bytes come before it, the smaller of the two. A record batch that is larger is read all the same, and
	// nothing is on its way meanwhile.
	FetchBytes int
	// MaxBatchBytes is the most that one record batch may need, compressed or not; 128 MiB if 0, at most 1 GiB, and never
	// less than the fetch size that the client properties ask for. A larger one is an error that names it: the bound on
	// what broken or hostile bytes can allocate.
	MaxBatchBytes int
	// Limits bound how long anything is tried.
	Limits Limits
}

// Limits bound retries and waiting. A zero field takes its default.
type Limits struct {
	// Connect is how long a broker may be unreachable that has not answered yet in this run. 8 s, or
	// socket.connection.setup.timeout.ms if that is longer.
	Connect time.Duration
	// Control is how long one question about topics and offsets may take, retries included. 60 s, or default.api.timeout.ms: a
	// broker that hangs is waited for once, for request.timeout.ms, and there is time to ask whoever leads after it.
	Control time.Duration
	// NoProgress is how long a Reader tries without its position moving. 2 min.
	NoProgress time.Duration
	// Telling is how long a Reader tries so before it tells of it (Reader.OnWait), and then after as long again. 15 s.
	Telling time.Duration
	// Backoff is the pause before the first retry; it doubles up to LongestBackoff. 100 ms, or retry.backoff.ms.
	Backoff time.Duration
	// LongestBackoff is ten times Backoff, or retry.backoff.max.ms.
	LongestBackoff time.Duration
	// FetchWait is how long the broker holds a Fetch that has nothing to answer. 500 ms, or fetch.max.wait.ms.
	FetchWait time.Duration
	// Repeats is how often an answer is asked for again that should not be: an end below what the query has reached, a
	// partition or topic that was there before, a record batch with a bad checksum. 5.
	Repeats int
}

// withDefaults fills in what is not given, from the client properties where they say.
func (l Limits) withDefaults(s *settings) Limits {
	set := func(d *time.Duration, values ...time.Duration) {
		for _, value := range values {
			if *d == 0 {
				*d = value
			}
		}
	}
	set(&l.Connect, max(8*time.Second, s.setupTimeout))
	set(&l.Control, s.apiTimeout, time.Minute)
	set(&l.NoProgress, 2*time.Minute)
	set(&l.Telling, 15*time.Second)
	set(&l.Backoff, s.backoff)
	set(&l.LongestBackoff, s.maxBackoff, 10*l.Backoff)
	set(&l.FetchWait, s.fetchWait, 500*time.Millisecond)
	if l.Repeats == 0 {
		l.Repeats = 5
	}
	return l
}

// Subscription names the partitions to read: exactly one field is set.
type Subscription struct {
	// Topics are read with all their partitions.
	Topics []string
	// Pattern matches topics anywhere in their name, as Spark does with its admin client: write ^orders$ for the whole
	// name. The syntax is RE2, which is Java's without look-around, back references and possessive quantifiers.
	// Internal topics never match.
	Pattern string
	// Assign lists single partitions.
	Assign []offsets.TopicPartition
}

// Starting says where to begin; the zero value is the earliest offset of every partition. At most one of Latest, Offsets,
// Timestamp and Times is set.
type Starting struct {
	// Latest begins at the end.
	Latest bool
	// Offsets names every assigned partition and no other; offsets.Earliest and offsets.Latest are allowed.
	Offsets offsets.Offsets
	// Timestamp begins at the first record that is not older.
	Timestamp time.Time
	// Times is the same with a time for each partition, in milliseconds since 1970. It names every assigned partition and no
	// other.
	Times offsets.Offsets
	// EndIfNone goes with Timestamp and Times: a partition that has no such record begins at its end. Without it that is a
	// fault.
	EndIfNone bool
	// KeepExpired goes with Offsets: one below the log start stays as it is, for a caller that records what is lost. Without it
	// that is a fault.
	KeepExpired bool
}

// Validate reports every fault that can be found without a broker.
func (o Options) Validate() error {
	_, err := o.settings()
	_, patternErr := o.Subscription.compile()
	return errors.Join(err, patternErr, o.Subscription.validate(), o.Starting.validate(), o.Ending.validate(), o.validateSizes())
}

func (o Options) validateSizes() error {
	if o.FetchBytes < 0 || o.FetchBytes > maxBatchBytes || o.MaxBatchBytes < 0 || o.MaxBatchBytes > maxBatchBytes {
		return fmt.Errorf("fetch size %d and batch size limit %d: both are between 0 and %d bytes", o.FetchBytes, o.MaxBatchBytes, maxBatchBytes)
	}
	return nil
}

const (
	defaultFetchBytes    = 1 << 20
	defaultMaxBatchBytes = 128 << 20
	maxBatchBytes        = 1 << 30
)

func (s Subscription) validate() error {
	given := 0
	for _, set := range []bool{len(s.Topics) > 0, s.Pattern != "", len(s.Assign) > 0} {
		if set {
			given++
		}
	}
	var errs []error
	if given != 1 {
		errs = append(errs, fmt.Errorf("%d of subscribe, subscribePattern and assign are given, exactly one is needed", given))
	}
	for _, topic := range s.names() {
		if err := validTopic(topic); err != nil {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// names lists the topics that are named, each once; nil for a pattern.
func (s Subscription) names() []string {
	names := slices.Clone(s.Topics)
	for _, tp := range s.Assign {
		names = append(names, tp.Topic)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

func (s Subscription) compile() (*regexp.Regexp, error) {
	if s.Pattern == "" {
		return nil, nil
	}
	pattern, err := regexp.Compile(s.Pattern)
	if err != nil {
		return nil, fmt.Errorf("subscribePattern %q: %w (the syntax is RE2: no look-around, no back references)", s.Pattern, err)
	}
	return pattern, nil
}

// validTopic applies Kafka's rule, so that a typing error is not taken for a topic that is missing.
func validTopic(name string) error {
	legal := func(r rune) bool {
		return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || r == '.' || r == '_' || r == '-'
	}
	switch {
	case name == "", name == ".", name == "..", len(name) > 249:
		return fmt.Errorf("topic %q: no topic can have this name", name)
	case strings.ContainsFunc(name, func(r rune) bool { return !legal(r) }):
		return fmt.Errorf("topic %q: a name has letters, digits, '.', '_' and '-' only; use subscribePattern for a pattern", name)
	}
	return nil
}

func (s Starting) validate() error {
	given := 0
	for _, set := range []bool{s.Latest, s.Offsets != nil, !s.Timestamp.IsZero(), s.Times != nil} {
		if set {
			given++
		}
	}
	if given > 1 {
		return errors.New("several of latest, offsets, a timestamp and timestamps are given to start from, at most one is allowed")
	}
	for _, tp := range s.Offsets.Partitions() {
		if s.Offsets[tp] < offsets.Earliest {
			return fmt.Errorf("starting offset %d of %s: no offset is below %d", s.Offsets[tp], tp, offsets.Earliest)
		}
	}
	return nil
}

// isolationLevel is the protocol's number.
func isolationLevel(level batch.Isolation) (int8, error) {
	switch level {
	case batch.ReadCommitted:
		return 1, nil
	case batch.ReadUncommitted:
		return 0, nil
	}
	return 0, fmt.Errorf("isolation level %q is neither %s nor %s", level, batch.ReadCommitted, batch.ReadUncommitted)
}
