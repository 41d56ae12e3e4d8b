package protobuf_test

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"

	"sluice/columns"
	"sluice/decode/protobuf"
	"sluice/lakesink/rowtest"
)

// descriptorOf makes the library read what protobuf.Parse has read.
func descriptorOf(tb testing.TB, text, name string) (*protobuf.Message, protoreflect.MessageDescriptor) {
	tb.Helper()
	f, err := protobuf.Parse(map[string]string{"t.proto": text}, "t.proto")
	if err != nil {
		tb.Fatalf("%v\n%s", err, text)
	}
	m, err := f.Message(name)
	if err != nil {
		tb.Fatal(err)
	}
	return m, protobuf.DescriptorOf(m)
}

func mustCompile(tb testing.TB, m *protobuf.Message, o protobuf.Options) *protobuf.Parser {
	tb.Helper()
	schema, err := m.Columns()
	if err != nil {
		tb.Fatal(err)
	}
	p, err := protobuf.Compile(m, schema, o)
	if err != nil {
		tb.Fatal(err)
	}
	return p
}

// randomMessage fills a message with values that are all right.
func randomMessage(rng *rand.Rand, m protoreflect.Message, depth int) {
	switch m.Descriptor().FullName() {
	case "google.protobuf.Timestamp":
		m.Set(m.Descriptor().Fields().ByNumber(1), protoreflect.ValueOfInt64(rng.Int64N(4e11)-1e11/2))
		m.Set(m.Descriptor().Fields().ByNumber(2), protoreflect.ValueOfInt32(1000*rng.Int32N(1e6)))
		return
	case "google.protobuf.Duration":
		sign := 1 - 2*rng.Int64N(2)
		m.Set(m.Descriptor().Fields().ByNumber(1), protoreflect.ValueOfInt64(sign*rng.Int64N(3e11)))
		m.Set(m.Descriptor().Fields().ByNumber(2), protoreflect.ValueOfInt32(int32(sign)*rng.Int32N(1e9)))
		return
	}
	for _, fd := range inOrder(m.Descriptor()) {
		if fd.Cardinality() != protoreflect.Required && rng.IntN(3) == 0 || fd.Message() != nil && depth == 0 {
			continue
		}
		switch {
		case fd.IsMap():
			entries := m.Mutable(fd).Map()
			for range rng.IntN([]int{4, 40}[rng.IntN(2)]) {
				entries.Set(randomValue(rng, fd.MapKey(), entries.NewValue, depth).MapKey(), randomValue(rng, fd.MapValue(), entries.NewValue, depth))
			}
		case fd.IsList():
			list := m.Mutable(fd).List()
			for range rng.IntN(5) {
				list.Append(randomValue(rng, fd, list.NewElement, depth))
			}
		default:
			m.Set(fd, randomValue(rng, fd, func() protoreflect.Value { return m.NewField(fd) }, depth))
		}
	}
}

func randomValue(rng *rand.Rand, fd protoreflect.FieldDescriptor, fresh func() protoreflect.Value, depth int) protoreflect.Value {
	bits := rng.Uint64() >> rng.IntN(64)
	if rng.IntN(2) == 0 {
		bits = -bits
	}
	switch fd.Kind() {
	case protoreflect.BoolKind:
		return protoreflect.ValueOfBool(bits&1 == 1)
	case protoreflect.EnumKind:
		if fd.Enum().FullName() == "google.protobuf.NullValue" {
			return protoreflect.ValueOfEnum(0)
		}
		return protoreflect.ValueOfEnum([]protoreflect.EnumNumber{0, 1, 2000, -1, 77, math.MinInt32}[rng.IntN(6)])
	case protoreflect.Int32Kind, protoreflect.Sint32Kind, protoreflect.Sfixed32Kind:
		return protoreflect.ValueOfInt32(int32(bits))
	case protoreflect.Int64Kind, protoreflect.Sint64Kind, protoreflect.Sfixed64Kind:
		return protoreflect.ValueOfInt64(int64(bits))
	case protoreflect.Uint32Kind, protoreflect.Fixed32Kind:
		return protoreflect.ValueOfUint32(uint32(bits))
	case protoreflect.Uint64Kind, protoreflect.Fixed64Kind:
		return protoreflect.ValueOfUint64(bits)
	case protoreflect.FloatKind:
		return protoreflect.ValueOfFloat32(float32(rng.NormFloat64()))
	case protoreflect.DoubleKind:
		return protoreflect.ValueOfFloat64([]float64{rng.NormFloat64(), float64(rng.IntN(1000)), rng.NormFloat64() * 1e30, 0, 1e-9}[rng.IntN(5)])
	case protoreflect.StringKind:
		return protoreflect.ValueOfString([]string{"", "a", "größe", "\x00\x1f\"\\\n", "👍", strings.Repeat("long ", rng.IntN(4))}[rng.IntN(6)])
	case protoreflect.BytesKind:
		return protoreflect.ValueOfBytes(binary.LittleEndian.AppendUint64(nil, bits)[:rng.IntN(9)])
	}
	v := fresh()
	randomMessage(rng, v.Message(), depth-1)
	return v
}

