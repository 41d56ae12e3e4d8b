//go:build !czstd || !cgo

package parquetfile

import (
	"fmt"

	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go/format"
)

type zstdCodec struct{ encoder *zstd.Encoder }

// newZstd makes an encoder that codes literals by their frequency also where nothing repeats: at the fastest level it would not, and
// leave columns such as timestamps as they are. On JSON that takes no more time.
func newZstd(level int) (codec, error) {
	e, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.EncoderLevelFromZstd(level)), zstd.WithEncoderConcurrency(1),
		zstd.WithWindowSize(zstdWindow), zstd.WithLowerEncoderMem(true), zstd.WithEncoderCRC(false), zstd.WithZeroFrames(true), zstd.WithAllLitEntropyCompression(true))
	if err != nil {
		return nil, fmt.Errorf("make a zstd encoder of level %d: %w", level, err)
	}
	return &zstdCodec{e}, nil
}

func (c *zstdCodec) compress(dst, src []byte) ([]byte, error) {
	return c.encoder.EncodeAll(src, dst), nil
}
func (*zstdCodec) format() format.CompressionCodec { return format.Zstd }
