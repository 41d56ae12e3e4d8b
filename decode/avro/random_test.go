package avro_test

import (
	"encoding/binary"
	stdjson "encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"sluice/columns"
)

// maker makes random schemas, values of them as bytes, and columns to read these into.
type maker struct {
	rng   *rand.Rand
	names int
}

func (m *maker) pick(words ...string) string { return words[m.rng.IntN(len(words))] }

func (m *maker) name(prefix string) string {
	m.names++
	return fmt.Sprintf("%s%d", prefix, m.names)
}

func (m *maker) record(depth int) map[string]any {
	fields := []any{}
	for range 1 + m.rng.IntN(6) {
		fields = append(fields, map[string]any{"name": m.name("f"), "type": m.schema(depth)})
	}
	return map[string]any{"type": "record", "name": m.name("R"), "fields": fields}
}

func (m *maker) schema(depth int) any {
	if depth > 0 {
		switch m.rng.IntN(8) {
		case 0:
			return m.record(depth - 1)
		case 1:
			return map[string]any{"type": "array", "items": m.schema(depth - 1)}
		case 2:
			return map[string]any{"type": "map", "values": m.schema(depth - 1)}
		case 3:
			return m.union(depth - 1)
		}
	}
	if m.rng.IntN(3) == 0 {
		if m.rng.IntN(2) == 0 {
			return []any{"null", m.scalar()}
		}
		return []any{m.scalar(), "null"}
	}
	return m.scalar()
}

// union has types of different kinds.
func (m *maker) union(depth int) any {
	all := []any{"null", "int", "long", "string", "double", "float", "boolean", "bytes", m.record(depth), map[string]any{"type": "array", "items": m.schema(0)}}
	m.rng.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return all[:1+m.rng.IntN(4)]
}

func (m *maker) scalar() any {
	logical := func(of, name string) any { return map[string]any{"type": of, "logicalType": name} }
	switch m.rng.IntN(14) {
	case 0:
		return map[string]any{"type": "fixed", "name": m.name("F"), "size": 1 + m.rng.IntN(9)}
	case 1:
		return map[string]any{"type": "enum", "name": m.name("E"), "symbols": []any{"A", "B", "C"}}
	case 2, 3:
		precision := 1 + m.rng.IntN(38)
		d := map[string]any{"type": "bytes", "logicalType": "decimal", "precision": precision, "scale": m.rng.IntN(precision + 1)}
		if m.rng.IntN(2) == 0 {
			d["type"], d["name"], d["size"] = "fixed", m.name("D"), 16+m.rng.IntN(3)
		}
		return d
	case 4:
		return logical("int", m.pick("date", "time-millis"))
	case 5, 6:
		return logical("long", m.pick("time-micros", "timestamp-millis", "timestamp-micros", "timestamp-nanos", "local-timestamp-millis", "local-timestamp-micros", "local-timestamp-nanos"))
	case 7:
		return logical("string", "uuid")
	}
	return m.pick("boolean", "int", "long", "float", "double", "bytes", "string")
}

// encode appends a value.
func (m *maker) encode(out []byte, o *oracle, schema any) []byte {
	kind, attributes, logical := o.kindOf(schema)
	switch kind {
	case "record":
		for _, f := range attributes["fields"].([]any) {
			out = m.encode(out, o, f.(map[string]any)["type"])
		}
		return out
	case "union":
		branches := attributes["branches"].([]any)
		k := m.rng.IntN(len(branches))
		return m.encode(m.varint(out, int64(k)), o, branches[k])
	case "array":
		return m.encodeBlocks(out, func(out []byte) []byte { return m.encode(out, o, attributes["items"]) })
	case "map":
		return m.encodeBlocks(out, func(out []byte) []byte {
			return m.encode(m.encodeBytes(out, []byte(m.name("k"))), o, attributes["values"])
		})
	case "enum":
		return m.varint(out, int64(m.rng.IntN(3)))
	case "fixed":
		return append(out, m.number(int(attributes["size"].(float64)), logical)...)
	case "boolean":
		return append(out, byte(m.rng.IntN(2)))
	case "int":
		return m.varint(out, m.integer(logical, 31))
	case "long":
		return m.varint(out, m.integer(logical, 63))
	case "float":
		return binary.LittleEndian.AppendUint32(out, math.Float32bits(float32(m.rng.NormFloat64())))
	case "double":
		return binary.LittleEndian.AppendUint64(out, math.Float64bits(m.rng.NormFloat64()))
	case "bytes":
		return m.encodeBytes(out, m.number(1+m.rng.IntN(9), logical))
	case "string":
		if logical == "uuid" {
			return m.encodeBytes(out, fmt.Appendf(nil, "%08x-%04x-%04X-%04x-%012x", m.rng.Uint32(), uint16(m.rng.Uint32()), uint16(m.rng.Uint32()), uint16(m.rng.Uint32()), m.rng.Uint64()>>16))
		}
		return m.encodeBytes(out, []byte(m.pick("", "a", "größe", "a longer text of ASCII", "\x00", "€uro and then more of it")))
	}
	return out
}