// merged adds another message to one, or not: other members of its oneofs, more elements, and parts of the messages inside.
func merged(rng *rand.Rand, m protoreflect.MessageDescriptor, value []byte) []byte {
	if rng.IntN(2) == 0 {
		return value
	}
	message := dynamicpb.NewMessage(m)
	randomMessage(rng, message, 4)
	value, err := proto.MarshalOptions{Deterministic: true}.MarshalAppend(value[:len(value):len(value)], message)
	if err != nil {
		panic(err)
	}
	return value
}

// scramble writes a message as no encoder would: fields in any order, some twice, in parts, lists packed or not, with
// fields of numbers that nobody knows, numbers longer than they need to be.
func scramble(rng *rand.Rand, m protoreflect.MessageDescriptor, value []byte) []byte {
	var parts [][]byte
	for len(value) > 0 {
		number, wire, n := protowire.ConsumeTag(value)
		size := protowire.ConsumeFieldValue(number, wire, value[n:])
		body := value[n : n+size]
		value = value[n+size:]
		for range 1 + max(0, rng.IntN(8)-6) {
			parts = append(parts, scrambleField(rng, m.Fields().ByNumber(number), number, wire, body))
		}
	}
	if rng.IntN(4) == 0 {
		parts = append(parts, []byte{0xfa, 0xff, 0x07, 0x02, 0xff, 0x00}, []byte{0xfb, 0xff, 0x07, 0x08, 0x01, 0xfc, 0xff, 0x07})
	}
	if rng.IntN(2) == 0 {
		rng.Shuffle(len(parts), func(i, j int) { parts[i], parts[j] = parts[j], parts[i] })
	}
	var out []byte
	for _, part := range parts {
		out = append(out, part...)
	}
	return out
}

func scrambleField(rng *rand.Rand, fd protoreflect.FieldDescriptor, number protowire.Number, wire protowire.Type, body []byte) []byte {
	tag := func(w protowire.Type) []byte { return protowire.AppendTag(nil, number, w) }
	switch {
	case fd == nil:
	case fd.Message() != nil && wire == protowire.BytesType:
		inner, _ := protowire.ConsumeBytes(body)
		return protowire.AppendBytes(tag(wire), scramble(rng, fd.Message(), inner))
	case fd.Message() != nil:
		inner, _ := protowire.ConsumeGroup(number, body)
		return append(append(tag(wire), scramble(rng, fd.Message(), inner)...), tag(protowire.EndGroupType)...)
	case fd.IsList() && wire == wireOf(fd.Kind()) && wire != protowire.BytesType && rng.IntN(2) == 0:
		return protowire.AppendBytes(tag(protowire.BytesType), body)
	case fd.IsList() && wire != wireOf(fd.Kind()) && rng.IntN(2) == 0:
		packed, _ := protowire.ConsumeBytes(body)
		var out []byte
		for len(packed) > 0 {
			n := protowire.ConsumeFieldValue(number, wireOf(fd.Kind()), packed)
			out = append(append(out, tag(wireOf(fd.Kind()))...), packed[:n]...)
			packed = packed[n:]
		}
		return out
	case wire == protowire.VarintType && len(body) < 9 && rng.IntN(4) == 0:
		longer := append([]byte{}, body...)
		longer[len(longer)-1] |= 0x80
		return append(append(tag(wire), longer...), 0)
	}
	return append(tag(wire), body...)
}

// compare reads value between two records that are right, and holds what comes out against the oracle.
func compare(t *testing.T, p *protobuf.Parser, m protoreflect.MessageDescriptor, good, value []byte) error {
	t.Helper()
	dst := columns.Make(p.Schema())
	var want [][]any
	var problem error
	for k, record := range [][]byte{good, value, good} {
		row, oracleErr := oracle(m, record)
		err := p.Append(dst, record)
		if (err == nil) != (oracleErr == nil) {
			t.Fatalf("%x: got %v, want %v", record, err, oracleErr)
		}
		if k == 1 {
			problem = err
		}
		if oracleErr == nil {
			want = append(want, row)
		}
	}
	for i := range p.Schema() {
		if err := rowtest.Sound(&dst[i], &p.Schema()[i].Type, len(want), p.Schema()[i].Name); err != nil {
			t.Fatalf("%x: %v", value, err)
		}
	}
	for i := range want {
		if got := rowtest.Text(sorted(rowtest.Row(p.Schema(), dst, i))); got != rowtest.Text(want[i]) {
			t.Fatalf("%x: row %d:\ngot  %s\nwant %s", value, i, got, rowtest.Text(want[i]))
		}
	}
	return problem
}

