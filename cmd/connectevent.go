package cmd

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
)

// connectEvent is what every event in the control topic of Kafka Connect's Iceberg sink begins with.
type connectEvent struct {
	kind  int64
	group string
}

// dataWritten is the kind of the events that announce files (DATA_WRITTEN).
const dataWritten = 1

// connectKinds is how many kinds of events there are.
const connectKinds = 5

// parseConnectEvent reads the beginning of an event: two magic bytes, the Avro schema with its length before it, and the record in
// Avro's binary form, whose first fields are id (a UUID), type, timestamp and group_id (AvroEncoderUtil and Event in Apache
// Iceberg 1.6 and later). The payload is left alone.
func parseConnectEvent(data []byte) (*connectEvent, error) {
	if len(data) < 4 || data[0] != 0xC2 || data[1] != 0x01 {
		return nil, errors.New("it does not begin with the mark of such events")
	}
	length := int(binary.BigEndian.Uint16(data[2:]))
	if len(data) < 4+length {
		return nil, errors.New("it is cut off in its schema")
	}
	if err := checkConnectSchema(data[4 : 4+length]); err != nil {
		return nil, err
	}
	body := avroBytes{rest: data[4+length:]}
	body.skip(16)
	e := &connectEvent{kind: body.number()}
	body.number() // the timestamp
	e.group = body.text()
	if body.short {
		return nil, errors.New("it is cut off")
	}
	if e.kind < 0 || e.kind >= connectKinds {
		return nil, fmt.Errorf("its kind is %d", e.kind)
	}
	return e, nil
}

// checkConnectSchema sees that the schema begins with the fields that are read.
func checkConnectSchema(text []byte) error {
	var schema struct {
		Fields []struct {
			Name string          `json:"name"`
			Type json.RawMessage `json:"type"`
		} `json:"fields"`
	}
	if err := json.Unmarshal(text, &schema); err != nil {
		return fmt.Errorf("its schema: %w", err)
	}
	want := []struct{ name, kind string }{{"id", "fixed"}, {"type", "int"}, {"timestamp", "long"}, {"group_id", "string"}}
	if len(schema.Fields) < len(want) {
		return errors.New("its schema has other fields")
	}
	for i, w := range want {
		f := schema.Fields[i]
		kind, size := avroKind(f.Type)
		if f.Name != w.name || kind != w.kind || w.kind == "fixed" && size != 16 {
			return fmt.Errorf("field %d of its schema is %s, a %s", i+1, f.Name, kind)
		}
	}
	return nil
}

// avroKind is the kind of a type that is a name or an object, and the size of a fixed one.
func avroKind(text json.RawMessage) (kind string, size int) {
	if json.Unmarshal(text, &kind) == nil {
		return kind, 0
	}
	var object struct {
		Type string `json:"type"`
		Size int    `json:"size"`
	}
	if json.Unmarshal(text, &object) != nil {
		return "", 0
	}
	return object.Type, object.Size
}

// avroBytes reads Avro's binary form.
type avroBytes struct {
	rest []byte
	// short says that there was less than was asked for.
	short bool
}

func (b *avroBytes) skip(n int64) []byte {
	if n < 0 || n > int64(len(b.rest)) {
		b.rest, b.short = nil, true
		return nil
	}
	taken := b.rest[:n]
	b.rest = b.rest[n:]
	return taken
}

// number reads a whole number, which is zigzag-coded.
func (b *avroBytes) number() int64 {
	n, used := binary.Varint(b.rest)
	if used <= 0 {
		b.rest, b.short = nil, true
		return 0
	}
	b.rest = b.rest[used:]
	return n
}

func (b *avroBytes) text() string { return string(b.skip(b.number())) }
