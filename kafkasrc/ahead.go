package kafkasrc

import (
	"context"
	"errors"
	"io"
)

// ahead is a Fetch on its way.
type ahead struct {
	piece  int
	offset int64
	done   chan struct{}
	got    answer
	err    error
}

// nextAnswer waits for the answer at the position, and sends for the one after it.
func (r *Reader) nextAnswer(ctx context.Context) error {
	for r.piece < len(r.pieces) && r.positions[r.piece] >= r.pieces[r.piece].Until {
		if r.piece+1 == len(r.pieces) {
			return r.finish(ctx)
		}
		r.piece++
	}
	if len(r.pieces) == 0 {
		return io.EOF
	}
	r.letGo()
	position := r.positions[r.piece]
	if got, ok := r.ready[r.piece]; ok {
		if delete(r.ready, r.piece); position == r.pieces[r.piece].From {
			r.take(got)
			return nil
		}
	}
	if a := r.ahead; a != nil && (a.piece != r.piece || a.offset != position) {
		r.discardAhead()
	}
	if r.gone[r.pieces[r.piece].Range().TopicPartition] {
		r.lose(&Loss{Range: r.left(), Cause: Missing})
		return nil
	}
	if r.ahead == nil {
		r.send(r.piece, position)
	}
	select {
	case <-r.ahead.done:
	case <-ctx.Done():
		return &givenUp{context.Cause(ctx)}
	}
	got, err := r.ahead.got, r.ahead.err
	r.ahead = nil
	r.read = r.fetcher.read
	if loss := (*Loss)(nil); errors.As(err, &loss) && r.accepts.Accept(loss.Cause) {
		r.lose(loss)
		return nil
	}
	if err != nil {
		return err
	}
	for piece, with := range got.with {
		r.ready[piece] = with
	}
	r.take(got)
	return nil
}

// take takes an answer in hand, and sends for what follows unless, with what is ready, it would be more than memory is planned for.
func (r *Reader) take(got answer) {
	r.rest = got.log
	r.aborts.reset(got.aborted)
	if int64(len(got.log))+r.kept() <= int64(r.source.options.FetchBytes) {
		r.sendFollowing(got.next)
	}
}

// kept counts the bytes of the answers that are ready.
func (r *Reader) kept() (bytes int64) {
	for _, got := range r.ready {
		bytes += int64(len(got.log))
	}
	return bytes
}

// sendFollowing asks for what comes after an answer that ends before next, in this piece or in the first of the following that
// there is not all of yet. So what is on its way is always what is read next.
func (r *Reader) sendFollowing(next int64) {
	if r.ahead != nil || next <= r.positions[r.piece] { // a broken answer
		return
	}
	for i := r.piece; i < len(r.pieces); i++ {
		if got, ok := r.ready[i]; ok {
			next = got.next
		} else if i > r.piece {
			next = r.positions[i]
		}
		if next < r.pieces[i].Until {
			r.send(i, next)
			return
		}
	}
}

// unanswered is the first piece from i on that is not read and that there is no answer for.
func (r *Reader) unanswered(i int) int {
	for ; i < len(r.pieces); i++ {
		if _, ok := r.ready[i]; !ok && r.positions[i] < r.pieces[i].Until {
			break
		}
	}
	return i
}

// send asks for a piece at an offset, and for those after it that fit into the same answer.
func (r *Reader) send(piece int, offset int64) {
	a := &ahead{piece: piece, offset: offset, done: make(chan struct{})}
	r.ahead = a
	wanted := r.pieces[piece]
	r.fetcher.following, r.fetcher.kept = r.fetcher.following[:0], r.kept()
	for i := r.unanswered(piece + 1); i < len(r.pieces) && len(r.fetcher.following) < mostTogether; i = r.unanswered(i + 1) {
		r.fetcher.following = append(r.fetcher.following, following{index: i, Piece: r.pieces[i]})
	}
	go func() {
		defer close(a.done)
		a.got, a.err = r.fetch(r.ctx, wanted, offset)
	}()
}

func (r *Reader) discardAhead() {
	if r.ahead != nil {
		<-r.ahead.done
		r.ahead = nil
	}
}
