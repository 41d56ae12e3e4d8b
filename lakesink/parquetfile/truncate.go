package parquetfile

import (
	"bytes"
	"unicode/utf8"
)

// Floor cuts a value to at most n bytes, or code points of text, so that it stays a lower bound: what is left sorts
// before the value. It returns nil for text that is not UTF-8: readers refuse to decode such a bound.
func Floor(v []byte, text bool, n int) []byte {
	if !text {
		return v[:min(n, len(v))]
	}
	return cutText(v, n)
}

// Ceiling cuts a value to at most n bytes, or code points of text, so that it is an upper bound of the value and of
// everything that begins like it: the last byte or code point that can grow is raised by one (Iceberg specification,
// Appendix D; https://github.com/duckdb/duckdb-iceberg/issues/1136). It returns nil if none can, or the text is not
// UTF-8.
func Ceiling(v []byte, text bool, n int) []byte {
	if text {
		return raiseText(cutText(v, n))
	}
	for i := min(n, len(v)) - 1; i >= 0; i-- {
		if v[i] != 0xff {
			raised := bytes.Clone(v[:i+1])
			raised[i]++
			return raised
		}
	}
	return nil
}

// cutText keeps the first n code points. The last one of v may be torn, where v itself was cut.
func cutText(v []byte, n int) []byte {
	end := 0
	for range n {
		if end == len(v) {
			break
		}
		r, size := utf8.DecodeRune(v[end:])
		if r == utf8.RuneError && size < 2 {
			if end > 0 && !utf8.FullRune(v[end:]) {
				break
			}
			return nil
		}
		end += size
	}
	return v[:end]
}

func raiseText(v []byte) []byte {
	for len(v) > 0 {
		r, size := utf8.DecodeLastRune(v)
		v = v[:len(v)-size]
		if next := nextRune(r); next <= utf8.MaxRune {
			return utf8.AppendRune(bytes.Clone(v), next)
		}
	}
	return nil
}

// nextRune passes over the surrogates, which UTF-8 cannot hold.
func nextRune(r rune) rune {
	if r == 0xd7ff {
		return 0xe000
	}
	return r + 1
}
