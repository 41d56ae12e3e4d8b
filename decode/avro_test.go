package decode_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"sluice/batch"
	"sluice/columns"
	"sluice/decode"
	"sluice/decode/malformed"
	"sluice/decode/registry"
	"sluice/lakesink/rowtest"
)

// The schemas of a topic of orders, as producers changed them.
const (
	ordersV1 = `{"type":"record","name":"Order","fields":[{"name":"id","type":"long"},{"name":"name","type":"string"}]}`
	ordersV2 = `{"type":"record","name":"Order","fields":[{"name":"id","type":"int"},{"name":"tag","type":["null","string"],"default":null},{"name":"name","type":"string"}]}`
	ordersV3 = `{"type":"record","name":"Order","fields":[{"name":"id","type":"string"},{"name":"name","type":"string"}]}`
	ordersV4 = `{"type":"record","name":"Order","fields":[{"name":"name","type":"string"}]}`
)

// datum is Avro: integers as zigzag varints, text with its length before it.
func datum(values ...any) []byte {
	var out []byte
	for _, v := range values {
		switch v := v.(type) {
		case int:
			out = binary.AppendVarint(out, int64(v))
		case string:
			out = append(binary.AppendVarint(out, int64(len(v))), v...)
		}
	}
	return out
}

// framedBy puts the id of a schema before a value.
func framedBy(id uint32, value []byte) string {
	return string(append(binary.BigEndian.AppendUint32([]byte{0}, id), value...))
}

// avroValue is the settings of Avro with a local schema.
func avroValue(schema, ddl string) batch.Value {
	return decode.Derive(batch.Value{Format: "avro", Schema: ddl, Written: batch.Written{Text: schema}, OnMalformed: "fail", OnTombstone: "keep", OnUnknownField: "ignore"})
}

// registered is a registry in memory that counts what it is asked.
type registered struct {
	schemas map[registry.ID]*registry.Schema
	asked   []registry.ID
	// down, if not nil, is its answer.
	down error
}

func registryOf(texts ...string) *registered {
	r := &registered{schemas: map[registry.ID]*registry.Schema{}}
	for i, text := range texts {
		id := registry.Number(int32(i + 1))
		r.schemas[id] = &registry.Schema{ID: id, Type: registry.Avro, Text: text}
	}
	return r
}

func (r *registered) schema(id registry.ID) (*registry.Schema, error) {
	r.asked = append(r.asked, id)
	if r.down != nil {
		return nil, r.down
	}
	if s := r.schemas[id]; s != nil {
		return s, nil
	}
	return nil, &batch.Fault{Class: batch.NotSetUp, Message: "the registry has no schema " + id.String(), Err: registry.ErrNotFound}
}

