package protobuf_test

import (
	"math/rand/v2"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/dynamicpb"

	"sluice/decode/protobuf"
)

// everyKind has each type and each way to nest them, under numbers that a fuzzer finds.
const everyKind = `syntax = "proto2";
import "google/protobuf/timestamp.proto"; import "google/protobuf/duration.proto"; import "google/protobuf/wrappers.proto"; import "google/protobuf/struct.proto"; import "google/protobuf/empty.proto";
enum E { ZERO = 0; ONE = 1; MANY = 3000; }
message N { optional int32 a = 1; repeated string b = 2; optional N2 n = 3; map<string, N2> m = 4; oneof o { N2 x = 5; string y = 6; google.protobuf.Value z = 7; } }
message N2 { optional sint64 a = 1 [default = -3]; repeated fixed32 b = 2; required bool c = 3; }
message M {
  optional bool a = 1; optional int32 b = 2; optional uint64 c = 3; optional sint32 d = 4; optional fixed64 e = 5; optional string f = 6; optional bytes g = 7; optional E h = 8;
  optional N i = 9; repeated N j = 10; map<int32, N> k = 11; repeated uint32 l = 12 [packed = true]; repeated E m = 13; map<string, double> n = 14; repeated group H2 = 15 { optional N q = 1; }
  optional google.protobuf.Timestamp t = 16; optional google.protobuf.Duration u = 17; optional google.protobuf.StringValue v = 18; repeated google.protobuf.Int64Value w = 19;
  optional google.protobuf.Struct x = 20; map<bool, google.protobuf.Value> y = 21; optional google.protobuf.Empty z = 22; oneof o { float aa = 23; N ab = 24; google.protobuf.Timestamp ac = 25; }
}`

// seeds are what the fuzzer begins with: records as encoders write them, as none does, and the records of the rules.
func seeds(tb testing.TB) [][]byte {
	_, m := descriptorOf(tb, everyKind, "M")
	var all [][]byte
	for seed := range uint64(40) {
		rng := rand.New(rand.NewPCG(seed, 5))
		message := dynamicpb.NewMessage(m)
		randomMessage(rng, message, 1+rng.IntN(3))
		record, err := proto.MarshalOptions{Deterministic: true}.Marshal(message)
		if err != nil {
			tb.Fatal(err)
		}
		all = append(all, record, scramble(rng, m, record))
	}
	for _, r := range rules {
		all = append(all, bytesOf(tb, r.record))
	}
	return all
}

func TestTheOracleAgreesOnEverySeed(t *testing.T) {
	m, descriptor := descriptorOf(t, everyKind, "M")
	p := mustCompile(t, m, protobuf.Options{})
	all := seeds(t)
	for _, seed := range all {
		compare(t, p, descriptor, all[0], seed)
	}
}

func FuzzAppend(f *testing.F) {
	m, descriptor := descriptorOf(f, everyKind, "M")
	p := mustCompile(f, m, protobuf.Options{})
	all := seeds(f)
	for _, seed := range all {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, value []byte) { compare(t, p, descriptor, all[0], value) })
}

// FuzzParse looks for schemas that make the parser or the compiler of columns panic.
func FuzzParse(f *testing.F) {
	f.Add(everyKind)
	f.Add(ordersText)
	for seed := range uint64(20) {
		f.Add(randomFile(rand.New(rand.NewPCG(seed, 6))))
	}
	f.Fuzz(func(t *testing.T, text string) {
		file, err := protobuf.Parse(map[string]string{"a.proto": text}, "a.proto")
		if err != nil {
			return
		}
		m, err := file.MessageAt(nil)
		if err != nil {
			return
		}
		schema, err := m.Columns()
		if err != nil {
			return
		}
		if _, err := protobuf.Compile(m, schema, protobuf.Options{}); err != nil {
			t.Errorf("the message's own columns cannot be filled: %v", err)
		}
	})
}
