package kafkasrc

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"sluice/batch"
	"sluice/kafkaauth"
	"sluice/offsets"
)

// answer is what one Fetch brought: at least one complete batch, and the position behind the last one.
type answer struct {
	log     []byte
	aborted []abortedTxn
	next    int64
	// with are answers that came with it, by the index of their piece.
	with map[int]answer
}

// fetcher gets the bytes at a position, through leader changes, throttling and brokers that come back, or says why it
// cannot. It is used by one goroutine at a time.
type fetcher struct {
	source *Source
	level  int8
	// pinned holds the id of each topic that is read. A topic of a plan that does not tell is pinned to what is found
	// first.
	pinned map[string]topicID
	// follower is the replica that the leader has sent us to (KIP-392); refused partitions go to the leader only.
	follower map[offsets.TopicPartition]int32
	refused  map[offsets.TopicPartition]bool
	// byName says that a broker was too old to be asked by topic id, so that it could not tell a topic that was created
	// again.
	byName bool
	// cuts are where logs were found to be cut.
	cuts map[offsets.TopicPartition]cutAt
	// following are the pieces after the one that is asked for that there is no answer for, kept the bytes of the answers for others.
	following []following
	kept      int64
	// tell is told of what is waited for; nil for nobody.
	tell func(Wait)
	// read counts bytes, spanned the offsets that they have.
	read, spanned int64
}

// cutAt is where a log was cut, by a leader of an epoch.
type cutAt struct {
	epoch int32
	at    int64
}

func newFetcher(s *Source, level int8) *fetcher {
	return &fetcher{
		source:   s,
		level:    level,
		pinned:   map[string]topicID{},
		follower: map[offsets.TopicPartition]int32{},
		refused:  map[offsets.TopicPartition]bool{},
		cuts:     map[offsets.TopicPartition]cutAt{},
	}
}

// attempt is the state of one call of fetch.
type attempt struct {
	piece  batch.Piece
	tp     offsets.TopicPartition
	offset int64
	// stale is the metadata answer that has been found out of date.
	stale int
	// told is how long had been waited when it was last told.
	told time.Duration
	// beyond counts the answers that the position is beyond the end of the log, denied those that the topic may not be read.
	beyond, denied int
}

// errRedirected says that the leader wants a replica to be asked.
var errRedirected = errors.New("the leader sends to another replica")

// emptyAnswer says that the broker has nothing to give at a position, although the plan goes on.
type emptyAnswer struct{ high, stable int64 }

func (e *emptyAnswer) Error() string {
	return fmt.Sprintf("the broker answers without records (high watermark %d, last stable offset %d)", e.high, e.stable)
}

// unlisted is a topic or partition that metadata does not have. A broker that does not know one may just be behind.
type unlisted struct {
	error
	// what is the partition, or the topic with wholeTopic.
	what offsets.TopicPartition
}

func (u *unlisted) Unwrap() error { return u.error }

func unlistedIf(is bool, what offsets.TopicPartition, err error) error {
	if is {
		return &unlisted{err, what}
	}
	return err
}

// fetch gets the batches at offset. It returns a fault when they cannot be read, and when nothing was got in
// Limits.NoProgress.
func (f *fetcher) fetch(ctx context.Context, piece batch.Piece, offset int64) (answer, error) {
	try := &attempt{piece: piece, tp: piece.Range().TopicPartition, offset: offset}
	began := time.Now()
	for n := 0; ; n++ {
		got, err := f.once(ctx, try)
		if err == nil {
			return got, nil
		}
		f.following = f.following[:0] // whatever failed: it is asked for by itself from here on
		if errors.Is(err, errRedirected) {
			continue
		}
		if ctx.Err() != nil {
			return answer{}, context.Cause(ctx)
		}
		if f.source.permanent(err) {
			return answer{}, f.give(try, err)
		}
		waited, gone := time.Since(began), f.overdue(err)
		if gone && n == 0 { // the answer may be one that was remembered
			continue
		}
		if gone || f.outOfPatience(waited, err) {
			return answer{}, f.stuck(try, waited, err)
		}
		f.waits(try, waited, err)
		if err := pause(ctx, f.source.limits.backoff(n)); err != nil {
			return answer{}, err
		}
	}
}

