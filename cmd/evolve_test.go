package cmd_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/catalog"
	"github.com/apache/iceberg-go/table"

	"sluice/lakesink"
)

// The life of a job whose records change: what peek and plan show before, what the run says, and what is in the table.
func TestATableGrowsWithItsRecordsAndItsJob(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"sql", "hadoop"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			k := embedded(t, "orders")
			p := typed(t, k, "order_id BIGINT NOT NULL, address STRUCT<city: STRING>").with("--catalog-type", kind)
			k.say(t, `{"order_id":1,"address":{"city":"Köln"}}`, `{"order_id":2,"nöw":null,"lines":[{"sku":"a"},{"sku":"b","qty":2}],"address":{"zip":"50667"}}`)
			o := p.do(t, "peek", "--topic").wants(0)
			if got := fmt.Sprint(o.last("peek")["unknown"]); got != "[map[name:lines sqlType:ARRAY<STRUCT<sku: STRING, qty: BIGINT>>] map[name:address.zip sqlType:STRING]]" {
				t.Errorf("peek shows %s", got)
			}
			p.run(t).has("summary", "rows", 2) // ignored, which is the default
			if got := len(columnsOf(p.schema(t))); got != 7 {
				t.Errorf("the table has %d columns", got)
			}

			grows := p.with("--set", "value.onUnknownField=addColumn")
			k.say(t, `{"order_id":3,"lines":[{"sku":"c"}],"address":{"zip":"50668"},"nöw":1.5}`)
			o = grows.run(t).has("batch", "sluice.rows", 1)
			if got, want := fmt.Sprint(o.last("batch")["sluice"].(map[string]any)["altered"]), "[add address.zip string add lines list<struct<sku: string>> add nöw double]"; got != want {
				t.Errorf("the batch says %s, want %s", got, want)
			}
			if !strings.Contains(o.stderr, "the table was altered") || !strings.Contains(o.stderr, "add address.zip string") {
				t.Errorf("the log does not tell:\n%s", o.stderr)
			}
			k.say(t, `{"order_id":4,"lines":[{"qty":4}],"nöw":2}`)
			grows.do(t, "plan").wants(0).has("plan", "batch", 2)
			grows.run(t).has("summary", "rows", 1)
			grows.wantsShown(t, []string{"order_id", "address", "lines", "nöw"},
				`1 {"city":"Köln","zip":null} null null`, `2 {"city":null,"zip":null} null null`, `3 {"city":null,"zip":"50668"} [{"qty":null,"sku":"c"}] 1.5`, `4 null [{"qty":4,"sku":null}] 2`)
			grows.proves(t, "proved", 4)

			// The job itself is changed: the plan shows what would be altered, and does not alter it.
			wider := grows.with("--value-schema", "order_id BIGINT, address STRUCT<city: STRING>, total DECIMAL(18,2) COMMENT 'with tax'")
			k.say(t, `{"order_id":5,"total":1.50}`)
			before := p.schema(t).ID
			o = wider.do(t, "plan").wants(0)
			if got, want := fmt.Sprint(o.last("plan")["changes"]), "[make order_id optional add total decimal(18,2)]"; got != want {
				t.Errorf("the plan says %s, want %s", got, want)
			}
			if text := wider.text(t, "plan").stdout; !strings.Contains(text, "The table is altered first:\n  make order_id optional\n  add total decimal(18,2)\n") {
				t.Errorf("got\n%s", text)
			}
			wider.do(t, "validate").wants(0)
			if after := p.schema(t).ID; after != before {
				t.Errorf("looking has altered the table: schema %d, then %d", before, after)
			}
			wider.run(t).has("summary", "rows", 1)
			if f, _ := p.schema(t).FindFieldByName("total"); f.Doc != "with tax" || f.Required {
				t.Errorf("got %+v", f)
			}
			wider.proves(t, "proved", 5)
			if o := wider.do(t, "plan").wants(0).last("plan"); o["changes"] != nil {
				t.Errorf("the plan says %v", o["changes"])
			}
		})
	}
}