// number is bytes that mean a number which most decimals can hold.
func (m *maker) number(size int, logical string) []byte {
	v := make([]byte, size)
	if logical != "decimal" {
		for i := range v {
			v[i] = byte(m.rng.Uint32() & 0x7f)
		}
		return v
	}
	sign := byte(-m.rng.IntN(2))
	for i := range v {
		v[i] = sign
	}
	if v[size-1] = byte(m.rng.Uint32()); v[size-1]>>7 != sign&1 {
		v[size-1] ^= 0x80
	}
	return v
}

func (m *maker) integer(logical string, bits int) int64 {
	switch logical {
	case "":
		return int64(m.rng.Uint64()) >> (63 - m.rng.IntN(bits+1))
	case "date":
		return int64(m.rng.IntN(100_000)) - 50_000
	case "time-millis", "time-micros":
		return m.rng.Int64N(86_400_000)
	case "timestamp-nanos", "local-timestamp-nanos":
		return 1000 * (m.rng.Int64N(1e15) - 5e14)
	}
	return m.rng.Int64N(4e12) - 1e12
}

// varint is sometimes longer than it must be.
func (m *maker) varint(out []byte, v int64) []byte {
	out = binary.AppendVarint(out, v)
	if m.rng.IntN(50) == 0 && v >= -64 && v < 64 {
		out[len(out)-1] |= 0x80
		out = append(out, 0)
	}
	return out
}

func (m *maker) encodeBytes(out, v []byte) []byte { return append(m.varint(out, int64(len(v))), v...) }

func (m *maker) encodeBlocks(out []byte, item func([]byte) []byte) []byte {
	for range m.rng.IntN(3) {
		var block []byte
		count := 1 + m.rng.IntN(3)
		for range count {
			block = item(block)
		}
		if m.rng.IntN(2) == 0 {
			out = m.varint(out, int64(count))
		} else {
			out = m.varint(m.varint(out, int64(-count)), int64(len(block)))
		}
		out = append(out, block...)
	}
	return append(out, 0)
}

// spoil changes bytes of a value.
func (m *maker) spoil(value []byte) []byte {
	v := slices.Clone(value)
	for range 1 + m.rng.IntN(2) {
		at := m.rng.IntN(len(v) + 1)
		switch m.rng.IntN(6) {
		case 0:
			v = v[:at]
		case 1:
			v = slices.Insert(v, at, byte(m.rng.Uint32()))
		case 2:
			v = slices.Insert(v, at, binary.AppendVarint(nil, int64(m.rng.Uint64())>>m.rng.IntN(64))...)
		case 3:
			v = slices.Insert(v, at, slices.Repeat([]byte{0xff}, 1+m.rng.IntN(12))...)
		default:
			if at < len(v) {
				v[at] ^= 1 << m.rng.IntN(8)
			}
		}
	}
	return v
}

// loosen changes columns into others that the same schema can be read into.
func (m *maker) loosen(fields []columns.Field, top bool) []columns.Field {
	fields = slices.Clone(fields)
	members := len(fields) > 0 && len(fields[0].Name) == 7 && fields[0].Name[:6] == "member"
	if len(fields) > 1 && !members && m.rng.IntN(4) == 0 {
		fields = slices.Delete(fields, 0, 1)
	}
	if !members && m.rng.IntN(4) == 0 {
		fields = slices.Insert(fields, m.rng.IntN(len(fields)+1), columns.Field{Name: m.name("new"), Type: columns.Type{Kind: columns.UUID}})
	}
	if !members && top {
		m.rng.Shuffle(len(fields), func(i, j int) { fields[i], fields[j] = fields[j], fields[i] })
	}
	for i := range fields {
		m.loosenField(&fields[i], members)
	}
	return fields
}

func (m *maker) loosenField(f *columns.Field, member bool) {
	if m.rng.IntN(10) == 0 && !member {
		f.Required = m.rng.IntN(2) == 0
	}
	t := &f.Type
	switch t.Kind {
	case columns.Struct:
		t.Fields = m.loosen(t.Fields, false)
	case columns.List, columns.Map:
		if member { // what a member cannot take is told when a value comes
			return
		}
		t.Fields = slices.Clone(t.Fields)
		m.loosenField(&t.Fields[len(t.Fields)-1], false)
	}
	if member || m.rng.IntN(3) > 0 {
		return
	}
	switch t.Kind {
	case columns.Int32:
		t.Kind = []columns.Kind{columns.Int64, columns.Float64, columns.Float32}[m.rng.IntN(3)]
	case columns.Int64:
		t.Kind = []columns.Kind{columns.Int32, columns.Float64, columns.Float32}[m.rng.IntN(3)]
	case columns.Float32:
		t.Kind = columns.Float64
	case columns.Fixed:
		t.Kind, t.Width = columns.Binary, 0
	case columns.String:
		t.Kind = columns.Binary
	case columns.Binary:
		t.Kind = columns.String
	case columns.UUID:
		t.Kind = columns.String
	case columns.Time, columns.Timestamp, columns.TimestampTZ:
		t.Kind = columns.Int64
	case columns.Decimal:
		t.Precision = 1 + m.rng.IntN(38)
		t.Scale = m.rng.IntN(t.Precision + 1)
	}
}

func schemaText(tree any) string {
	text, err := stdjson.Marshal(tree)
	if err != nil {
		panic(err)
	}
	return string(text)
}
