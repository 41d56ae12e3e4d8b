package parquetfile

import (
	"encoding/binary"
	"math/bits"

	"github.com/parquet-go/parquet-go/encoding/rle"
)

// run is n times the same number.
type run struct {
	n     int
	value int32
}

// runs are definition levels, repetition levels or dictionary indexes in run-length form. Most columns have no null and
// no list, and a constant column has one index: then a page is a single run however many rows it has.
type runs []run

func (r runs) add(n int, value int32) runs {
	if n == 0 {
		return r
	}
	if k := len(r) - 1; k >= 0 && r[k].value == value {
		r[k].n += n
		return r
	}
	return append(r, run{n, value})
}

func (r runs) count() int {
	n := 0
	for _, x := range r {
		n += x.n
	}
	return n
}

// minRun is the mean length of runs from which writing them as runs takes less room than packing bits.
const minRun = 8

// levelEncoder writes runs in Parquet's hybrid of run lengths and packed bits (Encodings.md, RLE).
type levelEncoder struct {
	bytes []byte
	ints  []int32
	out   []byte
}

// width is the number of bits for values up to greatest, at least one: some readers stumble over none.
func width(greatest int32) int { return max(1, bits.Len32(uint32(greatest))) }

// levels appends the encoded runs behind their length in four bytes, as a version 1 data page has its levels.
func (e *levelEncoder) levels(dst []byte, r runs, greatest uint8) ([]byte, error) {
	begin := len(dst)
	dst = append(dst, 0, 0, 0, 0)
	w := width(int32(greatest))
	if n := r.count(); n >= minRun*len(r) {
		dst = appendRuns(dst, r, w)
	} else {
		e.bytes = e.bytes[:0]
		for _, x := range r {
			for range x.n {
				e.bytes = append(e.bytes, byte(x.value))
			}
		}
		encoding := rle.Encoding{BitWidth: w}
		out, err := encoding.EncodeLevels(e.out, e.bytes)
		if err != nil {
			return nil, err
		}
		e.out = out
		dst = append(dst, out...)
	}
	binary.LittleEndian.PutUint32(dst[begin:], uint32(len(dst)-begin-4))
	return dst, nil
}

// indexes appends dictionary indexes behind their width in one byte.
func (e *levelEncoder) indexes(dst []byte, r runs, greatest int32) ([]byte, error) {
	w := width(greatest)
	dst = append(dst, byte(w))
	if r.count() >= minRun*len(r) {
		return appendRuns(dst, r, w), nil
	}
	e.ints = e.ints[:0]
	for _, x := range r {
		for range x.n {
			e.ints = append(e.ints, x.value)
		}
	}
	encoding := rle.Encoding{BitWidth: w}
	out, err := encoding.EncodeInt32(e.out, e.ints)
	if err != nil {
		return nil, err
	}
	e.out = out
	return append(dst, out...), nil
}

func appendRuns(dst []byte, r runs, width int) []byte {
	for _, x := range r {
		dst = binary.AppendUvarint(dst, uint64(x.n)<<1)
		for shift := 0; shift < width; shift += 8 {
			dst = append(dst, byte(x.value>>shift))
		}
	}
	return dst
}
