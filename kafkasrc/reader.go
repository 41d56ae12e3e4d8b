package kafkasrc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"sluice/batch"
	"sluice/columns"
	"sluice/offsets"
)

// Reader reads pieces one after the other, each exactly from From to Until. It is used by one goroutine.
type Reader struct {
	source *Source
	// ctx is that of the outstanding request, which outlives the call of Next that sent it.
	ctx    context.Context
	cancel context.CancelFunc

	pieces    []batch.Piece
	positions []int64
	// lost are, by piece, the losses that were come upon and that accepts takes.
	lost    [][]batch.Loss
	accepts batch.Causes
	// gone are partitions that were not there: nobody waits for them twice.
	gone map[offsets.TopicPartition]bool
	// piece is the index of the piece in hand.
	piece int

	fetcher *fetcher
	// fetch is the fetcher's.
	fetch func(context.Context, batch.Piece, int64) (answer, error)
	ahead *ahead
	// ready are answers for pieces to come, by their index, which came with that of another one.
	ready map[int]answer
	// rest is what is left of the answer in hand.
	rest   []byte
	aborts abortFilter
	*workspace
	// damaged counts how often the batch at hand came with a bad checksum.
	damaged int
	read    int64
	// inside are the bytes of record batches that lie in the pieces.
	inside int64
	failed error
}

func newReader(ctx context.Context, s *Source, pieces []batch.Piece, level int8) *Reader {
	r := &Reader{
		source:    s,
		pieces:    slices.Clone(pieces),
		fetcher:   newFetcher(s, level),
		workspace: s.takeWorkspace(),
		lost:      make([][]batch.Loss, len(pieces)),
		gone:      map[offsets.TopicPartition]bool{},
		ready:     map[int]answer{},
	}
	r.fetch = r.fetcher.fetch
	r.ctx, r.cancel = context.WithCancel(ctx)
	for _, p := range pieces {
		r.positions = append(r.positions, p.From)
	}
	return r
}

// Next returns the next records, at least one and at most some thousand of one piece and one timestamp type. They are
// valid until the next call. After the last piece has reached its end it returns io.EOF. A record batch that is broken is
// a BadRecords fault that names topic, partition and offset; records that are gone are a DataLoss fault, unless the task accepts
// such losses: then they are in Lost and reading goes on behind them. After an error
// the reader is done for: the error comes again. Only a wait that ctx has ended may be repeated.
func (r *Reader) Next(ctx context.Context) (*columns.Records, error) {
	if r.failed != nil {
		return nil, r.failed
	}
	r.block.Reset()
	for {
		if ready, err := r.step(ctx); err != nil {
			return nil, r.fail(err)
		} else if ready {
			return &r.block, nil
		}
	}
}

// givenUp is a wait that the caller's context has ended. Nothing was lost: the next call waits on.
type givenUp struct{ cause error }

func (g *givenUp) Error() string { return g.cause.Error() }

func (r *Reader) fail(err error) error {
	var given *givenUp
	if errors.As(err, &given) {
		return given.cause
	}
	r.failed = err
	return err
}

// step does one thing: decode records of the batch in hand, take the next batch in hand, or the next answer. It reports
// whether the block is to be handed out.
func (r *Reader) step(ctx context.Context) (ready bool, err error) {
	if r.decoder.left > 0 {
		return r.decode()
	}
	if len(r.rest) > 0 {
		return r.nextBatch()
	}
	if r.block.Rows > 0 {
		return true, nil
	}
	return false, r.nextAnswer(ctx)
}

func (r *Reader) decode() (ready bool, err error) {
	piece := &r.pieces[r.piece]
	if r.block.Rows == 0 {
		r.block.Topic, r.block.Partition = piece.Topic, piece.Partition
		r.block.TimestampType = r.decoder.batch.timestampType
	} else if r.block.TimestampType != r.decoder.batch.timestampType {
		return true, nil
	}
	if err := r.decoder.fill(&r.block, r.positions[r.piece], piece.Until); err != nil {
		return false, r.broken(err)
	}
	if r.decoder.left > 0 {
		r.reach(r.decoder.last + 1)
		return full(&r.block), nil
	}
	r.reach(r.decoder.batch.next)
	r.letGo()
	return full(&r.block), nil
}

// letGo gives up the answer in hand once all of it is decoded: a slice of no length keeps what it points into.
func (r *Reader) letGo() {
	r.decoder.drop()
	if len(r.rest) == 0 {
		r.rest = nil
	}
}

// reach moves the position forward; batches that end before it, as a broker may send, change nothing.
func (r *Reader) reach(offset int64) {
	r.positions[r.piece] = max(r.positions[r.piece], offset)
}

