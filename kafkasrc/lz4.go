package kafkasrc

import (
	"encoding/binary"
	"slices"

	"github.com/pierrec/lz4/v4"
)

// The LZ4 frame format, version 1.6.1. The frames are taken apart here and not by the library's reader for three
// reasons: it checks the header's checksum, which producers of message format 0 got wrong (KAFKA-3160); it allocates;
// and the output can be bounded block by block.
const (
	lz4Magic          = 0x184D2204
	lz4SkippableMagic = 0x184D2A50

	lz4Independent     = 1 << 5
	lz4BlockChecksum   = 1 << 4
	lz4ContentSize     = 1 << 3
	lz4ContentChecksum = 1 << 2
	lz4Dictionary      = 1 << 0

	lz4Stored = 1 << 31
	// lz4Window is how far back a block that depends on the ones before it may reach.
	lz4Window = 64 << 10
)

func (d *decompressor) expandLz4(in []byte) (out []byte, err error) {
	out = d.buf[:0]
	for len(in) > 0 {
		if len(in) < 8 {
			return nil, errMalformed
		}
		if magic := binary.LittleEndian.Uint32(in); magic&^0xf == lz4SkippableMagic {
			size := int64(binary.LittleEndian.Uint32(in[4:]))
			if size > int64(len(in)-8) {
				return nil, errMalformed
			}
			in = in[8+size:]
			continue
		} else if magic != lz4Magic {
			return nil, errMalformed
		}
		if out, in, err = d.appendLz4Frame(out, in[4:]); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// appendLz4Frame decodes one frame behind its magic number.
func (d *decompressor) appendLz4Frame(out, in []byte) (grown, rest []byte, err error) {
	flags, size := in[0], int(in[1]>>4&7)
	if flags>>6 != 1 || size < 4 {
		return nil, nil, errMalformed
	}
	blockMax := 1 << (8 + 2*size) // 64 KiB, 256 KiB, 1 MiB, 4 MiB
	header := 3
	if flags&lz4ContentSize != 0 {
		header += 8
	}
	if flags&lz4Dictionary != 0 || len(in) < header {
		return nil, nil, errMalformed
	}
	in = in[header:]
	begin := len(out)
	for {
		block, tail, stored, err := lz4Block(in, flags)
		if err != nil {
			return nil, nil, err
		}
		if in = tail; block == nil {
			return out, in, nil
		}
		history := out[max(begin, len(out)-lz4Window):]
		if flags&lz4Independent != 0 {
			history = nil
		}
		if out, err = d.appendLz4Block(out, block, history, blockMax, stored); err != nil {
			return nil, nil, err
		}
	}
}

// lz4Block takes the next block off the frame; it is nil at the frame's end.
func lz4Block(in []byte, flags byte) (block, rest []byte, stored bool, err error) {
	if len(in) < 4 {
		return nil, nil, false, errMalformed
	}
	word := binary.LittleEndian.Uint32(in)
	in = in[4:]
	size := int64(word &^ lz4Stored)
	trailer := int64(0)
	if word == 0 && flags&lz4ContentChecksum != 0 || word != 0 && flags&lz4BlockChecksum != 0 {
		trailer = 4
	}
	if size+trailer > int64(len(in)) {
		return nil, nil, false, errMalformed
	}
	if word == 0 {
		return nil, in[trailer:], false, nil
	}
	return in[:size:size], in[size+trailer:], word&lz4Stored != 0, nil
}

// appendLz4Block decodes a block. Frames do not tell how large a block becomes, only how large it may: the room is
// doubled until it fits, so that small batches do not need the 4 MiB that some producers announce.
func (d *decompressor) appendLz4Block(out, block, history []byte, blockMax int, stored bool) ([]byte, error) {
	most := min(blockMax, d.limit-len(out))
	if stored {
		if len(block) > most {
			return nil, errTooLarge
		}
		return append(out, block...), nil
	}
	for room := min(most, max(4*len(block), cap(out)-len(out))); ; room = min(2*room, most) {
		out = slices.Grow(out, room)
		dst := out[len(out) : len(out)+room]
		n, err := lz4.UncompressBlockWithDict(block, dst, history)
		switch {
		case err == nil:
			return out[:len(out)+n], nil
		case room < most: // too small a room and broken data look alike
		case most < blockMax:
			return nil, errTooLarge
		default:
			return nil, err
		}
	}
}
