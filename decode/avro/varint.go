package avro

import (
	"encoding/binary"
	"math/bits"
)

// zigzag is the signed number that a varint stands for.
func zigzag(u uint64) int64 { return int64(u>>1) ^ -int64(u&1) }

// varint reads a number of at most 64 bits in at most ten bytes. The position after it is -1 if there is none.
func varint(b []byte, i int) (uint64, int) {
	if uint(i) < uint(len(b)) && b[i] < 0x80 {
		return uint64(b[i]), i + 1
	}
	return longVarint(b, i)
}

// longVarint takes up to eight bytes at once.
func longVarint(b []byte, i int) (uint64, int) {
	if len(b)-i < 8 {
		return slowVarint(b, i)
	}
	w := binary.LittleEndian.Uint64(b[i:])
	ends := ^w & 0x8080808080808080
	if ends == 0 {
		return slowVarint(b, i)
	}
	last := bits.TrailingZeros64(ends) // the uppermost bit of the last byte
	w &= uint64(1)<<last - 1
	w = w&0x007f007f007f007f | w&0x7f007f007f007f00>>1
	w = w&0x00003fff00003fff | w&0x3fff00003fff0000>>2
	w = w&0x000000000fffffff | w&0x0fffffff00000000>>4
	return w, i + last>>3 + 1
}

func slowVarint(b []byte, i int) (uint64, int) {
	var u uint64
	for shift := 0; shift < 70 && i < len(b); shift += 7 {
		c := b[i]
		i++
		if shift == 63 && c > 1 {
			break
		}
		u |= uint64(c&0x7f) << shift
		if c < 0x80 {
			return u, i
		}
	}
	return 0, -1
}
