package kafkasrc

import (
	"encoding/binary"
	"hash/crc32"

	"sluice/columns"
)

// Messages of formats 0 and 1, which topics written before Kafka 0.11 may still hold: offset, size, CRC, magic,
// attributes, timestamp (format 1), key, value. A compressed message is a wrapper: its value is a set of messages.

const (
	atMessageCRC  = 12
	atMessageAttr = 17
	atMessageTime = 18
	// atMessageKey is where the key's length stands in format 0; format 1 has the timestamp before it.
	atMessageKey = 18
)

// openMessage checks a whole message and takes it in hand as a batch.
func (d *decoder) openMessage(m []byte) error {
	offset := baseOffset(m)
	if !messageIntact(m) {
		return &corrupt{base: offset, reason: "checksum (CRC-32) does not match", inTransit: true}
	}
	b := recordBatch{
		magic: m[atMagic],
		first: offset, next: offset + 1,
		attrs:         int16(m[atMessageAttr] & (attrCodec | attrLogAppendTime)),
		timestamp:     -1,
		timestampType: noTimestampType,
		producer:      -1,
		count:         1,
	}
	if b.magic == 1 {
		b.timestamp = int64(binary.BigEndian.Uint64(m[atMessageTime:]))
		b.timestampType = int32(b.attrs) & attrLogAppendTime / attrLogAppendTime
	}
	d.batch, d.raw, d.last = b, m, -1
	return nil
}

func messageIntact(m []byte) bool {
	return crc32.ChecksumIEEE(m[atMagic:]) == binary.BigEndian.Uint32(m[atMessageCRC:])
}

// unpackMessages replaces a wrapper by the messages inside it. Their offsets are absolute in format 0; in format 1 they
// count from the first one, and the wrapper has the absolute offset of the last.
func (d *decoder) unpackMessages() error {
	codec := d.batch.attrs & attrCodec
	if codec == codecNone {
		return nil
	}
	d.left = 0
	_, value, ok := messageBody(d.raw)
	if !ok || value == nil {
		return corruptf(d.batch.first, "the wrapper of compressed messages has no value")
	}
	if codec > codecLz4 {
		return corruptf(d.batch.first, "compression codec %d is unknown to message format %d", codec, d.batch.magic)
	}
	inner, err := d.expandBatch(value)
	if err != nil {
		return err
	}
	count, last, err := d.countMessages(inner)
	if err != nil {
		return err
	}
	if d.batch.magic == 1 && d.batch.first != 0 { // some producers leave the wrapper's offset at 0
		if d.batch.base = d.batch.first - last; d.batch.base < 0 {
			return corruptf(d.batch.first, "the last message inside it has offset %d", last)
		}
	}
	d.batch.next = max(d.batch.next, d.batch.base+last+1)
	d.batch.count, d.left, d.raw = count, count, inner
	return nil
}

// countMessages walks the messages inside a wrapper.
func (d *decoder) countMessages(set []byte) (count int, last int64, err error) {
	for len(set) > 0 {
		m, rest, err := cut(set)
		if err != nil {
			return 0, 0, corruptf(d.batch.first, "inside the wrapper: %v", err)
		}
		if m == nil || m[atMagic] != d.batch.magic || m[atMessageAttr]&attrCodec != 0 {
			return 0, 0, corruptf(d.batch.first, "message %s inside the wrapper is cut short, of another format or compressed", counted(count+1))
		}
		last, set = baseOffset(m), rest
		count++
	}
	if count == 0 {
		return 0, 0, corruptf(d.batch.first, "the wrapper of compressed messages is empty")
	}
	return count, last, nil
}

// messageBody finds key and value; nil is a null.
func messageBody(m []byte) (key, value []byte, ok bool) {
	b := m[atMessageKey:]
	if m[atMagic] == 1 {
		b = b[8:]
	}
	if key, b, ok = sized32(b); !ok {
		return nil, nil, false
	}
	value, b, ok = sized32(b)
	return key, value, ok && len(b) == 0
}

// sized32 takes bytes off b that stand behind their length in four bytes; a negative length is a null.
func sized32(b []byte) (value, rest []byte, ok bool) {
	if len(b) < 4 {
		return nil, nil, false
	}
	length := int64(int32(binary.BigEndian.Uint32(b)))
	b = b[4:]
	if length < 0 {
		return nil, b, true
	}
	if length > int64(len(b)) {
		return nil, nil, false
	}
	return b[:length:length], b[length:], true
}

// fillMessages is fill for formats 0 and 1.
func (d *decoder) fillMessages(block *columns.Records, from, until int64) error {
	for d.left > 0 && !full(block) {
		m, rest, err := cut(d.raw)
		if err != nil || m == nil {
			return d.badRecord("is cut short")
		}
		if err := d.message(block, m, from, until); err != nil {
			d.drop()
			return err
		}
		d.raw = rest
		d.left--
	}
	return nil
}

func (d *decoder) message(block *columns.Records, m []byte, from, until int64) error {
	if !messageIntact(m) {
		return d.badRecord("has a checksum (CRC-32) that does not match")
	}
	key, value, ok := messageBody(m)
	if !ok {
		return d.badRecord("is cut short")
	}
	offset := d.batch.base + baseOffset(m)
	if offset <= d.last || offset >= d.batch.next {
		return d.badRecord("is out of the order of offsets")
	}
	d.last = offset
	if offset < from || offset >= until {
		return nil
	}
	timestamp := d.batch.timestamp
	if d.batch.timestampType == createTime {
		timestamp = int64(binary.BigEndian.Uint64(m[atMessageTime:]))
	}
	if d.headers {
		block.Headers.AppendNullSpan()
	}
	appendRecord(block, offset, timestamp, key, value)
	return nil
}
