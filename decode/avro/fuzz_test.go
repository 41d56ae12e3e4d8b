package avro_test

import (
	"encoding/hex"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode"

	"sluice/columns"
	"sluice/decode/avro"
	"sluice/decode/malformed"
	"sluice/lakesink/rowtest"
)

// compare holds the parser against the oracle: value between two good ones, so that what a malformed value leaves behind
// shows.
func compare(t *testing.T, p *avro.Parser, o *oracle, good, value []byte) {
	t.Helper()
	to := p.Schema()
	dst := columns.Make(to)
	goodRow, err := o.row(to, good)
	if err != nil {
		t.Fatalf("%s: the oracle does not read %x", o.schema, good)
	}
	want := []any{goodRow}
	row, oracleErr := o.row(to, value)
	if oracleErr == nil {
		want = append(want, row)
	}
	want = append(want, goodRow)
	for k, record := range [][]byte{good, value, good} {
		err := p.Append(dst, record)
		var bad *malformed.Error
		if err != nil && (!errors.As(err, &bad) || bad.Reason == "" || bad.Position < 0 || bad.Position > len(record) || bad.Detail == "") {
			t.Fatalf("%s: %x: got error %#v", o.schema, record, err)
		}
		if err != nil && strings.IndexFunc(err.Error(), func(r rune) bool { return !unicode.IsPrint(r) }) >= 0 {
			t.Fatalf("%s: %x: the error is not safe to print: %q", o.schema, record, err)
		}
		if k != 1 {
			continue
		}
		if errors.Is(oracleErr, errEndless) || bad != nil && bad.Reason == malformed.Size {
			return
		}
		if (err == nil) != (oracleErr == nil) {
			t.Fatalf("%s\ninto %s\n%x: got %v, want %v", o.schema, columnsText(to), record, err, oracleErr)
		}
	}
	for i := range to {
		if err := rowtest.Sound(&dst[i], &to[i].Type, len(want), to[i].Name); err != nil {
			t.Fatalf("%s: %x: %v", o.schema, value, err)
		}
	}
	if got := values(p, dst); got != rowtest.Text(want) {
		t.Fatalf("%s\ninto %s\n%x: got %s\nwant %s", o.schema, columnsText(to), value, got, rowtest.Text(want))
	}
}

// Whatever the schema, the columns that it is read into and the bytes, parser and oracle agree.
func TestRandomSchemasAndBytesAreReadAsTheOracleDoes(t *testing.T) {
	rows, refused := 0, 0
	for seed := range uint64(400) {
		m := &maker{rng: rand.New(rand.NewPCG(seed, 12))}
		o := newOracle(schemaText(m.record(3)))
		writer := mustParse(t, o.schema)
		to, err := writer.Columns()
		if err != nil {
			continue // such as a record of nulls alone
		}
		if m.rng.IntN(3) > 0 {
			to = m.loosen(to, true)
		}
		p, err := avro.Compile(writer, to, avro.Options{})
		if err != nil {
			refused++
			continue
		}
		good := []byte(nil)
		for range 20 {
			if good = m.encode(nil, o, o.tree); accepted(o, to, good) {
				break
			}
		}
		if !accepted(o, to, good) {
			continue
		}
		for range 12 {
			value := m.encode(nil, o, o.tree)
			compare(t, p, o, good, value)
			compare(t, p, o, good, m.spoil(value))
			rows++
		}
	}
	if rows < 2000 || refused < 20 || refused > 200 {
		t.Errorf("got %d rows, and %d schemas that columns do not fit", rows, refused)
	}
}

func accepted(o *oracle, to columns.Schema, value []byte) bool {
	_, err := o.row(to, value)
	return err == nil
}

// everything has each type, also where the table has it not, and each kind of union.
const everything = `{"type":"record","name":"R","fields":[
	{"name":"b","type":"boolean"},{"name":"i","type":"int"},{"name":"l","type":["null","long"]},{"name":"w","type":"int"},{"name":"f","type":"float"},
	{"name":"d","type":["double","null"]},{"name":"y","type":"bytes"},{"name":"s","type":"string"},{"name":"x","type":{"type":"fixed","name":"F","size":2}},
	{"name":"e","type":{"type":"enum","name":"E","symbols":["A","B"]}},{"name":"n","type":{"type":"array","items":["null","int"]}},
	{"name":"m","type":{"type":"map","values":"string"}},{"name":"o","type":["null",{"type":"record","name":"O","fields":[{"name":"p","type":"int"},{"name":"q","type":["null","string"]}]}]},
	{"name":"u","type":["string","null","int","O"]},{"name":"v","type":["int","long"]},{"name":"z","type":"null"},
	{"name":"c","type":{"type":"bytes","logicalType":"decimal","precision":9,"scale":2}},
	{"name":"k","type":{"type":"fixed","name":"K","size":16,"logicalType":"decimal","precision":38,"scale":9}},
	{"name":"t","type":{"type":"int","logicalType":"date"}},{"name":"a","type":{"type":"int","logicalType":"time-millis"}},
	{"name":"g","type":{"type":"long","logicalType":"timestamp-millis"}},{"name":"h","type":{"type":"long","logicalType":"local-timestamp-nanos"}},
	{"name":"j","type":{"type":"string","logicalType":"uuid"}},
	{"name":"skip","type":{"type":"array","items":["E","O","string","null",{"type":"map","values":["double","F"]}]}},
	{"name":"nulls","type":{"type":"array","items":"null"}},
	{"name":"r","type":{"type":"array","items":{"type":"record","name":"I","fields":[{"name":"sku","type":"string"},{"name":"gone","type":"F"},{"name":"qty","type":["null","int"]}]}}}]}`

