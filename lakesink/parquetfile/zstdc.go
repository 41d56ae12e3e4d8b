//go:build czstd && cgo

package parquetfile

import (
	"github.com/DataDog/zstd"
	"github.com/parquet-go/parquet-go/format"
)

// zstdCodec is the C library, which takes less CPU (docs/performance.md says how much). Its memory is outside of what the garbage
// collector sees.
type zstdCodec struct {
	context zstd.Ctx
	level   int
}

func newZstd(level int) (codec, error) { return &zstdCodec{zstd.NewCtx(), level}, nil }

// compress fills dst from its beginning, as all callers have it empty.
func (c *zstdCodec) compress(dst, src []byte) ([]byte, error) {
	return c.context.CompressLevel(dst, src, c.level)
}
func (*zstdCodec) format() format.CompressionCodec { return format.Zstd }
