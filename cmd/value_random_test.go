package cmd_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"
)

const everyType = `b BOOLEAN, i INT, l BIGINT, f FLOAT, d DOUBLE, e DECIMAL(9,2), w DECIMAL(38,10), s STRING, y BINARY, x FIXED(3), u UUID, a DATE, t TIME,
	n TIMESTAMP_NTZ, p TIMESTAMP, o STRUCT<i: INT, n: STRUCT<p: TIMESTAMP, e: DECIMAL(5,1)>>, r ARRAY<DECIMAL(20,3)>, q ARRAY<STRUCT<y: BINARY, a: DATE>>, m MAP<STRING, INT>, k MAP<DATE, ARRAY<BOOLEAN>>`

// randomValue is a JSON value for each column of everyType; some do not fit it.
var randomValue = map[string]func(r *rand.Rand) string{
	"b": func(r *rand.Rand) string { return pick(r, "true", "false", "0") },
	"i": func(r *rand.Rand) string { return pick(r, "-2147483648", "7", "1e3", "2147483648") },
	"l": func(r *rand.Rand) string { return pick(r, "9223372036854775807", "-1", "0", `"0"`) },
	"f": func(r *rand.Rand) string { return pick(r, "0.1", "-1e30", "1e39") },
	"d": func(r *rand.Rand) string { return pick(r, "0.1", "-1e300", "123456789.125") },
	"e": func(r *rand.Rand) string { return pick(r, "1", "-0.05", "1234567.89", "0.001") },
	"w": func(r *rand.Rand) string {
		return pick(r, "-9999999999999999999999999999.9999999999", "0.0000000001", "12345678901234567890")
	},
	"s": func(r *rand.Rand) string { return pick(r, `""`, `"größe\n"`, `"\ud83d\udc4d"`, `"\ud83d"`) },
	"y": func(r *rand.Rand) string { return pick(r, `""`, `"_-8"`, `"aGk="`, `"?"`) },
	"x": func(r *rand.Rand) string { return pick(r, `"AAEC"`, `"AA"`) },
	"u": func(r *rand.Rand) string { return pick(r, `"f81d4fae-7dec-11d0-a765-00a0c91e6bf6"`) },
	"a": func(r *rand.Rand) string { return pick(r, `"0001-01-01"`, `"1969-12-31"`, `"9999-12-31"`) },
	"t": func(r *rand.Rand) string { return pick(r, `"00:00:00"`, `"23:59:59.999999"`) },
	"n": func(r *rand.Rand) string { return pick(r, `"1969-12-31T23:59:59.999999"`, `"2026-01-02T03:04:05"`) },
	"p": func(r *rand.Rand) string {
		return pick(r, `"2026-01-02T03:04:05.000001+14:00"`, `"1900-01-01T00:00:00Z"`)
	},
	"o": func(r *rand.Rand) string {
		return pick(r, `{}`, `{"i":1,"n":{"p":"2026-01-02T03:04:05Z","e":1.5}}`, `{"n":{"e":0.5,"zz":[{}]}}`, `{"n":1}`)
	},
	"r": func(r *rand.Rand) string { return pick(r, `[]`, `[1,null,-0.125]`, `[99999999999999999.999]`) },
	"q": func(r *rand.Rand) string { return pick(r, `[]`, `[null,{},{"y":"aGk=","a":"2026-01-02"}]`) },
	"m": func(r *rand.Rand) string { return pick(r, `{}`, `{"":1,"k":null}`, `{"k":1,"k":2}`) },
	"k": func(r *rand.Rand) string { return pick(r, `{"2026-01-02":[true,null],"2026-01-03":null}`, `{}`) },
}

// pick takes one of some texts, the last one seldom if there are several, and null now and then.
func pick(r *rand.Rand, texts ...string) string {
	if r.IntN(6) == 0 {
		return "null"
	}
	if len(texts) > 1 && r.IntN(12) > 0 {
		texts = texts[:len(texts)-1]
	}
	return texts[r.IntN(len(texts))]
}

// What a topic shows when it is decoded is what the table shows after it went through files, whatever the records hold: two
// ways that share the decoder alone.
func TestRandomRecordsAreInTheTableAsTheTopicShowsThem(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(11, 12))
	k := embedded(t, "orders")
	p := typed(t, k, everyType).with("--set", "value.onMalformed=null", "--max-offsets-per-trigger", "170")
	var records []*kgo.Record
	for i := range 600 {
		var fields []string
		for _, name := range slices.Sorted(maps.Keys(randomValue)) {
			if random.IntN(3) > 0 {
				fields = append(fields, fmt.Sprintf("%q:%s", name, randomValue[name](random)))
			}
		}
		r := &kgo.Record{Topic: "orders", Partition: int32(i % 2), Value: []byte("{" + strings.Join(fields, ",") + "}")}
		if random.IntN(20) == 0 {
			r.Value = nil
		}
		records = append(records, r)
	}
	k.produce(t, records...)
	seen := p.do(t, "peek", "--topic", "--limit", "1000").wants(0).last("peek")
	malformed := len(seen["malformed"].([]any))
	if malformed < 50 || malformed > 550 {
		t.Errorf("%d of 600 records are malformed: too few or too many to tell anything", malformed)
	}
	p.run(t).has("summary", "rows", 600, "nulled", malformed)
	stored := p.do(t, "peek", "--limit", "1000").wants(0).last("peek")
	byPlace := func(rows any) map[string]string {
		found := map[string]string{}
		for _, row := range rows.([]any) {
			fields := row.(map[string]any)
			text, err := json.Marshal(fields)
			if err != nil {
				t.Fatal(err)
			}
			found[fmt.Sprint(fields["kafka_partition"], "/", fields["kafka_offset"])] = string(text)
		}
		return found
	}
	want, got := byPlace(seen["rows"]), byPlace(stored["rows"])
	if len(want) != 600 || len(got) != 600 {
		t.Fatalf("got %d rows, want %d, want 600", len(got), len(want))
	}
	for place, row := range want {
		if got[place] != row {
			t.Errorf("%s: got\n%s\nwant\n%s", place, got[place], row)
		}
	}
	p.proves(t, "proved", 600)
}
