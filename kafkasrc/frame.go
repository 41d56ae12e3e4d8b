package kafkasrc

import (
	"encoding/binary"
	"math/bits"
)

// Where things stand in a record batch of format 2 (KIP-98). The first 17 bytes are laid out alike in the message sets
// of formats 0 and 1, where baseOffset is the offset of the message, or of the last one inside a compressed wrapper.
const (
	atLength        = 8
	atMagic         = 16
	atCRC           = 17
	atAttributes    = 21
	atLastDelta     = 23
	atBaseTimestamp = 27
	atMaxTimestamp  = 35
	atProducerID    = 43
	atCount         = 57
	headerLen       = 61

	// lengthEnd is where the bytes begin that the length field counts.
	lengthEnd = 12
)

// shortest holds the bytes of the smallest batch or message of each format.
var shortest = [...]int{0: 26, 1: 34, 2: headerLen}

// cut takes the first batch off log. A nil batch means that the rest is nothing, or the beginning of a batch that the
// broker cut off at the limit of the answer.
func cut(log []byte) (batch, rest []byte, err error) {
	if len(log) <= atMagic {
		return nil, log, nil
	}
	magic := log[atMagic]
	if int(magic) >= len(shortest) {
		return nil, log, corruptf(baseOffset(log), "message format %d is unknown", magic)
	}
	size := lengthEnd + int64(int32(binary.BigEndian.Uint32(log[atLength:])))
	if size < int64(shortest[magic]) {
		return nil, log, corruptf(baseOffset(log), "%d bytes are too few for message format %d", size, magic)
	}
	if size > int64(len(log)) {
		return nil, log, nil
	}
	batch, rest = log[:size:size], log[size:]
	if base, next := baseOffset(batch), nextOffset(batch); base < 0 || next <= base {
		return nil, log, corruptf(base, "it claims to end at offset %d", next-1)
	}
	return batch, rest, nil
}

func baseOffset(batch []byte) int64 { return int64(binary.BigEndian.Uint64(batch)) }

// nextOffset is the position behind the batch: its last offset + 1, whether or not that offset carries a record.
func nextOffset(batch []byte) int64 {
	if batch[atMagic] < 2 {
		return baseOffset(batch) + 1
	}
	return baseOffset(batch) + int64(int32(binary.BigEndian.Uint32(batch[atLastDelta:]))) + 1
}

// share is what of a batch's bytes belongs to the offsets [from, until), as if all of them took the same.
func share(batch []byte, from, until int64) int64 {
	base, next := baseOffset(batch), nextOffset(batch)
	within := min(next, until) - max(base, from)
	high, low := bits.Mul64(uint64(len(batch)), uint64(max(0, within)))
	quotient, _ := bits.Div64(high, low, uint64(next-base)) // within is no more than that
	return int64(quotient)
}

// span walks the headers of an answer without decoding anything: the first offset that it covers, and the position
// behind its last complete batch. complete is false if there is no complete batch.
func span(log []byte) (first, next int64, complete bool) {
	for {
		batch, rest, err := cut(log)
		if err != nil || batch == nil {
			return first, next, complete
		}
		if !complete {
			first = baseOffset(batch)
		}
		complete = true
		next = max(next, nextOffset(batch))
		log = rest
	}
}