// Whatever the messages, however they are written, and also with bytes changed, the columns hold what the library reads.
func TestTheOracleAgreesOnRandomMessages(t *testing.T) {
	rows, refused := 0, 0
	for seed := range uint64(300) {
		rng := rand.New(rand.NewPCG(seed, 3))
		text := randomFile(rng)
		m, descriptor := descriptorOf(t, text, "M0")
		p := mustCompile(t, m, protobuf.Options{})
		for range 8 {
			message := dynamicpb.NewMessage(descriptor)
			randomMessage(rng, message, 4)
			good, err := proto.MarshalOptions{Deterministic: true}.Marshal(message)
			if err != nil {
				t.Fatal(err)
			}
			value := scramble(rng, descriptor, merged(rng, descriptor, good))
			mutant := append([]byte{}, value...)
			for range min(len(mutant), 1+rng.IntN(3)) {
				mutant[rng.IntN(len(mutant))] = byte(rng.Uint32())
			}
			for _, record := range [][]byte{value, mutant, value[:rng.IntN(len(value)+1)]} {
				rows++
				if compare(t, p, descriptor, good, record) != nil {
					refused++
				}
				if t.Failed() {
					t.Fatalf("seed %d:\n%s", seed, text)
				}
			}
		}
	}
	if refused < rows/10 || refused > rows*2/3 {
		t.Errorf("%d of %d records are malformed: the test says little", refused, rows)
	}
}

// A set of descriptors gives the same messages as the text that they were made of.
func TestADescriptorSetIsLikeItsText(t *testing.T) {
	for seed := range uint64(30) {
		rng := rand.New(rand.NewPCG(seed, 4))
		m, descriptor := descriptorOf(t, randomFile(rng), "M0")
		set := &descriptorpb.FileDescriptorSet{File: []*descriptorpb.FileDescriptorProto{protodesc.ToFileDescriptorProto(descriptor.ParentFile())}}
		text, err := proto.Marshal(set)
		if err != nil {
			t.Fatal(err)
		}
		f, err := protobuf.ParseDescriptorSet(text)
		if err != nil {
			t.Fatal(err)
		}
		again, err := f.Message("t.M0")
		if err != nil {
			t.Fatal(err)
		}
		want, _ := m.Columns()
		if got, err := again.Columns(); err != nil || fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("got %v, %v, want %v", got, err, want)
		}
	}
}

// fewer leaves out columns at random, at every depth, and puts the others in another order. picked has where those of a row
// were.
func fewer(rng *rand.Rand, fields []columns.Field) (left []columns.Field, picked []int) {
	for _, i := range rng.Perm(len(fields)) {
		if rng.IntN(3) > 0 || len(left) == 0 {
			left, picked = append(left, fields[i]), append(picked, i)
		}
	}
	return left, picked
}

// The columns that a job has hold what they hold among all columns, whatever it leaves out: also members of a oneof, which
// clear the others all the same.
func TestFewerColumnsHoldTheSame(t *testing.T) {
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, 7))
		text := randomFile(rng)
		m, descriptor := descriptorOf(t, text, "M0")
		all := mustCompile(t, m, protobuf.Options{})
		schema, picked := fewer(rng, all.Schema())
		inner := -1
		for k := range schema {
			if f := schema[k]; f.Type.Kind == columns.Struct && inner < 0 {
				inner = k
				f.Type.Fields, _ = fewer(rng, f.Type.Fields)
				schema[k] = f
			}
		}
		few, err := protobuf.Compile(m, schema, protobuf.Options{})
		if err != nil {
			t.Fatal(err)
		}
		for range 6 {
			message := dynamicpb.NewMessage(descriptor)
			randomMessage(rng, message, 4)
			good, err := proto.MarshalOptions{Deterministic: true}.Marshal(message)
			if err != nil {
				t.Fatal(err)
			}
			record := scramble(rng, descriptor, merged(rng, descriptor, good))
			whole, part := columns.Make(all.Schema()), columns.Make(schema)
			if err := all.Append(whole, record); err != nil {
				continue // a field that is required was cleared
			}
			if err := few.Append(part, record); err != nil {
				t.Fatalf("%x: %v\n%s", record, err, text)
			}
			want, got := rowtest.Row(all.Schema(), whole, 0), rowtest.Row(schema, part, 0)
			for k, i := range picked {
				if k != inner && rowtest.Text(got[k]) != rowtest.Text(want[i]) {
					t.Fatalf("seed %d, %s: got %s, want %s\n%x\n%s", seed, schema[k].Name, rowtest.Text(got[k]), rowtest.Text(want[i]), record, text)
				}
			}
		}
	}
}