// Without the setting the table stays as it is, and the error names the setting.
func TestATableIsAlteredOnlyWhereThatIsWanted(t *testing.T) {
	t.Parallel()
	k := embedded(t, "orders")
	p := typed(t, k, "order_id BIGINT")
	k.say(t, `{"order_id":1}`)
	p.run(t)
	k.say(t, `{"order_id":2,"note":"x"}`)
	p.with("--value-schema", "order_id BIGINT, note STRING").do(t, "run").fails(13, "the table has no column note (string)", "value.onUnknownField addColumn")
	narrower := p.with("--value-schema", "order_id STRING", "--set", "value.onUnknownField=addColumn")
	for _, verb := range []string{"plan", "run"} {
		narrower.do(t, verb).fails(13, "order_id is long in the table and string in the rows", "does not alter it")
	}
	narrower.do(t, "validate").wants(13)
	p.with("--set", "value.onUnknownField=addColumn").run(t).has("summary", "rows", 1)
	p.wantsShown(t, []string{"order_id", "note"}, `1 null`, `2 "x"`)
}

// A column that somebody else adds is filled from the records from then on, as its type is read.
func TestColumnsThatOthersAddAreFilled(t *testing.T) {
	t.Parallel()
	k := embedded(t, "orders")
	p := typed(t, k, "order_id BIGINT").with("--set", "value.onUnknownField=addColumn")
	k.say(t, `{"order_id":1}`)
	p.run(t)
	p.change(t, func(tx *table.Transaction) error {
		return tx.UpdateSchema(true, false).AddColumn([]string{"day"}, iceberg.PrimitiveTypes.Date, "", false, nil).Commit()
	})
	k.say(t, `{"order_id":2,"day":"2026-11-30"}`)
	p.run(t).has("summary", "rows", 1)
	p.wantsShown(t, []string{"order_id", "day"}, `1 null`, `2 "2026-11-30"`)
	k.say(t, `{"order_id":3,"day":"yesterday"}`)
	p.do(t, "run").fails(14, "day", "format")
}

// schema is that of the table in the catalog that the flags name.
func (p *pipeline) schema(t testing.TB) *iceberg.Schema {
	t.Helper()
	if p.flag("--catalog-type") != "hadoop" {
		return p.table(t).Schema()
	}
	c, err := lakesink.OpenCatalog(t.Context(), lakesink.CatalogOptions{Type: "hadoop", Warehouse: p.dir})
	if err != nil {
		t.Fatal(err)
	}
	tbl, err := c.LoadTable(t.Context(), catalog.ToIdentifier(tableOfTests))
	if err != nil {
		t.Fatal(err)
	}
	return tbl.Schema()
}

// With a registry the newest schema of the subject brings columns before the first record does, and the schema that a
// record was written with brings what the newest does not have. Records of older schemas have null there, also where the
// new field is not nullable: older records do not have it.
func TestATableGrowsWithItsRegistry(t *testing.T) {
	t.Parallel()
	k, r := embedded(t, "orders"), newSchemaRegistry(t)
	schema := func(more string) string {
		return `{"type":"record","name":"Order","fields":[{"name":"id","type":"int"}` + more + `]}`
	}
	v1 := r.register("orders-value", "AVRO", schema(""))
	p := registered(t, k, r, "avro").with("--set", "value.onUnknownField=addColumn")
	k.say(t, framedBy(v1, datum(1)))
	p.run(t).has("summary", "rows", 1)
	v2 := r.register("orders-value", "AVRO", schema(`,{"name":"total","type":"long"},{"name":"note","type":["null","string"]}`))
	k.say(t, framedBy(v1, datum(2)), framedBy(v2, datum(3, 30, 0)))
	o := p.do(t, "plan").wants(0)
	if got := fmt.Sprint(o.last("plan")["changes"]); got != "[add total long add note string]" {
		t.Errorf("the plan says %s", got)
	}
	p.do(t, "validate").wants(0)
	p.run(t).has("summary", "rows", 2)
	elsewhere := r.register("other-value", "AVRO", schema(`,{"name":"place","type":{"type":"record","name":"P","fields":[{"name":"x","type":"double"}]}},{"name":"total","type":"int"}`))
	k.say(t, framedBy(elsewhere, append(append(datum(4), make([]byte, 8)...), datum(40)...)), framedBy(v2, datum(5, 50, 1, "n")))
	p.run(t).has("summary", "rows", 2).mentions("add place struct<x: double>")
	p.wantsShown(t, []string{"id", "total", "note", "place"}, `1 null null null`, `2 null null null`, `3 30 null null`, `4 40 null {"x":0}`, `5 50 "n" null`)
	p.proves(t, "proved", 5)
}
