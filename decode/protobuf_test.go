package decode_test

import (
	"errors"
	"strings"
	"testing"

	"sluice/batch"
	"sluice/decode"
	"sluice/decode/malformed"
	"sluice/decode/registry"
)

const ordersProto = `syntax = "proto3"; package shop; import "common/money.proto"; import "google/protobuf/timestamp.proto";
message Key { int64 id = 1; }
message Order { int64 id = 1; common.Money price = 2; message Line { string sku = 1; } repeated Line lines = 3; google.protobuf.Timestamp at = 4; }`

func protoRegistry() *registered {
	r := registryOf("")
	r.schemas[registry.Number(1)] = &registry.Schema{Type: registry.Protobuf, Text: ordersProto, References: []registry.Reference{
		{Name: "common/money.proto", Text: `syntax = "proto3"; package common; message Money { int64 cents = 1; }`}}}
	return r
}

func protoValue(ddl string) batch.Value {
	return batch.Value{Format: "protobuf", Schema: ddl, Framing: batch.ConfluentFraming, OnMalformed: "fail", OnTombstone: "keep", OnUnknownField: "ignore"}
}

func TestProtobufMessagesAreFoundByTheirIndexes(t *testing.T) {
	r := protoRegistry()
	text, err := decode.Columns(r.schemas[registry.Number(1)], "protobuf", "shop.Order")
	if want := "id BIGINT,\nprice STRUCT<cents: BIGINT>,\nlines ARRAY<STRUCT<sku: STRING> NOT NULL>,\nat TIMESTAMP"; err != nil || text != want {
		t.Errorf("got %q, %v, want %q", text, err, want)
	}
	if text, err = decode.Columns(r.schemas[registry.Number(1)], "protobuf", ""); err == nil || !strings.Contains(err.Error(), "several messages") {
		t.Errorf("got %q, %v, want the message to be named", text, err)
	}
	if _, err = decode.Columns(r.schemas[registry.Number(1)], "avro", ""); err == nil || !strings.Contains(err.Error(), "of type PROTOBUF") {
		t.Errorf("got %v", err)
	}
	v := protoValue("id BIGINT, sku STRING, lines ARRAY<STRUCT<sku: STRING>>")
	d := r.decoder(t, v)
	first := framedBy(1, []byte{0, 0x08, 5})                            // Key
	second := framedBy(1, []byte{2, 2, 0x08, 7, 0x1a, 3, 0x0a, 1, 'x'}) // Order
	nested := framedBy(1, []byte{4, 2, 0, 0x0a, 1, 'y'})                // Order.Line
	if got, want := rowsOf(t, d, topic(first, second, nested, first)), `{id: 5, sku: null, lines: null} {id: 7, sku: null, lines: [{sku: "x"}]} {id: null, sku: "y", lines: null} {id: 5, sku: null, lines: null} 0`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if len(r.asked) != 3 {
		t.Errorf("got asked for %v: each message is compiled once", r.asked)
	}
	for value, want := range map[string]malformed.Reason{framedBy(1, []byte{2, 18, 0x08, 7}): malformed.Schema, framedBy(1, nil): malformed.Framing} {
		_, err := d.Decode(topic(value))
		var why *malformed.Error
		if !errors.As(err, &why) || why.Reason != want {
			t.Errorf("%q: got %v, want %s", value, err, want)
		}
	}
}

func TestUnknownFieldsOfProtobufAreThoseOfTheMessageAndOfTheBytes(t *testing.T) {
	v := protoValue("id BIGINT")
	v.OnUnknownField = "fail"
	d := protoRegistry().decoder(t, v)
	_, err := d.Decode(topic(framedBy(1, []byte{2, 2, 0x08, 7})))
	var why *malformed.Error
	if !errors.As(err, &why) || why.Reason != malformed.Unknown || !strings.Contains(why.Detail, "price, lines, at") {
		t.Errorf("got %v", err)
	}
	if _, err = d.Decode(topic(framedBy(1, []byte{0, 0x08, 7}))); err != nil {
		t.Error(err)
	}
	if _, err = d.Decode(topic(framedBy(1, []byte{0, 0x08, 7, 0x48, 1}))); !errors.As(err, &why) || why.Reason != malformed.Unknown { // field 9
		t.Errorf("got %v", err)
	}
}

func TestFinerThanAMicrosecondIsCutWhereThatIsWanted(t *testing.T) {
	nanos := framedBy(1, []byte{2, 2, 0x22, 2, 0x10, 1}) // at {nanos: 1}
	v := protoValue("at TIMESTAMP")
	d := protoRegistry().decoder(t, v)
	var why *malformed.Error
	if _, err := d.Decode(topic(nanos)); !errors.As(err, &why) || why.Reason != malformed.Lossy {
		t.Errorf("got %v", err)
	}
	v.CutFractions = true
	if got, want := rowsOf(t, protoRegistry().decoder(t, v), topic(nanos)), "{at: 1970-01-01T00:00:00.000000Z} 0"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestKeysOfProtobufAreStructs(t *testing.T) {
	v := jsonValue("a INT")
	v.Key = batch.Key{Format: "protobuf", Type: "STRUCT<id: BIGINT, more: INT>", Framing: batch.ConfluentFraming}
	if got, _ := keysOfDecoder(t, protoRegistry().decoder(t, v), keyed(`{"a":1}`, framedBy(1, []byte{0, 8, 5}), none, framedBy(1, []byte{0}))); strings.Join(got, ", ") != "{id: 5, more: null}, null, {id: 0, more: null}" {
		t.Errorf("got %s", got)
	}
	v.Key = batch.Key{Format: "protobuf", Written: batch.Written{Text: `syntax = "proto3"; message K { int64 id = 1; }`}}
	if v = decode.Derive(v); v.Key.Type != "STRUCT<id: BIGINT>" {
		t.Errorf("got %s", v.Key.Type)
	}
	if got, _ := keysOf(t, v, keyed(`{"a":1}`, "\x08\x05", "")); strings.Join(got, ", ") != "{id: 5}, {id: 0}" {
		t.Errorf("got %s", got)
	}
	_, err := decode.New(v, false)
	if err != nil {
		t.Fatal(err)
	}
	v.Key.Type = "BIGINT"
	if problems := decode.Problems(v); len(problems) != 1 || !strings.Contains(problems[0].Error(), "key.schema: a Protobuf message has fields") {
		t.Errorf("got %v", problems)
	}
}
