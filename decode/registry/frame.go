package registry

import (
	"encoding/binary"
	"encoding/hex"
	"math"
	"strconv"

	"sluice/decode/malformed"
)

// The record headers that carry schema ids. Of several headers with the name the last counts, and one whose value is null
// does not count, as in Confluent's clients.
const (
	KeyHeader   = "__key_schema_id"
	ValueHeader = "__value_schema_id"
)

// ID names a schema in a registry: by the number that the registry gave it, or by its GUID, which is made of its text and
// the same in every registry. IDs can be compared and be keys of maps; the zero value names nothing.
type ID struct {
	guid   [16]byte
	number int32
	byGUID bool
}

// Number is the ID of the schema with this number, which registries count from 1.
func Number(number int32) ID { return ID{number: number} }

// GUID is the ID of the schema with this GUID.
func GUID(guid [16]byte) ID { return ID{guid: guid, byGUID: true} }

// String is the number in decimal, or the GUID in its usual form.
func (id ID) String() string {
	if !id.byGUID {
		return strconv.Itoa(int(id.number))
	}
	digits := hex.EncodeToString(id.guid[:])
	return digits[:8] + "-" + digits[8:12] + "-" + digits[12:16] + "-" + digits[16:20] + "-" + digits[20:]
}

// Frame is what the framing of one value says.
type Frame struct {
	// ID names the schema that the value was written with.
	ID ID
	// Indexes lead to the message within a Protobuf schema: the top-level message, one nested in that, and so on, each
	// counted from 0 among its siblings as the schema lists them. It is nil in other formats.
	Indexes []int
	// Payload is the value without the framing. It aliases the value.
	Payload []byte
}

const (
	magicNumber = 0
	magicGUID   = 1

	numberSize = 1 + 4
	guidSize   = 1 + 16
)

// maxIndexes bounds how deep a message may be nested. Protobuf's own decoders stop at 100 levels.
const maxIndexes = 100

// Split takes the framing off the front of an Avro or JSON Schema value. The error is a *malformed.Error. A record that
// has no value has no framing either: it is a tombstone, and not for Split.
func Split(value []byte) (Frame, error) {
	id, size, fault := readID(value)
	if fault != "" {
		return Frame{}, unframed(value, fault)
	}
	return Frame{ID: id, Payload: value[size:]}, nil
}

// SplitProtobuf is Split for Protobuf. The indexes are appended to memory[:0], which may be nil.
func SplitProtobuf(value []byte, memory []int) (Frame, error) {
	id, size, fault := readID(value)
	if fault != "" {
		return Frame{}, unframed(value, fault)
	}
	indexes, length, fault := readIndexes(value[size:], memory)
	if fault != "" {
		return Frame{}, malformedAt(value, size, fault)
	}
	return Frame{ID: id, Indexes: indexes, Payload: value[size+length:]}, nil
}

// FromHeader reads the framing of an Avro or JSON Schema value from its header, ValueHeader or KeyHeader. All of value is
// payload. The error is a *malformed.Error.
func FromHeader(header, value []byte) (Frame, error) {
	id, size, fault := readID(header)
	switch {
	case fault != "":
		return Frame{}, badHeader(header, fault)
	case size < len(header):
		return Frame{}, badHeader(header, "has more bytes than the id")
	}
	return Frame{ID: id, Payload: value}, nil
}

// FromHeaderProtobuf is FromHeader for Protobuf: the indexes are in the header too. They are appended to memory[:0].
func FromHeaderProtobuf(header, value []byte, memory []int) (Frame, error) {
	id, size, fault := readID(header)
	if fault != "" {
		return Frame{}, badHeader(header, fault)
	}
	indexes, length, fault := readIndexes(header[size:], memory)
	switch {
	case fault != "":
		return Frame{}, badHeader(header, fault)
	case size+length < len(header):
		return Frame{}, badHeader(header, "has more bytes than the id and the message indexes")
	}
	return Frame{ID: id, Indexes: indexes, Payload: value}, nil
}

// readID is the ID at the front and how many bytes it takes, or what is wrong.
func readID(framed []byte) (id ID, size int, fault string) {
	switch {
	case len(framed) == 0:
		return ID{}, 0, "has no bytes, not even those of a schema id"
	case framed[0] == magicNumber && len(framed) < numberSize:
		return ID{}, 0, "ends within the schema id, which takes 5 bytes"
	case framed[0] == magicGUID && len(framed) < guidSize:
		return ID{}, 0, "ends within the schema GUID, which takes 17 bytes"
	case framed[0] == magicNumber:
		number := binary.BigEndian.Uint32(framed[1:])
		if number == 0 || number > math.MaxInt32 {
			return ID{}, 0, badNumber(framed, number)
		}
		return Number(int32(number)), numberSize, ""
	case framed[0] == magicGUID:
		return GUID([16]byte(framed[1:guidSize])), guidSize, ""
	}
	return ID{}, 0, "has no schema registry framing: " + looks(framed)
}

// badNumber is about ids that no registry gives: it counts from 1, in 32 bits with a sign.
func badNumber(framed []byte, number uint32) string {
	fault := "has the schema id " + strconv.FormatUint(uint64(number), 10) + ", which no registry gives"
	if number == 0 && len(framed) >= 1+8 {
		fault += "; ids of 8 bytes, as older clients of Apicurio write them, are not read"
	}
	return fault
}

// readIndexes reads the indexes of a message and how many bytes they take: how many there are, then each, all zigzag
// varints (Kafka's ByteUtils.writeVarint). The most frequent list, [0], is written as no indexes at all.
func readIndexes(data []byte, memory []int) (indexes []int, length int, fault string) {
	count, length := binary.Varint(data)
	switch {
	case length <= 0:
		return nil, 0, "ends within the message indexes, or has none"
	case count == 0:
		return append(memory[:0], 0), length, ""
	case count < 0 || count > maxIndexes:
		return nil, 0, "has " + strconv.FormatInt(count, 10) + " message indexes"
	}
	indexes = memory[:0]
	for range count {
		index, size := binary.Varint(data[length:])
		if size <= 0 {
			return nil, 0, "ends within the message indexes"
		}
		if index < 0 || index > math.MaxInt32 {
			return nil, 0, "has the message index " + strconv.FormatInt(index, 10)
		}
		indexes = append(indexes, int(index))
		length += size
	}
	return indexes, length, ""
}

func unframed(value []byte, fault string) error {
	if len(value) == 0 {
		return &malformed.Error{Reason: malformed.Empty, Detail: "the value " + fault}
	}
	return malformedAt(value, 0, fault)
}

func malformedAt(value []byte, position int, fault string) error {
	return &malformed.Error{Reason: malformed.Framing, Position: position, Detail: "the value " + fault, Excerpt: malformed.Excerpt(value, position)}
}

// badHeader shows the header in its detail: position and excerpt are those of a value.
func badHeader(header []byte, fault string) error {
	detail := "the header with the schema id " + fault
	if len(header) > 0 {
		detail += " (" + begin(header) + ")"
	}
	return &malformed.Error{Reason: malformed.Framing, Detail: detail}
}
