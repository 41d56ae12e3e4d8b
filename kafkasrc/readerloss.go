package kafkasrc

import (
	"slices"

	"sluice/batch"
	"sluice/offsets"
)

// left is what of the piece in hand was not read yet.
func (r *Reader) left() offsets.Range {
	all := r.pieces[r.piece].Range()
	all.From = r.positions[r.piece]
	return all
}

// lose notes an accepted loss and goes on behind it. Where it lies further on, what is before it is read first.
func (r *Reader) lose(loss *Loss) {
	piece, gone := &r.pieces[r.piece], r.left()
	gone.From, gone.Until = max(gone.From, loss.From), min(gone.Until, loss.Until)
	if loss.Cause == Missing {
		r.gone[gone.TopicPartition] = true
	}
	if gone.Len() == 0 {
		return
	}
	r.lost[r.piece] = append(r.lost[r.piece], batch.Loss{Topic: piece.Topic, Partition: piece.Partition, From: gone.From, Until: gone.Until, Cause: loss.Cause, TopicID: piece.TopicID})
	if gone.From > r.positions[r.piece] {
		piece.Until = gone.From
	} else {
		r.reach(gone.Until)
	}
}

// mixed is the error of a topic that was created again while it was read by its name: which of the two the records are of
// cannot be told. The next attempt knows before it reads; so where such losses are accepted this is none to be decided.
func (r *Reader) mixed(err error) error {
	if !r.accepts.Accept(Recreated) {
		return err
	}
	return &batch.Fault{Message: err.Error(), Hint: "Run again: nothing of the batch is in the table."}
}

// Lost lists, by piece, the losses that the task accepts and that were come upon, ascending; what they name was not read.
func (r *Reader) Lost() [][]batch.Loss { return slices.Clone(r.lost) }