const everyColumn = `b BOOLEAN, i INT, l BIGINT, w DOUBLE, f FLOAT, d DOUBLE, y BINARY, s STRING, x FIXED(2), e STRING, n ARRAY<BIGINT>, m MAP<STRING, BINARY>,
	o STRUCT<p: INT, q: STRING>, u STRUCT<member0: STRING, member1: INT, member2: STRUCT<p: INT NOT NULL>>, v BIGINT, z DATE, c DECIMAL(9,2), k DECIMAL(38,9), t DATE, a TIME,
	g TIMESTAMP, h TIMESTAMP_NTZ, j UUID, nulls ARRAY<INT>, r ARRAY<STRUCT<qty: INT, sku: STRING NOT NULL, more: STRING>>, more MAP<STRING, INT>`

// goodValue is a row of everything.
const goodValue = "01 05 02 8280808080808020 08 0000c03f 00 9a9999999999b93f 04 00ff 06 61c3a9 beef 02 06 00 0204 00 00 02 026b 0276 00 02 06 02 0271 06 04 00 02 01" +
	"04 0080 ffffffffffffffffffffffffffffff9c 01 f8bbc603 dcfdeed4ef66 d00f 48 66383164346661652d376465632d313164302d613736352d303061306339316536626636" +
	"06 0002 040271 08 02 026b 00 0000000000000000 00 00 04 00 03 18 046162 beef 0212 0278 dead 00 00"

// seeds are pieces that break a value: each takes the place of the bytes at each position.
var seeds = []string{"", "01", "80", "ff", "ffffffffff", "80808080808080808001", "ffffffffffffffffff01", "fffffffffffffffffff0", "00", "0300", "0480808080", "eda080", "02", "7f", "81808080808080808001"}

func TestTheOracleAgreesOnEverySeedAtEveryByte(t *testing.T) {
	p := mustCompile(t, everything, everyColumn, avro.Options{})
	good := b(t, goodValue)
	o := newOracle(everything)
	if !accepted(o, p.Schema(), good) {
		t.Fatal("the value is not a good one")
	}
	for at := range good {
		for _, piece := range seeds {
			value := append(append(append([]byte{}, good[:at]...), b(t, piece)...), good[min(at+1, len(good)):]...)
			compare(t, p, o, good, value)
			compare(t, p, o, good, value[:at])
		}
	}
}

func FuzzAppend(f *testing.F) {
	good := b(f, goodValue)
	f.Add(good)
	for at := 0; at < len(good); at += 7 {
		for _, piece := range seeds {
			f.Add(append(append(append([]byte{}, good[:at]...), b(f, piece)...), good[at+1:]...))
		}
	}
	p := mustCompile(f, everything, everyColumn, avro.Options{})
	o := newOracle(everything)
	f.Fuzz(func(t *testing.T, value []byte) { compare(t, p, o, good, value) })
}

// FuzzParse takes any text for a schema, and any bytes for a value of it.
func FuzzParse(f *testing.F) {
	for _, text := range []string{everything, `"int"`, `["null","string"]`, record(field("a", `["null","R"]`)), `{"type":"array","items":{"type":"map","values":"R"}}`, `{"type":{"type":"int"}}`} {
		f.Add(text, b(f, goodValue))
	}
	f.Fuzz(func(t *testing.T, text string, value []byte) {
		s, err := avro.Parse(text)
		if err != nil {
			return
		}
		typ, required, err := s.Type()
		if err != nil {
			typ = columns.Type{Kind: columns.Struct, Fields: []columns.Field{{Name: "a", Type: columns.Type{Kind: columns.Int64}}}}
		}
		p, err := avro.CompileValue(s, columns.Field{Name: "v", Type: typ, Required: required}, avro.Options{})
		if err != nil {
			return
		}
		dst := columns.Make(p.Schema())
		var bad *malformed.Error
		if err := p.Append(dst, value); err != nil && !errors.As(err, &bad) {
			t.Fatalf("%s: %s: got %v", text, hex.EncodeToString(value), err)
		}
		if err := rowtest.Sound(&dst[0], &typ, dst[0].Len, "v"); err != nil {
			t.Fatalf("%s: %s: %v", text, hex.EncodeToString(value), err)
		}
	})
}
