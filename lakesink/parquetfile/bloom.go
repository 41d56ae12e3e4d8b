package parquetfile

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"

	"github.com/parquet-go/parquet-go/bloom"
	"github.com/parquet-go/parquet-go/bloom/xxhash"
	"github.com/parquet-go/parquet-go/format"

	"sluice/columns"
)

// Bloom says how the values of a column go into a filter by which readers pass over row groups that do not have one (Parquet's
// BloomFilter.md: split blocks, XXH64 of the PLAIN form).
type Bloom struct {
	// FalsePositives is how often a filter may say that it has a value which it has not, above 0 and below 1.
	FalsePositives float64
	// Distinct is how many values a row group is expected to have; 0 has them counted.
	Distinct int64
}

// leastBloomBytes is a filter of one block.
const leastBloomBytes = bloom.BlockSize

// filter gathers what goes into the Bloom filter of a column chunk. While there are few values it holds their hashes, which
// take no more than a filter would; so hundreds of files may be open. From then on it is a filter of the greatest size,
// folded in the end: the block of a hash is chosen by its upper bits, so that each two blocks that lie together are one of a
// filter of half the size.
type filter struct {
	Bloom
	most   int // bytes, a power of two
	hashes []uint64
	blocks bloom.SplitBlockFilter
}

// newFilter is nil where a column gets none; booleans have no filters (parquet-format, BloomFilter.md).
func newFilter(b *Bloom, kind format.Type, most int) *filter {
	if b == nil || kind == format.Boolean {
		return nil
	}
	return &filter{Bloom: *b, most: powerBelow(most)}
}

func powerBelow(n int) int { return max(leastBloomBytes, 1<<(bits.Len(uint(n))-1)) }

func (f *filter) add(hash uint64) {
	if f.blocks != nil {
		f.blocks.Insert(hash)
		return
	}
	f.hashes = append(f.hashes, hash)
	if 8*len(f.hashes) >= f.most {
		f.pour(f.most)
	}
}

// pour makes a filter of so many bytes of the hashes.
func (f *filter) pour(bytes int) {
	f.blocks = make(bloom.SplitBlockFilter, bytes/bloom.BlockSize)
	f.blocks.InsertBulk(f.hashes)
	f.hashes = nil
}

// held is what the filter takes of memory.
func (f *filter) held() int64 {
	if f == nil {
		return 0
	}
	return int64(8*cap(f.hashes) + bloom.BlockSize*len(f.blocks))
}

// finish is the filter of what was added since the last finish.
func (f *filter) finish() []byte {
	if f.blocks == nil {
		f.pour(f.size(max(f.Distinct, int64(len(f.hashes)))))
	}
	n := f.Distinct
	if n == 0 {
		n = f.estimate()
	}
	for want := f.size(n); bloom.BlockSize*len(f.blocks) > want; {
		f.fold()
	}
	done := f.blocks
	f.blocks = nil
	return done.Bytes()
}

func (f *filter) reset() { f.hashes, f.blocks = f.hashes[:0], nil }

// size is how many bytes n values need, as parquet-java's BlockSplitBloomFilter has it: a power of two.
func (f *filter) size(n int64) int {
	need := -8 * float64(n) / math.Log(1-math.Pow(f.FalsePositives, 1.0/8)) / 8
	if !(need < float64(f.most)) {
		return f.most
	}
	return max(leastBloomBytes, 1<<bits.Len(uint(max(1, math.Ceil(need)))-1))
}

// estimate is about how many different values were added. Each sets a bit of every word of its block, so that a word stays
// without a given bit with a chance of 31/32 for each; the values of a block are Poisson's.
func (f *filter) estimate() int64 {
	set := 0
	for i := range f.blocks {
		for _, word := range f.blocks[i] {
			set += bits.OnesCount32(uint32(word))
		}
	}
	const bitsOfBlock = 8 * bloom.BlockSize
	free := 1 - float64(set)/float64(bitsOfBlock*len(f.blocks))
	if free <= 0 {
		return math.MaxInt64
	}
	return int64(math.Ceil(float64(len(f.blocks)) * -32 * math.Log(free)))
}

// fold halves the filter.
func (f *filter) fold() {
	half := len(f.blocks) / 2
	for i := range half {
		a, b := f.blocks[2*i], f.blocks[2*i+1]
		for k := range a {
			a[k] |= b[k]
		}
		f.blocks[i] = a
	}
	f.blocks = f.blocks[:half]
}

// addTexts adds the present values from to until of a column of byte arrays.
func (f *filter) addTexts(a *columns.Array, from, until int) {
	for i := from; i < until; i++ {
		f.add(xxhash.Sum64(a.Data[a.Offsets[i]:a.Offsets[i+1]]))
	}
}

// addOne adds a value in PLAIN form.
func (f *filter) addOne(plain []byte, kind format.Type, width int) {
	if kind == format.ByteArray {
		f.add(xxhash.Sum64(plain[4:]))
		return
	}
	f.addPlain(plain, kind, width)
}

// addPlain adds values of a fixed width, in PLAIN form.
func (f *filter) addPlain(plain []byte, kind format.Type, width int) {
	for at := 0; at < len(plain); at += width {
		v := plain[at : at+width]
		switch kind {
		case format.Int32:
			f.add(xxhash.Sum64Uint32(binary.LittleEndian.Uint32(v)))
		case format.Int64:
			f.add(xxhash.Sum64Uint64(binary.LittleEndian.Uint64(v)))
		case format.Float:
			f.addFloat(binary.LittleEndian.Uint32(v))
		case format.Double:
			f.addDouble(binary.LittleEndian.Uint64(v))
		default:
			f.add(xxhash.Sum64(v))
		}
	}
}

// addFloat adds what is equal to a number besides: a filter that was asked for 0.0 must not deny -0.0, nor one that was asked for
// NaN another of its forms.
func (f *filter) addFloat(b uint32) {
	f.add(xxhash.Sum64Uint32(b))
	switch v := math.Float32frombits(b); {
	case v == 0:
		f.add(xxhash.Sum64Uint32(b ^ 1<<31))
	case v != v:
		f.add(xxhash.Sum64Uint32(0x7fc00000))
	}
}

func (f *filter) addDouble(b uint64) {
	f.add(xxhash.Sum64Uint64(b))
	switch v := math.Float64frombits(b); {
	case v == 0:
		f.add(xxhash.Sum64Uint64(b ^ 1<<63))
	case v != v:
		f.add(xxhash.Sum64Uint64(0x7ff8000000000000))
	}
}

// flushFilter writes the filter of a leaf behind the row group, and says in the chunk's metadata where it is.
func (w *Writer) flushFilter(l *leaf, m *format.ColumnMetaData) error {
	if l.filter == nil {
		return nil
	}
	filled := l.filter.finish()
	header := format.BloomFilterHeader{NumBytes: int32(len(filled)), Algorithm: format.BloomFilterAlgorithm{Value: &format.SplitBlockAlgorithm{}},
		Hash: format.BloomFilterHash{Value: &format.XxHash{}}, Compression: format.BloomFilterCompression{Value: &format.BloomFilterUncompressed{}}}
	m.BloomFilterOffset = w.offset
	if _, err := w.writeThrift(&header); err != nil {
		return fmt.Errorf("write the Bloom filter of column %s: %w", l.names[0], err)
	}
	if err := w.write(filled); err != nil {
		return err
	}
	m.BloomFilterLength = int32(w.offset - m.BloomFilterOffset)
	return nil
}
