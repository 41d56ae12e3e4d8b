package kafkasrc

import (
	"encoding/binary"
	"errors"
	"hash/crc32"

	"sluice/columns"
)

// The block that one call of Reader.Next returns ends at blockRows records, or once keys, values and headers have
// reached blockBytes. A block is about what a record batch holds and stays in a core's cache until it has been written: of
// 1 MiB it took 2 to 3 % more CPU and four times the memory.
const (
	blockRows  = 4096
	blockBytes = 256 << 10
)

// Attributes of a batch; the low three bits are the codec.
const (
	attrCodec         = 0x07
	attrLogAppendTime = 0x08
	attrTransactional = 0x10
	attrControl       = 0x20
)

// Kafka's codes of a timestamp's type.
const (
	noTimestampType = -1
	createTime      = 0
	logAppendTime   = 1
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// decoder turns one batch after the other into records by column. It is told of whole batches, and decodes as much of
// the batch in hand as the block has room for.
type decoder struct {
	decompressor
	// headers says whether record headers are wanted.
	headers bool

	batch recordBatch
	// raw are the records of the batch in hand that are left to decode, and left is their number.
	raw  []byte
	left int
	// last is the offset of the record decoded before, base-1 at the beginning: offsets must ascend.
	last int64
}

// recordBatch is what the header of a batch says. The messages of formats 0 and 1 are brought to the same form.
type recordBatch struct {
	magic byte
	// base is added to the offset that each record has; first is what errors name.
	base, first int64
	// next is the position behind the batch.
	next  int64
	attrs int16
	// timestamp is added to each record's, or is the one of all of them if timestampType is logAppendTime.
	timestamp     int64
	timestampType int32
	producer      int64
	count         int
}

func (b *recordBatch) control() bool       { return b.attrs&attrControl != 0 }
func (b *recordBatch) transactional() bool { return b.attrs&attrTransactional != 0 }

// open checks a whole batch and takes it in hand without decoding its records.
func (d *decoder) open(batch []byte) error {
	d.raw, d.left = nil, 0
	if batch[atMagic] < 2 {
		return d.openMessage(batch)
	}
	first := baseOffset(batch)
	if crc32.Checksum(batch[atAttributes:], castagnoli) != binary.BigEndian.Uint32(batch[atCRC:]) {
		return &corrupt{base: first, reason: "checksum (CRC-32C) does not match", inTransit: true}
	}
	b := recordBatch{
		magic: 2,
		base:  first, first: first,
		next:      nextOffset(batch),
		attrs:     int16(binary.BigEndian.Uint16(batch[atAttributes:])),
		timestamp: int64(binary.BigEndian.Uint64(batch[atBaseTimestamp:])),
		producer:  int64(binary.BigEndian.Uint64(batch[atProducerID:])),
		count:     int(int32(binary.BigEndian.Uint32(batch[atCount:]))),
	}
	if b.attrs&attrLogAppendTime != 0 {
		b.timestampType = logAppendTime
		b.timestamp = int64(binary.BigEndian.Uint64(batch[atMaxTimestamp:]))
	}
	if b.count < 0 {
		return corruptf(first, "it claims %s records", counted(b.count))
	}
	d.batch, d.raw, d.left, d.last = b, batch[headerLen:], 0, first-1
	return nil
}

// unpack decompresses the batch in hand; only then are its records there to be decoded. A batch without records is
// what compaction leaves to keep the last offset (KAFKA-5443), and has nothing to decompress.
func (d *decoder) unpack() error {
	if d.left = d.batch.count; d.left == 0 {
		d.raw = nil
		return nil
	}
	if d.batch.magic < 2 {
		return d.unpackMessages()
	}
	raw, err := d.expandBatch(d.raw)
	d.raw = raw
	return err
}

func (d *decoder) expandBatch(in []byte) ([]byte, error) {
	out, err := d.expand(int(d.batch.attrs&attrCodec), in)
	if errors.Is(err, errTooLarge) || err == nil && len(out) > d.limit {
		d.left = 0
		return nil, &tooLarge{base: d.batch.first, limit: d.limit}
	}
	if err != nil {
		d.left = 0
		return nil, corruptf(d.batch.first, "decompress: %v", err)
	}
	return out, nil
}

// abortMarker reports whether the control batch in hand ends its transaction with an abort: the key of its record is a
// version and a type, both int16, and type 0 is an abort.
func (d *decoder) abortMarker() (bool, error) {
	if err := d.unpack(); err != nil || d.left == 0 {
		return false, err
	}
	body, _, ok := sized(d.raw)
	var r record
	if !ok || !r.parse(body) || len(r.key) < 4 {
		return false, d.badRecord("is no control marker")
	}
	return binary.BigEndian.Uint16(r.key[2:]) == 0, nil
}

// drop gives up the records of the batch in hand that are left.
func (d *decoder) drop() { d.raw, d.left = nil, 0 }

// fill decodes records into block until the batch in hand or the block's room is used up. Records outside [from,until)
// are left out.
func (d *decoder) fill(block *columns.Records, from, until int64) error {
	if d.batch.magic < 2 {
		return d.fillMessages(block, from, until)
	}
	for d.left > 0 && !full(block) {
		if err := d.record(block, from, until); err != nil {
			d.drop()
			return err
		}
		d.left--
	}
	if d.left == 0 && len(d.raw) > 0 {
		return corruptf(d.batch.first, "%s bytes follow its last record", counted(len(d.raw)))
	}
	return nil
}

func full(block *columns.Records) bool {
	return block.Rows >= blockRows || len(block.Value.Data)+len(block.Key.Data)+headerBytes(block) >= blockBytes
}

func headerBytes(block *columns.Records) int {
	if len(block.Headers.Children) == 0 {
		return 0
	}
	pair := block.Headers.Children[0].Children
	return len(pair[0].Data) + len(pair[1].Data)
}

// record decodes the next record of a format 2 batch: length, attributes, timestamp delta, offset delta, key, value,
// headers, all numbers but the attributes as zigzag varints.
func (d *decoder) record(block *columns.Records, from, until int64) error {
	body, rest, ok := sized(d.raw)
	var r record
	if !ok || !r.parse(body) {
		return d.badRecord("is cut short")
	}
	d.raw = rest
	offset := d.batch.base + r.offset
	if offset <= d.last || offset >= d.batch.next {
		return d.badRecord("is out of the order of offsets")
	}
	d.last = offset
	if offset < from || offset >= until {
		return nil
	}
	if d.batch.timestampType == logAppendTime {
		r.timestamp = 0
	}
	if d.headers && !appendHeaders(&block.Headers, r.rest) {
		return d.badRecord("has broken headers")
	}
	appendRecord(block, offset, d.batch.timestamp+r.timestamp, r.key, r.value)
	return nil
}

func (d *decoder) badRecord(what string) error {
	return corruptf(d.batch.first, "record %s of %s %s", counted(d.batch.count-d.left+1), counted(d.batch.count), what)
}

func appendRecord(block *columns.Records, offset, timestamp int64, key, value []byte) {
	block.Offsets = append(block.Offsets, offset)
	block.Timestamps = append(block.Timestamps, timestamp)
	if key != nil {
		block.Key.AppendBytes(key)
	} else {
		block.Key.AppendNullBytes()
	}
	if value != nil {
		block.Value.AppendBytes(value)
	} else {
		block.Value.AppendNullBytes()
	}
	block.Rows++
}

// record is one record as it is encoded, its fields aliasing the batch.
type record struct {
	timestamp, offset int64
	key, value        []byte
	// rest is where the headers begin.
	rest []byte
}

func (r *record) parse(b []byte) bool {
	if len(b) < 1 {
		return false
	}
	var ok bool
	var n int
	b = b[1:] // attributes, unused
	if r.timestamp, n = varint(b); n <= 0 {
		return false
	}
	b = b[n:]
	if r.offset, n = varint(b); n <= 0 {
		return false
	}
	if r.key, b, ok = sized(b[n:]); !ok {
		return false
	}
	r.value, r.rest, ok = sized(b)
	return ok
}

// sized takes bytes off b that stand behind their length; a negative length is a null.
func sized(b []byte) (value, rest []byte, ok bool) {
	length, n := varint(b)
	if n <= 0 || length > int64(len(b)-n) {
		return nil, nil, false
	}
	if b = b[n:]; length < 0 {
		return nil, b, true
	}
	return b[:length:length], b[length:], true
}

// appendHeaders adds the list of one record's headers. Their keys are kept byte for byte, also where they are not the
// UTF-8 that the protocol asks for: replacing bytes would change what was sent without saying so. Without headers the
// list is null, as in Spark: Kafka does not tell none from an empty list.
func appendHeaders(list *columns.Array, b []byte) bool {
	count, n := varint(b)
	if n <= 0 || count < 0 {
		return false
	}
	if count == 0 {
		list.AppendNullSpan()
		return len(b) == n
	}
	pair := &list.Children[0]
	for b = b[n:]; count > 0; count-- {
		key, rest, ok := sized(b)
		if !ok || key == nil {
			return false
		}
		value, rest, ok := sized(rest)
		if !ok {
			return false
		}
		pair.Children[0].AppendBytes(key)
		if value != nil {
			pair.Children[1].AppendBytes(value)
		} else {
			pair.Children[1].AppendNullBytes()
		}
		pair.AppendStruct()
		b = rest
	}
	list.AppendSpan()
	return len(b) == 0
}

// varint reads a zigzag number, and how many bytes it takes; 0 or less if b ends before it or it overflows.
func varint(b []byte) (int64, int) {
	if len(b) > 0 && b[0] < 0x80 {
		return int64(b[0]>>1) ^ -int64(b[0]&1), 1
	}
	return longVarint(b)
}

func longVarint(b []byte) (int64, int) {
	if len(b) > 1 && b[1] < 0x80 {
		u := uint64(b[0]&0x7f) | uint64(b[1])<<7
		return int64(u>>1) ^ -int64(u&1), 2
	}
	u, n := binary.Uvarint(b)
	return int64(u>>1) ^ -int64(u&1), n
}
