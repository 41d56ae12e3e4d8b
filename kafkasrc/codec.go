package kafkasrc

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/zstd"
)

// The codecs, as the attributes of a batch number them.
const (
	codecNone = iota
	codecGzip
	codecSnappy
	codecLz4
	codecZstd
)

var (
	errTooLarge  = errors.New("decompresses to more than the limit")
	errMalformed = errors.New("malformed compression framing")
)

// decompressor expands the records of a batch into a buffer that it uses again for the next one.
type decompressor struct {
	// limit is the most bytes that a batch may expand to.
	limit int
	buf   []byte
	src   bytes.Reader
	gzip  gzip.Reader
	zstd  *zstd.Decoder
}

// expand returns the decompressed bytes of in; they are valid until the next call. Whatever sizes the input claims, the
// output does not grow beyond limit, for zstd beyond zstdWindow if that is more. Checksums inside the frames are not looked at: the batch's own covers them.
func (d *decompressor) expand(codec int, in []byte) (out []byte, err error) {
	switch codec {
	case codecNone:
		return in, nil
	case codecGzip:
		out, err = d.expandGzip(in)
	case codecSnappy:
		out, err = d.expandSnappy(in)
	case codecLz4:
		out, err = d.expandLz4(in)
	case codecZstd:
		out, err = d.expandZstd(in)
	default:
		return nil, fmt.Errorf("compression codec %d is unknown", codec)
	}
	if cap(out) > cap(d.buf) {
		d.buf = out[:0]
	}
	return out, err
}

// zstdWindow is the window that every decoder has to support (RFC 8878, 3.1.1.1.2). The library refuses frames whose
// window is above its limit, although that says nothing of their size.
const zstdWindow = 8 << 20

func (d *decompressor) expandZstd(in []byte) ([]byte, error) {
	if d.zstd == nil {
		decoder, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
			zstd.WithDecoderMaxMemory(uint64(max(d.limit, zstdWindow))), zstd.IgnoreChecksum(true))
		if err != nil {
			return nil, err
		}
		d.zstd = decoder
	}
	out, err := d.zstd.DecodeAll(in, d.buf[:0])
	if errors.Is(err, zstd.ErrDecoderSizeExceeded) || errors.Is(err, zstd.ErrWindowSizeExceeded) {
		err = errTooLarge
	}
	return out, err
}

func (d *decompressor) expandGzip(in []byte) ([]byte, error) {
	d.src.Reset(in)
	if err := d.gzip.Reset(&d.src); err != nil {
		return nil, err
	}
	out := d.buf[:0]
	for {
		if len(out) == cap(out) {
			out = slices.Grow(out, min(max(len(out), 4*len(in), 4<<10), d.limit-len(out)+1))
		}
		n, err := d.gzip.Read(out[len(out):cap(out)])
		out = out[:len(out)+n]
		switch {
		case len(out) > d.limit:
			return nil, errTooLarge
		case err == io.EOF:
			return out, nil
		case err != nil:
			return nil, err
		}
	}
}

// xerialMagic begins the framing of snappy-java: 16 bytes of header, then blocks, each behind its length.
var xerialMagic = []byte{0x82, 'S', 'N', 'A', 'P', 'P', 'Y', 0}

const xerialHeaderLen = 16

func (d *decompressor) expandSnappy(in []byte) ([]byte, error) {
	if !bytes.HasPrefix(in, xerialMagic) {
		return d.appendSnappy(d.buf[:0], in)
	}
	if len(in) < xerialHeaderLen {
		return nil, errMalformed
	}
	out := d.buf[:0]
	for in = in[xerialHeaderLen:]; len(in) > 0; {
		if len(in) < 4 {
			return nil, errMalformed
		}
		size := int64(binary.BigEndian.Uint32(in))
		if in = in[4:]; size > int64(len(in)) {
			return nil, errMalformed
		}
		var err error
		if out, err = d.appendSnappy(out, in[:size]); err != nil {
			return nil, err
		}
		in = in[size:]
	}
	return out, nil
}

func (d *decompressor) appendSnappy(out, in []byte) ([]byte, error) {
	size, err := s2.DecodedLen(in)
	if err != nil {
		return nil, err
	}
	if size > d.limit-len(out) {
		return nil, errTooLarge
	}
	out = slices.Grow(out, size)
	if _, err := s2.Decode(out[len(out):len(out)+size], in); err != nil {
		return nil, err
	}
	return out[:len(out)+size], nil
}

// close gives back what the decoders hold.
func (d *decompressor) close() {
	if d.zstd != nil {
		d.zstd.Close()
		d.zstd = nil
	}
	d.buf = nil
}
