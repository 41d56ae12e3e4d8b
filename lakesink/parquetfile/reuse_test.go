package parquetfile

import (
	"bytes"
	"io"
	"math/rand/v2"
	"testing"

	"sluice/columns"
)

func TestAReusedWriterWritesWhatANewOneDoes(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 5))
	first, second := []*columns.Batch{rawBatch(rng, 0), rawBatch(rng, benchRows)}, []*columns.Batch{rawBatch(rng, 5*benchRows)}
	options := Options{CreatedBy: "one version 1.0.0 (build x)", Metadata: map[string]string{"task": "0"}, RowGroupBytes: 300 << 10}
	w, err := NewWriter(rawFields(), options)
	if err != nil {
		t.Fatal(err)
	}
	append1 := func(b *columns.Batch) {
		for from := 0; from < b.Rows; {
			if from, err = w.Append(b, from); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := w.Begin(io.Discard); err != nil {
		t.Fatal(err)
	}
	for _, b := range first {
		append1(b)
	}
	if _, err := w.Close(); err != nil {
		t.Fatal(err)
	}
	options.CreatedBy, options.Metadata = "two version 1.0.0 (build y)", map[string]string{"task": "1"}
	if !w.Reuse(rawFields(), options) {
		t.Fatal("the writer refuses the same fields and settings")
	}
	var got bytes.Buffer
	if err := w.Begin(&got); err != nil {
		t.Fatal(err)
	}
	append1(second[0])
	if _, err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if want, _ := write(t, rawFields(), options, second...); !bytes.Equal(got.Bytes(), want) {
		t.Errorf("got another file of %d bytes than the %d of a new writer", got.Len(), len(want))
	}
}

func TestAWriterIsNotReusedForOtherFiles(t *testing.T) {
	w, err := NewWriter(rawFields(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	other := rawFields()
	other[1].ID = 9
	for name, c := range map[string]struct {
		fields  []Field
		options Options
	}{
		"a field id":   {other, Options{}},
		"fewer fields": {rawFields()[1:], Options{}},
		"the codec":    {rawFields(), Options{Codec: Snappy}},
		"row groups":   {rawFields(), Options{RowGroupBytes: 1 << 20}},
		"the memory":   {rawFields(), Options{MemoryBytes: 1 << 20}},
	} {
		if w.Reuse(c.fields, c.options) {
			t.Errorf("%s differs, and the writer is reused", name)
		}
	}
	if !w.Reuse(rawFields(), Options{RowGroupBytes: 128 << 20, CreatedBy: "x version 1.0.0 (build y)"}) {
		t.Error("a default that is spelled out keeps the writer from being reused")
	}
}
