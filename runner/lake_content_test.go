package runner_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"reflect"
	"strings"

	"github.com/apache/iceberg-go/table"
)

// content is the rows of the table, by record, without what is null or empty.
func (w *lakeWorld) content() (map[string]any, error) {
	ctx := context.Background()
	tbl, err := w.catalog.LoadTable(ctx, table.Identifier{"db", "orders"})
	if err != nil {
		return nil, err
	}
	_, records, err := tbl.Scan().ToArrowRecords(ctx)
	if err != nil {
		return nil, err
	}
	rows := map[string]any{}
	for record, err := range records {
		if err != nil {
			return nil, err
		}
		text, err := record.MarshalJSON()
		if err != nil {
			return nil, err
		}
		for _, row := range parse(text).([]any) {
			fields := row.(map[string]any)
			at := fmt.Sprintf("%v/%v", fields["kafka_partition"], fields["kafka_offset"])
			if rows[at] != nil {
				return nil, fmt.Errorf("record %s is there twice", at)
			}
			maps.DeleteFunc(fields, func(name string, _ any) bool { return strings.HasPrefix(name, "kafka_") })
			rows[at] = bare(fields)
		}
	}
	return rows, nil
}

func parse(text []byte) (v any) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		panic(err)
	}
	return v
}

// bare is a JSON value without what is null or empty, with numbers in one form: 5 and 5.0 are one.
func bare(v any) any {
	switch v := v.(type) {
	case json.Number:
		r, ok := new(big.Rat).SetString(v.String())
		if !ok {
			panic(v)
		}
		return r.RatString()
	case []any:
		out, some := []any{}, false
		for _, e := range v {
			e = bare(e)
			out, some = append(out, e), some || e != nil
		}
		if some {
			return out
		}
	case map[string]any:
		out := map[string]any{}
		for name, e := range v {
			if e = bare(e); e != nil {
				out[name] = e
			}
		}
		if len(out) > 0 {
			return out
		}
	case string, bool:
		return v
	}
	return nil
}

// judgeContent compares the table with the records themselves: the oracle is that nothing is gone and nothing is other.
func (w *lakeWorld) judgeContent() error {
	got, err := w.content()
	if err != nil {
		return err
	}
	want := map[string]any{}
	for partition, offsets := range w.kafka.records {
		for _, o := range offsets {
			want[fmt.Sprintf("%d/%d", partition, o)] = bare(parse(w.value(partition, o)))
		}
	}
	if !reflect.DeepEqual(got, want) {
		return fmt.Errorf("the table has\n%v, want\n%v", got, want)
	}
	return nil
}