func (r *registered) decoder(t *testing.T, v batch.Value) decode.Decoder {
	t.Helper()
	d, err := decode.Maker{Schemas: r.schema}.New(v, false)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// rowsOf decodes records and renders the columns of the schema, with what was nulled.
func rowsOf(t *testing.T, d decode.Decoder, records *columns.Records) string {
	t.Helper()
	rows, err := d.Decode(records)
	if err != nil {
		t.Fatal(err)
	}
	at := slices.IndexFunc(d.Schema(), func(f columns.Field) bool { return f.Name == "kafka_key" })
	var all []string
	for i := range rows.Rows {
		all = append(all, rowtest.ShownRow(d.Schema()[:at], rows.Columns, i))
	}
	return fmt.Sprintf("%s %d", strings.Join(all, " "), rows.Nulled)
}

func TestAvroWithALocalSchema(t *testing.T) {
	v := avroValue(ordersV1, "")
	if want := "id BIGINT NOT NULL,\nname STRING NOT NULL"; v.Schema != want || v.Written.Text != ordersV1 {
		t.Errorf("got %q and %q, want %q and the schema", v.Schema, v.Written.Text, want)
	}
	d, err := decode.New(v, false)
	if err != nil {
		t.Fatal(err)
	}
	records := topic(string(datum(9007199254740993, "größe")), string(datum(-1, "")))
	if got, want := rowsOf(t, d, records), `{id: 9007199254740993, name: "größe"} {id: -1, name: ""} 0`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	_, err = d.Decode(topic(string(datum(1, "a")) + "x"))
	if batch.ClassOf(err) != batch.BadRecords || !strings.Contains(err.Error(), "orders-3 at offset 10") {
		t.Errorf("got %v", err)
	}
	// The columns are the job's where it says which.
	d, err = decode.New(avroValue(ordersV1, "name STRING, more INT"), false)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := rowsOf(t, d, records), `{name: "größe", more: null} {name: "", more: null} 0`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestProblemsOfWrittenSchemasAreFoundWhereTheyAre(t *testing.T) {
	strict := avroValue(ordersV1, "id BIGINT")
	strict.OnUnknownField = "fail"
	framed := avroValue("", "")
	framed.Framing = batch.ConfluentFraming
	other := framed
	other.Framing = "glue"
	proto := batch.Value{Format: "protobuf", Written: batch.Written{Text: "syntax = \"proto3\"; message A { int32 a = 1; } message B { int32 b = 1; }"}, OnMalformed: "fail", OnTombstone: "keep", OnUnknownField: "ignore"}
	unknown := proto
	unknown.Written.Message = "C"
	broken := proto
	broken.Written = batch.Written{Set: []byte{1, 2, 3}}
	for name, c := range map[string]struct {
		value batch.Value
		want  string
	}{
		"no Avro":                         {avroValue(`{"type":"recrd"}`, ""), "value.schemaFile"},
		"no record":                       {avroValue(`"string"`, ""), "value.schemaFile: "},
		"a column of another type":        {avroValue(ordersV1, "name BIGINT"), "value.schema: "},
		"a column that has no value":      {avroValue(ordersV1, "more INT NOT NULL"), "value.schema: "},
		"every record has unknown fields": {strict, "value.onUnknownField: the schema that the record was written with has fields that the columns have not: name"},
		"a framing of later":              {other, `value.framing: this version of sluice has no framing "glue"`},
		"several messages":                {proto, "value.message: the schema has several messages at its top, A, B: say which one it is"},
		"no such message":                 {unknown, "value.message: there is no message C"},
		"no descriptor set":               {broken, "value.schemaFile: "},
		"a name that is taken":            {avroValue(`{"type":"record","name":"R","fields":[{"name":"kafka_offset","type":"long"}]}`, ""), "value.schema: the schema has a column kafka_offset"},
	} {
		problems := decode.Problems(c.value)
		if len(problems) != 1 || !strings.HasPrefix(problems[0].Error(), c.want) {
			t.Errorf("%s: got %v, want %s", name, problems, c.want)
		}
	}
	if problems := decode.Problems(framed); problems != nil {
		t.Errorf("got %v of columns that the registry has", problems)
	}
	if _, err := decode.New(framed, false); err == nil || !strings.Contains(err.Error(), "newest schema in the registry") {
		t.Errorf("got %v of columns that nobody asked for", err)
	}
}

func framedValue(ddl string) batch.Value {
	return batch.Value{Format: "avro", Schema: ddl, Framing: batch.ConfluentFraming, OnMalformed: "null", OnTombstone: "keep", OnUnknownField: "ignore"}
}

func TestEachRecordIsReadWithTheSchemaThatItWasWrittenWith(t *testing.T) {
	r := registryOf(ordersV1, ordersV2)
	d := r.decoder(t, framedValue("id BIGINT, name STRING, tag STRING"))
	records := topic(framedBy(1, datum(1, "a")), framedBy(2, datum(2, 1, "t", "b")), none, framedBy(1, datum(3, "c")), framedBy(2, datum(4, 0, "d")))
	want := `{id: 1, name: "a", tag: null} {id: 2, name: "b", tag: "t"} {id: null, name: null, tag: null} {id: 3, name: "c", tag: null} {id: 4, name: "d", tag: null} 0`
	for range 2 {
		if got := rowsOf(t, d, records); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	if len(r.asked) != 2 {
		t.Errorf("got asked for %v, want each once", r.asked)
	}
	once := func() {
		if _, err := d.Decode(records); err != nil {
			t.Fatal(err)
		}
	}
	if got := testing.AllocsPerRun(100, once); got != 0 {
		t.Errorf("got %v allocations", got)
	}
}

func TestWhatCannotBeReadIntoTheColumnsIsMalformed(t *testing.T) {
	r := registryOf(ordersV1, ordersV2, ordersV3, ordersV4, `{"type":"recrd"}`)
	r.schemas[registry.Number(6)] = &registry.Schema{ID: registry.Number(6), Type: registry.JSON, Text: `{}`}
	strict := framedValue("id BIGINT NOT NULL, name STRING")
	strict.OnUnknownField, strict.OnMalformed = "fail", "fail"
	d := r.decoder(t, strict)
	for name, c := range map[string]struct {
		value  string
		reason malformed.Reason
		want   string
	}{
		"no framing":          {`{"id":1}`, malformed.Framing, "plain JSON"},
		"no bytes":            {``, malformed.Empty, ""},
		"an unknown field":    {framedBy(2, datum(1, 0, "a")), malformed.Unknown, "tag"},
		"another type":        {framedBy(3, datum("1", "a")), malformed.Schema, "schema 3"},
		"a missing column":    {framedBy(4, datum("a")), malformed.Schema, "schema 4"},
		"no Avro at all":      {framedBy(5, datum("a")), malformed.Schema, "schema 5"},
		"of another format":   {framedBy(6, []byte(`{}`)), malformed.Schema, "of type JSON, and not AVRO"},
		"bytes that are left": {framedBy(1, datum(1, "a", 7)), malformed.Syntax, ""},
	} {
		for range 2 {
			_, err := d.Decode(topic(framedBy(1, datum(1, "a")), c.value))
			var why *malformed.Error
			if !errors.As(err, &why) || why.Reason != c.reason || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "orders-3 at offset 12") {
				t.Errorf("%s: got %v, want %s, %s", name, err, c.reason, c.want)
			}
			if c.reason == malformed.Syntax && why.Position < 5 {
				t.Errorf("%s: got %v, which counts from behind the id", name, why)
			}
		}
	}
}

// The registry may be wrong, or asked for by the wrong name, and the record right.
func TestASchemaThatTheRegistryDoesNotSayEndsTheBatch(t *testing.T) {
	r := registryOf(ordersV1)
	d := r.decoder(t, framedValue("id BIGINT"))
	_, err := d.Decode(topic(framedBy(1, datum(1, "a")), framedBy(9, datum(1, "a"))))
	if batch.ClassOf(err) != batch.NotSetUp || !errors.Is(err, registry.ErrNotFound) || !strings.Contains(err.Error(), "orders-3 at offset 12: schema 9") {
		t.Errorf("got %v", err)
	}
	r.schemas[registry.Number(9)] = r.schemas[registry.Number(1)]
	if got := rowsOf(t, d, topic(framedBy(9, datum(1, "a")))); got != "{id: 1} 0" {
		t.Errorf("got %s after it was registered", got)
	}
	d, err = decode.New(framedValue("id BIGINT"), false)
	if err != nil {
		t.Fatal(err)
	}
	if _, err = d.Decode(topic(framedBy(1, datum(1, "a")))); batch.ClassOf(err) != batch.NotSetUp || !strings.Contains(batch.HintOf(err), "schemaRegistry.url") {
		t.Errorf("got %v without a registry", err)
	}
}

// Where the bytes of a record are kept, one whose id means nothing holds up nothing: garbage may look like an id.
func TestASchemaThatTheRegistryDoesNotKnowMakesADeadLetter(t *testing.T) {
	r := registryOf(ordersV1)
	v := framedValue("id BIGINT NOT NULL")
	v.OnMalformed, v.DeadLetters = batch.DeadLetterPolicy, "ops.dead"
	d := r.decoder(t, v)
	rows, err := d.Decode(topic(framedBy(1, datum(1, "a")), framedBy(9, datum(2, "b")), framedBy(1, datum(3, "c"))))
	if err != nil || rows.Rows != 2 || rows.Rejected == nil || rows.Rejected.Rows != 1 || rows.Reasons[string(malformed.Schema)] != 1 {
		t.Fatalf("got %+v, %v, want two rows and a dead letter", rows, err)
	}
	r.schemas[registry.Number(9)] = r.schemas[registry.Number(1)]
	if rows, err = d.Decode(topic(framedBy(9, datum(2, "b")))); err != nil || rows.Rows != 1 {
		t.Errorf("got %+v, %v after it was registered", rows, err)
	}
	r.down = errors.New("connection refused")
	if _, err = d.Decode(topic(framedBy(10, datum(2, "b")))); !errors.Is(err, r.down) {
		t.Errorf("got %v of a registry that does not answer, want its error", err)
	}
}

// https://docs.confluent.io/platform/current/schema-registry/fundamentals/serdes-develop/index.html
func TestIDsMayBeInHeaders(t *testing.T) {
	r := registryOf(ordersV1, ordersV2)
	guid := [16]byte{1, 2, 3}
	r.schemas[registry.GUID(guid)] = r.schemas[registry.Number(1)]
	v := framedValue("id BIGINT, name STRING")
	v.Key = batch.Key{Format: "avro", Type: "BIGINT", Framing: batch.ConfluentFraming}
	r.schemas[registry.Number(3)] = &registry.Schema{Type: registry.Avro, Text: `"long"`}
	d := r.decoder(t, v)
	records := topic(string(datum(1, "a")), framedBy(2, datum(2, 0, "b")), string(datum(3, "c")))
	records.Key.Reset()
	for _, k := range []string{framedBy(3, datum(7)), string(datum(8)), framedBy(3, datum(9))} {
		records.Key.AppendBytes([]byte(k))
	}
	records.Headers.Reset()
	pairs := &records.Headers.Children[0]
	header := func(name string, value []byte) {
		pairs.Children[0].AppendBytes([]byte(name))
		if value == nil {
			pairs.Children[1].AppendNullBytes()
		} else {
			pairs.Children[1].AppendBytes(value)
		}
		pairs.AppendStruct()
	}
	header(registry.ValueHeader, []byte(framedBy(2, nil)))
	header(registry.ValueHeader, []byte(framedBy(1, nil))) // the last counts
	header(registry.ValueHeader, nil)                      // and null does not
	records.Headers.AppendSpan()
	header(registry.KeyHeader, []byte(framedBy(3, nil)))
	records.Headers.AppendSpan()
	header(registry.ValueHeader, append([]byte{1}, guid[:]...))
	records.Headers.AppendSpan()
	if got, want := rowsOf(t, d, records), `{id: 1, name: "a"} {id: 2, name: "b"} {id: 3, name: "c"} 0`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got, _ := keysOfDecoder(t, d, records); strings.Join(got, ", ") != "7, 8, 9" {
		t.Errorf("got keys %s", got)
	}
	records.Headers.Reset()
	if _, err := d.Decode(records); err == nil {
		t.Error("records without the headers that ids may be in were decoded")
	}
}

func TestKeysOfAvro(t *testing.T) {
	r := registryOf(`"string"`, `{"type":"record","name":"K","fields":[{"name":"id","type":"long"}]}`, `["null","string"]`)
	for _, c := range []struct {
		typ  string
		keys []string
		want string
	}{
		{"STRING", []string{framedBy(1, datum("a")), none, framedBy(3, datum(1, "b")), framedBy(3, datum(0))}, `"a", null, "b", null`},
		{"STRUCT<id: BIGINT>", []string{framedBy(2, datum(5)), none}, `{id: 5}, null`},
	} {
		v := jsonValue("a INT")
		v.Key = batch.Key{Format: "avro", Type: c.typ, Framing: batch.ConfluentFraming}
		if got, rows := keysOfDecoder(t, r.decoder(t, v), keyed(`{"a":1}`, c.keys...)); strings.Join(got, ", ") != c.want || rows.Nulled != 0 {
			t.Errorf("got %s, want %s", got, c.want)
		}
		_, err := r.decoder(t, v).Decode(keyed(`{"a":1}`, "x"))
		if err == nil || !strings.Contains(err.Error(), "kafka_key: ") || !strings.Contains(err.Error(), "(framing") {
			t.Errorf("got %v", err)
		}
	}
	v := jsonValue("a INT")
	v.Key = batch.Key{Format: "avro", Written: batch.Written{Text: `"long"`}}
	if v = decode.Derive(v); v.Key.Type != "BIGINT" {
		t.Errorf("got %q", v.Key.Type)
	}
	if got, _ := keysOf(t, v, keyed(`{"a":1}`, string(datum(-3)))); got[0] != "-3" {
		t.Errorf("got %s", got)
	}
}

func TestJSONBehindAnIDNeedsNoRegistry(t *testing.T) {
	v := jsonValue("a INT")
	v.Framing = batch.ConfluentFraming
	d, err := decode.New(v, false)
	if err != nil {
		t.Fatal(err)
	}
	if got := rowsOf(t, d, topic(framedBy(7, []byte(`{"a":1}`)))); got != "{a: 1} 0" {
		t.Errorf("got %s", got)
	}
	_, err = d.Decode(topic(framedBy(7, []byte(`{"a":"x"}`))))
	var why *malformed.Error
	if !errors.As(err, &why) || why.Reason != malformed.WrongType || why.Position != 10 {
		t.Errorf("got %v", err)
	}
	if _, err = d.Decode(topic(`{"a":1}`)); !errors.As(err, &why) || why.Reason != malformed.Framing {
		t.Errorf("got %v", err)
	}
}