// nextBatch takes a batch off the answer. What nobody is to see is passed over without being decompressed.
func (r *Reader) nextBatch() (ready bool, err error) {
	whole, rest, err := cut(r.rest)
	if err != nil {
		return false, r.broken(err)
	}
	if r.rest = rest; whole == nil { // cut off by the broker at the limit of the answer
		r.rest = nil
		return false, nil
	}
	until := r.pieces[r.piece].Until
	if whole[atMagic] == 2 && baseOffset(whole) >= until {
		r.reach(until) // compaction has left nothing before it
	}
	if r.positions[r.piece] >= until {
		r.rest = nil
		return false, nil
	}
	if nextOffset(whole) <= r.positions[r.piece] {
		return false, nil
	}
	if err := r.decoder.open(whole); err != nil {
		return false, r.openFailed(err)
	}
	r.damaged = 0
	r.inside += share(whole, r.positions[r.piece], until)
	if hidden, err := r.hidden(); err != nil || hidden {
		return false, err
	}
	if err := r.decoder.unpack(); err != nil {
		return false, r.broken(err)
	}
	if r.decoder.left == 0 {
		r.reach(r.decoder.batch.next)
	}
	return false, nil
}

// hidden reports whether the batch in hand holds control markers or, under read_committed, records of an aborted
// transaction; then the position is moved past it.
func (r *Reader) hidden() (bool, error) {
	b := &r.decoder.batch
	aborted := false
	if r.fetcher.level != 0 {
		r.aborts.reach(b.next - 1)
		aborted = b.transactional() && r.aborts.hides(b.producer)
	}
	if !aborted && !b.control() {
		return false, nil
	}
	if aborted && b.control() {
		ends, err := r.decoder.abortMarker()
		if err != nil {
			return false, r.broken(err)
		}
		if ends {
			r.aborts.close(b.producer)
		}
	}
	r.decoder.drop()
	r.reach(b.next)
	return true, nil
}

// openFailed fetches a batch with a bad checksum again: if it was damaged on the way, that cures it.
func (r *Reader) openFailed(err error) error {
	var c *corrupt
	if errors.As(err, &c) && c.inTransit && r.damaged < min(2, r.source.limits.Repeats) {
		r.damaged++
		r.rest = nil
		r.discardAhead()
		return nil
	}
	return r.broken(err)
}

// broken adds topic and partition to what is wrong with a batch.
func (r *Reader) broken(err error) error {
	tp := r.pieces[r.piece].Range().TopicPartition
	var large *tooLarge
	if errors.As(err, &large) {
		return batchTooLarge(tp, large)
	}
	return &batch.Fault{
		Class:   batch.BadRecords,
		Message: tp.String(),
		Hint:    "The broker holds bytes that no consumer can read: kafka-dump-log shows them, kafka-delete-records moves the log start past them.",
		Err:     err,
	}
}

// finish makes sure, where the brokers could not, that no topic was created again while it was read by its name. A
// topic that is gone by now was there until it had been read.
func (r *Reader) finish(ctx context.Context) error {
	r.discardAhead()
	if !r.fetcher.byName {
		return io.EOF
	}
	var partitions []offsets.TopicPartition
	for _, p := range r.pieces {
		partitions = append(partitions, p.Range().TopicPartition)
	}
	var told map[string]*topic
	err := r.source.retry(ctx, r.source.limits.Control, func(ctx context.Context) (err error) {
		told, err = r.source.cluster.metadata(ctx, topicsOf(partitions))
		return err
	})
	if err != nil {
		return r.source.unanswered(fmt.Errorf("check the ids of the topics that were read: %w", err))
	}
	for _, p := range r.pieces {
		if t := told[p.Topic]; t != nil && t.err == nil {
			if err := r.fetcher.sameTopic(p, t, p.From); err != nil {
				return r.mixed(err)
			}
		}
	}
	return io.EOF
}

// Piece is the index of the piece that the records of the last Next belong to.
func (r *Reader) Piece() int { return r.piece }

// Positions lists where reading stands in every piece: From before it began, at least Until when it is done. A position
// is behind all records handed out, and moves also where batches have none, and over what was lost.
func (r *Reader) Positions() []int64 {
	positions := slices.Clone(r.positions)
	for i, lost := range r.lost {
		for _, l := range lost {
			if positions[i] >= l.From {
				positions[i] = max(positions[i], l.Until)
			}
		}
	}
	return positions
}

// ReadBytes counts the bytes of record batches fetched, compressed as the broker sent them.
func (r *Reader) ReadBytes() int64 { return r.read }

// RecordBytes counts the bytes of the record batches that the pieces are made of, compressed as the broker keeps them: of one
// that reaches beyond a piece, the part that its offsets are.
func (r *Reader) RecordBytes() int64 { return r.inside }

// Close ends the outstanding request. What Next returned is no longer valid. It is safe to call twice.
func (r *Reader) Close() error {
	r.cancel()
	r.discardAhead()
	if r.workspace != nil {
		r.source.giveWorkspace(r.workspace)
		r.workspace = nil
	}
	r.failed = errClosed
	return nil
}

var errClosed = errors.New("the reader is closed")
