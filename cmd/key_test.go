package cmd_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"
)

// keys appends records with these keys and the value to partition 0; "" is none.
func (k *kafka) keys(t testing.TB, value string, keys ...string) {
	t.Helper()
	for _, key := range keys {
		r := &kgo.Record{Topic: "orders", Key: []byte(key), Value: []byte(value), Timestamp: millis(1_700_000_000_000)}
		if key == "" {
			r.Key = nil
		}
		k.produce(t, r)
	}
}

func TestKeysBecomeTextOrValues(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		flags []string
		keys  []string
		typ   string
		want  []string
	}{
		{[]string{"--key-format", "string"}, []string{"größe", ""}, "kafka_key string", []string{`"größe"`, "null"}},
		{[]string{"--key-format", "json", "--set", "key.schema=BIGINT"}, []string{"5", "", "null"}, "kafka_key long", []string{"5", "null", "null"}},
		{[]string{"--key-format", "json", "--set", "key.schema=id BIGINT NOT NULL, region STRING"}, []string{`{"id":1}`, ""}, "kafka_key struct", []string{`{"id":1,"region":null}`, "null"}},
	} {
		k := embedded(t, "orders")
		p := newPipeline(t, k).with("--value-format", "string").with(c.flags...)
		k.keys(t, "v", c.keys...)
		if got := p.do(t, "peek", "--topic").wants(0).stdout; !strings.Contains(got, `"kafka_key":`+c.want[0]) {
			t.Errorf("%q: got %s", c.flags, got)
		}
		p.do(t, "validate").wants(0)
		p.run(t).has("summary", "rows", len(c.keys))
		if got := columnsOf(p.table(t).Schema()); !slices.Contains(got, c.typ) {
			t.Errorf("%q: got %v, want %s", c.flags, got, c.typ)
		}
		p.wantsShown(t, []string{"kafka_key"}, c.want...)
		p.proves(t, "proved", len(c.keys))
	}
}

// A batch that was planned with one type of key is finished with it; what would change the column's type is another query.
func TestTheFormatOfKeysIsThePlansAndTheQuerys(t *testing.T) {
	t.Parallel()
	k := embedded(t, "orders")
	p := newPipeline(t, k).with("--value-format", "string")
	strict := p.with("--key-format", "json", "--set", "key.schema=id BIGINT")
	k.keys(t, "v", `{"id":1}`, `{"id":"x"}`)
	strict.do(t, "run").fails(14, "orders-0 at offset 1", "kafka_key.id", "(type, ", "key.schema")
	p.with("--key-format", "string").do(t, "run").fails(13, "key.format was json and is string")
	p.do(t, "plan").fails(13, "key.format was json and is raw")
	cured := strict.with("--set", "value.onMalformed=null")
	cured.run(t).has("summary", "rows", 2, "nulled", 1)
	cured.wantsShown(t, []string{"kafka_key", "value"}, `{"id":1} "v"`, `null null`)
	cured.proves(t, "proved", 2)
}

func TestKeysOfRawRecordsAreBytes(t *testing.T) {
	t.Parallel()
	p := newPipeline(t, &kafka{addr: "nobody.invalid:9092"})
	p.with("--key-format", "string").do(t, "run").fails(64, "--key-format: key.format", "value.format raw")
}
