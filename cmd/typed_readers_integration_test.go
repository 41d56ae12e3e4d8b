//go:build integration && linux

package cmd_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"sluice/rig"
)

// order is a record of the test, as its producer knows it.
type order struct {
	id     int64
	cents  *int64
	score  *float64
	paid   *bool
	note   *string
	at     time.Time
	day    string
	tags   []*string
	record *kgo.Record
}

const orderColumns = "id,amount,score,paid,note,at,day,tags"

const orderSchema = `id BIGINT, amount DECIMAL(20,2), score DOUBLE, paid BOOLEAN, note STRING, at TIMESTAMP, day DATE, tags ARRAY<STRING>, gone STRUCT<x: INT>`

// randomOrder makes an order; a part of its fields is missing or null.
func randomOrder(random *rand.Rand, partition int32) order {
	o := order{id: random.Int64() - random.Int64()}
	if random.IntN(4) > 0 {
		v := random.Int64N(1e17) - 5e16
		o.cents = &v
	}
	if random.IntN(4) > 0 {
		v := float64(random.IntN(2000)-1000) / 8
		o.score = &v
	}
	if random.IntN(4) > 0 {
		v := random.IntN(2) == 0
		o.paid = &v
	}
	if random.IntN(4) > 0 {
		v := strings.Repeat([]string{"", "a", "größe", "x\ty", "👍"}[random.IntN(5)], random.IntN(40))
		o.note = &v
	}
	o.at = time.UnixMicro(random.Int64N(4e15) - 1e15).UTC()
	o.day = o.at.Format(time.DateOnly)
	for range random.IntN(4) {
		tag := strconv.Itoa(random.IntN(9))
		o.tags = append(o.tags, map[bool]*string{true: &tag}[random.IntN(3) > 0])
	}
	o.record = &kgo.Record{Partition: partition, Value: o.json(random)}
	return o
}

func decimalOf(cents int64) string {
	sign := ""
	if cents < 0 {
		sign, cents = "-", -cents
	}
	return fmt.Sprintf("%s%d.%02d", sign, cents/100, cents%100)
}

// json is the record's value, its fields in any order.
func (o *order) json(random *rand.Rand) []byte {
	text := func(v any) string {
		b, _ := json.Marshal(v) // what is in an order can be marshalled
		return string(b)
	}
	fields := []string{`"id":` + text(o.id), `"at":` + text(o.at.Format("2006-01-02T15:04:05.000000Z07:00")), `"day":` + text(o.day), `"unknown":{"a":[1]}`}
	if o.tags != nil {
		fields = append(fields, `"tags":`+text(o.tags))
	}
	if o.cents != nil {
		fields = append(fields, `"amount":`+decimalOf(*o.cents))
	}
	if o.score != nil || random.IntN(2) == 0 {
		fields = append(fields, `"score":`+text(o.score))
	}
	if o.paid != nil || random.IntN(2) == 0 {
		fields = append(fields, `"paid":`+text(o.paid))
	}
	if o.note != nil || random.IntN(2) == 0 {
		fields = append(fields, `"note":`+text(o.note))
	}
	random.Shuffle(len(fields), func(i, j int) { fields[i], fields[j] = fields[j], fields[i] })
	return []byte("{" + strings.Join(fields, ",") + "}")
}

// row is the order as rig/read_table.py renders it.
func (o *order) row() rig.Row {
	optional := func(there bool, text func() string) []byte {
		if !there {
			return nil
		}
		return []byte(text())
	}
	values := [][]byte{
		[]byte(strconv.FormatInt(o.id, 10)),
		optional(o.cents != nil, func() string { return decimalOf(*o.cents) }),
		optional(o.score != nil, func() string {
			text := strconv.FormatFloat(*o.score, 'f', -1, 64)
			if !strings.Contains(text, ".") {
				text += ".0"
			}
			return text
		}),
		optional(o.paid != nil, func() string { return strconv.FormatBool(*o.paid) }),
		optional(o.note != nil, func() string { return *o.note }),
		[]byte(o.at.Format("2006-01-02T15:04:05.000000")),
		[]byte(o.day),
		optional(o.tags != nil, func() string {
			var items []string
			for _, tag := range o.tags {
				if tag == nil {
					items = append(items, "null")
				} else {
					items = append(items, `"`+*tag+`"`)
				}
			}
			return "[" + strings.Join(items, ", ") + "]"
		}),
	}
	return rig.Row{Topic: o.record.Topic, Partition: o.record.Partition, Offset: o.record.Offset, Values: values}
}

