package parquetfile

import (
	"bytes"
	"fmt"
	"io"
	"math/bits"
	"slices"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/snappy"
	"github.com/parquet-go/parquet-go/format"
	"github.com/pierrec/lz4/v4"
)

// Codec names a compression of pages.
type Codec string

// The codecs. LZ4 is that of raw blocks, which the format calls LZ4_RAW: what it calls LZ4 has a framing of Hadoop's, about
// which readers disagree (https://github.com/apache/arrow/issues/43783).
const (
	Zstd         Codec = "zstd"
	Snappy       Codec = "snappy"
	Gzip         Codec = "gzip"
	LZ4          Codec = "lz4_raw"
	Brotli       Codec = "brotli"
	Uncompressed Codec = "uncompressed"
)

// codec compresses one page at a time.
type codec interface {
	// compress appends the compressed form of src to dst.
	compress(dst, src []byte) ([]byte, error)
	format() format.CompressionCodec
}

// newCodec makes the codec of one writer. level is that of zstd (1 to 22), gzip (1 to 9) and brotli (1 to 11); what is less is
// the fastest.
func newCodec(name Codec, level int) (codec, error) {
	switch name {
	case Zstd, "":
		return newZstd(max(1, level))
	case Snappy:
		return snappyCodec{}, nil
	case Gzip:
		return newGzip(max(1, level))
	case LZ4:
		return &lz4Codec{}, nil
	case Brotli:
		return newBrotli(max(1, level)), nil
	case Uncompressed:
		return plainCodec{}, nil
	}
	return nil, fmt.Errorf("no compression %q: choose zstd, snappy, gzip, lz4_raw, brotli or uncompressed", name)
}

// EncoderBytes is about what the encoder of a writer takes, with the scratch of a page (measured on pages of 1 MiB; the slowest
// levels keep tables for far more data than a page has).
func EncoderBytes(name Codec, level int) int64 {
	const mib = 1 << 20
	switch {
	case (name == Zstd || name == "") && level >= 10:
		return 40 * mib
	case (name == Zstd || name == "") && level >= 6:
		return 8 * mib
	case (name == Zstd || name == "") && level >= 3:
		return 5 * mib
	case name == Brotli && level >= 10:
		return 90 * mib
	case name == Brotli && level >= 9:
		return 44 * mib
	case name == Brotli && level >= 3:
		return 14 * mib
	case name == Brotli:
		return 5 * mib
	}
	return 3 * mib
}

// zstdWindow bounds what an encoder remembers of a page; more of it made pages no smaller and took 8 MB an encoder
// (measured on 256 KiB pages of JSON).
const zstdWindow = 512 << 10

type snappyCodec struct{}

func (snappyCodec) compress(dst, src []byte) ([]byte, error) {
	return snappy.Encode(dst[:cap(dst)], src), nil // Encode takes dst by its length and returns what it filled
}
func (snappyCodec) format() format.CompressionCodec { return format.Snappy }

type gzipCodec struct{ writer *gzip.Writer }

func newGzip(level int) (codec, error) {
	w, err := gzip.NewWriterLevel(nil, level)
	if err != nil {
		return nil, fmt.Errorf("make a gzip encoder of level %d: %w", level, err)
	}
	return &gzipCodec{w}, nil
}

func (c *gzipCodec) compress(dst, src []byte) ([]byte, error) {
	return compressStream(c.writer, dst, src)
}
func (*gzipCodec) format() format.CompressionCodec { return format.Gzip }

type lz4Codec struct{ compressor lz4.Compressor }

func (c *lz4Codec) compress(dst, src []byte) ([]byte, error) {
	dst = slices.Grow(dst[:0], lz4.CompressBlockBound(len(src)))
	n, err := c.compressor.CompressBlock(src, dst[:cap(dst)])
	return dst[:n], err
}
func (*lz4Codec) format() format.CompressionCodec { return format.Lz4Raw }

// compressStream appends to dst what an encoder of streams, begun anew, makes of src.
func compressStream(w interface {
	io.WriteCloser
	Reset(io.Writer)
}, dst, src []byte) ([]byte, error) {
	out := bytes.NewBuffer(dst)
	w.Reset(out)
	if _, err := w.Write(src); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

type brotliCodec struct{ writer *brotli.Writer }

// newBrotli bounds what an encoder remembers, as with zstd.
func newBrotli(level int) codec {
	return &brotliCodec{brotli.NewWriterOptions(io.Discard, brotli.WriterOptions{Quality: level, LGWin: bits.Len(zstdWindow) - 1})}
}

func (c *brotliCodec) compress(dst, src []byte) ([]byte, error) {
	return compressStream(c.writer, dst, src)
}
func (*brotliCodec) format() format.CompressionCodec { return format.Brotli }

type plainCodec struct{}

func (plainCodec) compress(dst, src []byte) ([]byte, error) { return append(dst, src...), nil }
func (plainCodec) format() format.CompressionCodec          { return format.Uncompressed }