// overdue says that the error is of a topic or partition that was waited for in vain, by whichever reader.
func (f *fetcher) overdue(err error) bool {
	var gone *unlisted
	return errors.As(err, &gone) && f.source.cluster.overdue(gone.what)
}

// outOfPatience says that nothing came for too long. What is lacking now, after other failures, has a patience of its own.
func (f *fetcher) outOfPatience(waited time.Duration, err error) bool {
	var never *neverReached
	var gone *unlisted
	if errors.As(err, &gone) {
		return waited >= 2*f.source.limits.NoProgress
	}
	return waited >= f.source.limits.NoProgress || errors.As(err, &never) && waited >= f.source.limits.Connect
}

// give adds to an error that is final where reading stood, unless it is a fault, which does.
func (f *fetcher) give(try *attempt, err error) error {
	var fault *batch.Fault
	if errors.As(err, &fault) {
		return err
	}
	return f.source.unanswered(fmt.Errorf("read %s at %d: %w", try.piece.Range(), try.offset, err))
}

// stuck is the end of the patience: what was planned is gone if metadata says so, else it may pass after all.
func (f *fetcher) stuck(try *attempt, waited time.Duration, err error) error {
	var gone *unlisted
	if errors.As(err, &gone) {
		f.source.cluster.giveUp(gone.what)
		rest := offsets.Range{TopicPartition: try.tp, From: try.offset, Until: try.piece.Until}
		return lost(rest, Missing, fmt.Sprintf("read %s at %d: %v", try.piece.Range(), try.offset, err),
			"The topic or partition was deleted with records that are planned and not yet read.")
	}
	message := fmt.Sprintf("no progress reading %s: the position is %d, the target %d, and for %s nothing more came",
		try.tp, try.offset, try.piece.Until, waited.Round(time.Millisecond))
	var empty *emptyAnswer
	if errors.As(err, &empty) {
		hint := "Look at the partition's leader and replicas, then run again."
		if f.level != 0 && empty.stable < try.piece.Until && empty.high >= try.piece.Until {
			hint = "A transaction that is still open holds the records back; run again when its producer has ended it or it has timed out."
		}
		return &batch.Fault{Message: message, Hint: hint, Err: err}
	}
	hint := "It may pass: run again. If it does not, look at the brokers' state."
	var outage *kafkaauth.Outage
	if errors.As(err, &outage) {
		hint = outage.Hint
	}
	return &batch.Fault{Message: message, Hint: hint, Err: f.source.unanswered(err)}
}

// once sends one Fetch and judges the answer. An error that is not permanent may pass.
func (f *fetcher) once(ctx context.Context, try *attempt) (answer, error) {
	t, err := f.locate(ctx, try)
	if err != nil {
		return answer{}, err
	}
	at, err := t.leaderOf(try.tp)
	if err != nil {
		try.stale = t.asked
		return answer{}, unlistedIf(absent(err), try.tp, err)
	}
	if cut, err := f.cutOf(ctx, try, at.epoch); err != nil || cut < try.piece.Until {
		return answer{}, cmp.Or(err, wasCut(try, cut))
	}
	broker := at.broker
	if follower, ok := f.follower[try.tp]; ok {
		broker = follower
	}
	var chosen []following
	if broker == at.broker {
		chosen = f.together(try, at, t)
	}
	resp, err := f.source.ask(ctx, broker, f.request(try, t, at, chosen))
	if err != nil {
		f.refuseFollower(try.tp)
		try.stale = t.asked
		return answer{}, f.tooLong(try, err)
	}
	fetched := resp.(*kmsg.FetchResponse)
	if fetched.Version < 13 {
		f.byName = true
	}
	if err := kerr.ErrorForCode(fetched.ErrorCode); err != nil {
		return answer{}, fmt.Errorf("broker %d: %w", broker, err)
	}
	if p := partitionOf(fetched, try.tp, t.id); p != nil {
		got, err := f.judge(ctx, try, t, p)
		if err == nil {
			got.with = f.came(fetched, chosen)
		}
		return got, err
	}
	// A throttled broker answers for no partition at all (KIP-219).
	return answer{}, fmt.Errorf("broker %d answers nothing for %s", broker, try.tp)
}

