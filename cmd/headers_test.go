package cmd_test

import (
	"net/url"
	"os"
	"path/filepath"
	"testing"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"
	"github.com/twmb/franz-go/pkg/kgo"
)

// withoutData does something while the table takes no data file: a file is where their folder should be.
func (p *pipeline) withoutData(t *testing.T, do func()) {
	t.Helper()
	location, err := url.Parse(p.table(t).Location())
	if err != nil {
		t.Fatal(err)
	}
	data, aside := filepath.Join(location.Path, "data"), filepath.Join(location.Path, "aside")
	was := os.Rename(data, aside)
	if err := os.WriteFile(data, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	do()
	err = os.Remove(data)
	if was == nil && err == nil {
		err = os.Rename(aside, data)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// source.includeHeaders takes effect with the next batch: an open plan is finished with the columns that it was made
// for, both ways, and the table may get its column at any time after it.
func TestHeadersBeginWithTheNextBatch(t *testing.T) {
	t.Parallel()
	k := embedded(t, "orders")
	p := newPipeline(t, k)
	with := p.with("--set", "source.includeHeaders=true")
	var want []*kgo.Record
	arrive := func(value string, headers bool) {
		k.produce(t, &kgo.Record{Topic: "orders", Value: []byte(value), Headers: []kgo.RecordHeader{{Key: "trace", Value: []byte(value)}}})
		r := *k.produced[len(k.produced)-1]
		if !headers {
			r.Headers = nil
		}
		want = append(want, &r)
	}

	p.run(t)
	arrive("a", false)
	p.withoutData(t, func() { p.do(t, "run").wants(10) })
	arrive("b", true)
	with.do(t, "plan").wants(0).has("plan", "action", "replay", "batch", 0)
	with.do(t, "run").fails(13, "headers").has("summary", "batches", 1, "lastBatch", 0)
	wantRows(t, p.table(t), want[:1], false)

	p.change(t, func(tx *table.Transaction) error {
		pair := &iceberg.StructType{FieldList: []iceberg.NestedField{
			{ID: 1, Name: "key", Type: iceberg.PrimitiveTypes.String, Required: true}, {ID: 2, Name: "value", Type: iceberg.PrimitiveTypes.Binary}}}
		return tx.UpdateSchema(true, false).AddColumn([]string{"headers"}, &iceberg.ListType{ElementID: 3, Element: pair, ElementRequired: true}, "", false, nil).Commit()
	})
	with.run(t).has("summary", "firstBatch", 1, "records", 1)
	wantRows(t, p.table(t), want, true)

	arrive("c", true)
	p.withoutData(t, func() { with.do(t, "run").wants(10) })
	arrive("d", false)
	p.run(t).has("summary", "firstBatch", 2, "lastBatch", 3)
	wantRows(t, p.table(t), want, true)
	p.do(t, "verify", "--source").wants(0).has("verify", "verdict", "proved", "rows", 4)
}
