package parquetfile

import (
	"bytes"
	"fmt"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go/format"
)

// Codec names a compression of pages.
type Codec string

// The codecs. LZ4 is left out: two framings go by that name and readers disagree about them
// (https://github.com/apache/arrow/issues/43783).
const (
	Zstd         Codec = "zstd"
	Snappy       Codec = "snappy"
	Gzip         Codec = "gzip"
	Uncompressed Codec = "uncompressed"
)

// codec compresses one page at a time.
type codec interface {
	// compress appends the compressed form of src to dst.
	compress(dst, src []byte) ([]byte, error)
	format() format.CompressionCodec
}

// newCodec makes the codec of one writer. level is that of zstd (1 to 22) and gzip (1 to 9); 0 is the fastest.
func newCodec(name Codec, level int) (codec, error) {
	switch name {
	case Zstd, "":
		return newZstd(max(1, level))
	case Snappy:
		return snappyCodec{}, nil
	case Gzip:
		return newGzip(max(1, level))
	case Uncompressed:
		return plainCodec{}, nil
	}
	return nil, fmt.Errorf("no compression %q: choose zstd, snappy, gzip or uncompressed", name)
}

// zstdWindow bounds what an encoder remembers of a page; more of it made pages no smaller and took 8 MB an encoder
// (measured on 256 KiB pages of JSON).
const zstdWindow = 512 << 10

type zstdCodec struct{ encoder *zstd.Encoder }

func newZstd(level int) (codec, error) {
	e, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.EncoderLevelFromZstd(level)), zstd.WithEncoderConcurrency(1),
		zstd.WithWindowSize(zstdWindow), zstd.WithLowerEncoderMem(true), zstd.WithEncoderCRC(false), zstd.WithZeroFrames(true))
	if err != nil {
		return nil, fmt.Errorf("make a zstd encoder of level %d: %w", level, err)
	}
	return &zstdCodec{e}, nil
}

func (c *zstdCodec) compress(dst, src []byte) ([]byte, error) {
	return c.encoder.EncodeAll(src, dst), nil
}
func (*zstdCodec) format() format.CompressionCodec { return format.Zstd }

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
	out := bytes.NewBuffer(dst)
	c.writer.Reset(out)
	if _, err := c.writer.Write(src); err != nil {
		return nil, err
	}
	if err := c.writer.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}
func (*gzipCodec) format() format.CompressionCodec { return format.Gzip }

type plainCodec struct{}

func (plainCodec) compress(dst, src []byte) ([]byte, error) { return append(dst, src...), nil }
func (plainCodec) format() format.CompressionCodec          { return format.Uncompressed }