// locate looks the topic up and makes sure that it is the one that was planned.
func (f *fetcher) locate(ctx context.Context, try *attempt) (*topic, error) {
	name := try.tp.Topic
	topics, err := f.source.cluster.lookup(ctx, []string{name}, map[string]int{name: try.stale})
	if err != nil {
		return nil, err
	}
	t := topics[name]
	if t.err != nil {
		try.stale = t.asked
		if errors.Is(t.err, kerr.TopicAuthorizationFailed) {
			return nil, notAllowed("Describe", name)
		}
		return nil, unlistedIf(absent(t.err), offsets.TopicPartition{Topic: name, Partition: wholeTopic}, fmt.Errorf("topic %s: %w", name, t.err))
	}
	return t, f.sameTopic(try.piece, t, try.offset)
}

// sameTopic compares the topic's id with that of the plan: a topic that was deleted and created again has other records
// at the same offsets. Reading must not go on, whatever its offsets are
// (https://github.com/quickwit-oss/quickwit/issues/1602).
func (f *fetcher) sameTopic(piece batch.Piece, t *topic, offset int64) error {
	planned, found := piece.TopicID, t.id.String()
	if planned == "" {
		planned = f.pinned[piece.Topic].String()
	}
	if planned != "" && found != "" && planned != found {
		rest := offsets.Range{TopicPartition: piece.Range().TopicPartition, From: offset, Until: piece.Until}
		return lost(rest, Recreated,
			fmt.Sprintf("topic %s was deleted and created again: its id was %s and is %s", piece.Topic, planned, found),
			"What was not read of the old topic is gone; its offsets mean nothing in the new one.")
	}
	if found != "" {
		f.pinned[piece.Topic] = t.id
	}
	return nil
}

func (f *fetcher) request(try *attempt, t *topic, at leader, with []following) kmsg.Request {
	options := f.source.options
	req := kmsg.NewPtrFetchRequest()
	req.MaxWaitMillis = int32(f.source.limits.FetchWait / time.Millisecond)
	req.MinBytes = int32(f.source.settings.fetchMin)
	req.MaxBytes = int32(options.FetchBytes)
	req.IsolationLevel = f.level
	req.SessionEpoch = -1 // no session: every request stands alone
	if !f.refused[try.tp] {
		req.Rack = f.source.settings.rack
	}
	p := kmsg.NewFetchRequestTopicPartition()
	p.Partition = try.tp.Partition
	p.CurrentLeaderEpoch = at.epoch
	p.FetchOffset = try.offset
	if p.PartitionMaxBytes = int32(options.FetchBytes); len(with) > 0 {
		p.PartitionMaxBytes = int32(f.estimate(try.piece.Until - try.offset))
	}
	rt := kmsg.NewFetchRequestTopic()
	rt.Topic, rt.TopicID = try.tp.Topic, t.id
	rt.Partitions = append(rt.Partitions, p)
	req.Topics = append(req.Topics, rt)
	f.add(req, with)
	if t.id == (topicID{}) {
		return fetchByName{req}
	}
	return req
}

// fetchByName is a Fetch of the last version that names topics: a cluster in the middle of an upgrade may know the
// versions that need topic ids and have none.
type fetchByName struct{ *kmsg.FetchRequest }

// MaxVersion bounds the version that franz-go chooses.
func (fetchByName) MaxVersion() int16 { return 12 }

// tooLong turns the client's refusal of an answer that is too large into an error of its own. Brokers send a batch whole
// however large it is (KIP-74). The library does not export the error, a test pins its text.
func (f *fetcher) tooLong(try *attempt, err error) error {
	if strings.Contains(err.Error(), "BrokerMaxReadBytes") {
		return batchTooLarge(try.tp, &tooLarge{base: try.offset, limit: f.source.options.MaxBatchBytes})
	}
	return err
}

func batchTooLarge(tp offsets.TopicPartition, err *tooLarge) error {
	return &batch.Fault{
		Class:   batch.BadRecords,
		Message: tp.String(),
		Hint:    "Set the client property max.partition.fetch.bytes above what the batch needs, which raises this limit, and give more memory.",
		Err:     err,
	}
}

func (f *fetcher) refuseFollower(tp offsets.TopicPartition) {
	if _, ok := f.follower[tp]; ok {
		delete(f.follower, tp)
		f.refused[tp] = true
	}
}
