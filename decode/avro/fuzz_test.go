package avro_test

import (
	"errors"
	"math/rand/v2"
	"testing"
	"unicode"

	"strings"

	"sluice/columns"
	"sluice/decode/avro"
	"sluice/decode/malformed"
	"sluice/lakesink/rowtest"
)

// compare holds the parser against the oracle: value between two good ones, so that what a malformed value leaves behind
// shows.
func compare(t *testing.T, p *avro.Parser, schema string, good, value []byte) {
	t.Helper()
	to := p.Schema()
	dst := columns.Make(to)
	goodRow, err := oracleRow(schema, to, good)
	if err != nil {
		t.Fatalf("%s: the oracle does not read %x", schema, good)
	}
	want := []any{goodRow}
	row, oracleErr := oracleRow(schema, to, value)
	if oracleErr == nil {
		want = append(want, row)
	}
	want = append(want, goodRow)
	for k, record := range [][]byte{good, value, good} {
		err := p.Append(dst, record)
		var bad *malformed.Error
		if err != nil && (!errors.As(err, &bad) || bad.Reason == "" || bad.Position < 0 || bad.Position > len(record) || bad.Detail == "") {
			t.Fatalf("%s: %x: got error %#v", schema, record, err)
		}
		if err != nil && strings.IndexFunc(err.Error(), func(r rune) bool { return !unicode.IsPrint(r) }) >= 0 {
			t.Fatalf("%s: %x: the error is not safe to print: %q", schema, record, err)
		}
		if k != 1 {
			continue
		}
		if errors.Is(oracleErr, errEndless) || bad != nil && bad.Reason == malformed.Size {
			return
		}
		if (err == nil) != (oracleErr == nil) {
			t.Fatalf("%s\ninto %s\n%x: got %v, want %v", schema, columnsText(to), record, err, oracleErr)
		}
	}
	for i := range to {
		if err := sound(&dst[i], &to[i].Type, len(want), to[i].Name); err != nil {
			t.Fatalf("%s: %x: %v", schema, value, err)
		}
	}
	if got := values(p, dst); got != rowtest.Text(want) {
		t.Fatalf("%s\ninto %s\n%x: got %s\nwant %s", schema, columnsText(to), value, got, rowtest.Text(want))
	}
}

// Whatever the schema, the columns that it is read into and the bytes, parser and oracle agree.
func TestRandomSchemasAndBytesAreReadAsTheOracleDoes(t *testing.T) {
	rows, refused := 0, 0
	for seed := range uint64(1500) {
		m := &maker{rng: rand.New(rand.NewPCG(seed, 12))}
		schema := schemaText(m.record(3))
		tree := generic(schema)
		o := &oracle{names: map[string]any{}}
		o.define(tree)
		writer := mustParse(t, schema)
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
			if good = m.encode(nil, o, tree); accepted(schema, to, good) {
				break
			}
		}
		if !accepted(schema, to, good) {
			continue
		}
		for range 12 {
			value := m.encode(nil, o, tree)
			compare(t, p, schema, good, value)
			compare(t, p, schema, good, m.spoil(value))
			rows++
		}
	}
	if rows < 5000 || refused < 50 || refused > 900 {
		t.Errorf("got %d rows, and %d schemas that columns do not fit", rows, refused)
	}
}

func accepted(schema string, to columns.Schema, value []byte) bool {
	_, err := oracleRow(schema, to, value)
	return err == nil
}