// DuckDB and PyIceberg read typed rows as they were produced, and with a filter as much as without: the bounds in the files
// are right for each type.
func TestForeignReadersSeeTypedRowsAsTheyWereProduced(t *testing.T) {
	readTable := rig.Python(t)
	k := embedded(t, "orders")
	p := newPipeline(t, k).with("--value-format", "json", "--value-schema", orderSchema)
	random := rand.New(rand.NewPCG(5, 6))
	var orders []order
	for batch := range 2 {
		for i := range 300 + 300*batch {
			o := randomOrder(random, int32(i%2))
			o.record.Topic = "orders"
			orders = append(orders, o)
			k.produce(t, o.record)
		}
		p.run(t, "--max-offsets-per-trigger", "250", "--set", "sink.iceberg.targetFileSize=64KiB")
	}
	p.do(t, "verify", "--source").wants(0).has("verify", "verdict", "proved", "rows", len(orders))
	half := time.Date(2000, 1, 2, 3, 4, 5, 0, time.UTC)
	filters := map[string]func(o *order) bool{
		"id > 0":             func(o *order) bool { return o.id > 0 },
		"amount >= 12345.67": func(o *order) bool { return o.cents != nil && *o.cents >= 1234567 },
		"amount < -0.01":     func(o *order) bool { return o.cents != nil && *o.cents < -1 },
		"amount is null":     func(o *order) bool { return o.cents == nil },
		"score <= -12.5":     func(o *order) bool { return o.score != nil && *o.score <= -12.5 },
		"paid = true":        func(o *order) bool { return o.paid != nil && *o.paid },
		"note = 'größe'":     func(o *order) bool { return o.note != nil && *o.note == "größe" },
		"note > 'größe'":     func(o *order) bool { return o.note != nil && *o.note > "größe" },
		"note is not null":   func(o *order) bool { return o.note != nil },
		"day < '1999-12-31'": func(o *order) bool { return o.day < "1999-12-31" },
		"at >= '" + half.Format("2006-01-02T15:04:05+00:00") + "'": func(o *order) bool { return !o.at.Before(half) },
		"kafka_partition = 1 and id < 0":                           func(o *order) bool { return o.record.Partition == 1 && o.id < 0 },
	}
	args := []string{"--catalog-db", filepath.Join(p.dir, "catalog.db"), "--table", tableOfTests, "--columns", orderColumns}
	for filter := range filters {
		args = append(args, "--filter", filter)
	}
	got := readTable(args...)
	var rows []rig.Row
	for i := range orders {
		rows = append(rows, orders[i].row())
	}
	for _, name := range []string{"duckdb", "pyiceberg"} {
		engine := got.Engines[name]
		if engine.Count != int64(len(rows)) || engine.Distinct != int64(len(rows)) || engine.SHA256 != rig.Digest(rows) {
			t.Errorf("%s: got %d rows, %d distinct, digest %s; want %d, digest %s", name, engine.Count, engine.Distinct, engine.SHA256, len(rows), rig.Digest(rows))
		}
		if len(engine.Filters) != len(filters) {
			t.Errorf("%s: got %d filters, want %d", name, len(engine.Filters), len(filters))
		}
		for _, f := range engine.Filters {
			want := int64(0)
			for i := range orders {
				if filters[f.Filter](&orders[i]) {
					want++
				}
			}
			if f.Filtered != want || f.Full != want {
				t.Errorf("%s: %s: got %d filtered, %d of a full scan, want %d", name, f.Filter, f.Filtered, f.Full, want)
			}
		}
	}
}
