package job

import (
	"strings"
	"testing"
)

// Which positions Spark takes beside those that are taken here. Spark's are documented; those of a streaming query, for keys of
// where to begin, and those of a batch query, for keys of where to end, which streaming queries do not have.
func TestWhichPositionsAreLegalBesideSpark(t *testing.T) {
	const start, startTimes, end, endTimes = startOffsetsPath, startTimesPath, endOffsetsPath, endTimesPath
	for _, c := range []struct {
		key, value  string
		spark, ours bool
		why         string
	}{
		{start, "earliest", true, true, ""},
		{start, "latest", true, true, ""},
		{start, "LATEST", true, true, ""},
		{start, "newest", false, false, ""},
		{start, `{"a":{"0":23,"1":-1}}`, true, true, ""},
		{start, `{"a":{"0":23,"1":-2}}`, true, true, ""},
		{start, `{"a":{"0":23,"1":-3}}`, true, false, "Spark fails in the middle of the query, on an assertion of the reader"},
		{start, `{"a":{"0":23}}`, false, false, ""},
		{start, `{"a":{"0":1,"1":1,"2":1}}`, false, false, ""},
		{start, `{"a":{"0":1,"1":1},"b":{"0":1}}`, false, false, ""},
		{start, `{"a":{"0":1,"1":1.5}}`, false, false, ""},
		{startTimes, `{"a":{"0":0,"1":1793491200000}}`, true, true, ""},
		{startTimes, `{"a":{"0":0}}`, false, false, ""},
		{startTimes, `{"a":{"0":0,"1":-1}}`, true, false, "Spark hands it on, and Kafka takes it for a special moment"},
		{startTimes, "1793491200000", false, false, ""},
		{end, "latest", true, true, ""},
		{end, "earliest", false, false, ""},
		{end, `{"a":{"0":23,"1":-1}}`, true, true, ""},
		{end, `{"a":{"0":23,"1":-2}}`, false, false, ""},
		{end, `{"a":{"0":23}}`, false, false, ""},
		{end, `{"a":{"0":23,"1":5,"2":5}}`, false, false, ""},
		{endTimes, `{"a":{"0":0,"1":1793491200000}}`, true, true, ""},
		{endTimes, `{"a":{"0":0}}`, false, false, ""},
	} {
		_, err := Load(Input{Flags: []FlagValue{{"bootstrap-servers", "localhost:9092"}, {"assign", `{"a":[0,1]}`}, {"table", "sales.orders"}, {"warehouse", "/lake"}}, Set: []string{c.key + "=" + c.value}})
		if got := err == nil; got != c.ours {
			t.Errorf("%s: %s: got %v, want it taken: %v", c.key, c.value, err, c.ours)
		}
		if err != nil && !strings.Contains(err.Error(), c.key) {
			t.Errorf("%s: %s: got %v, which does not name the key", c.key, c.value, err)
		}
		if (c.spark == c.ours) == (c.why != "") {
			t.Errorf("%s: %s: the reason is %q", c.key, c.value, c.why)
		}
	}
}

// https://github.com/apache/spark/pull/50866: what begins behind its end is an error before anything is read, as in Spark.
func TestAnEndBeforeTheBeginningIsAnErrorAsInSpark(t *testing.T) {
	for _, c := range []struct {
		set   []string
		taken bool
	}{
		{[]string{startOffsetsPath + `={"a":{"0":50}}`, endOffsetsPath + `={"a":{"0":10}}`}, false},
		{[]string{startOffsetsPath + `={"a":{"0":10}}`, endOffsetsPath + `={"a":{"0":10}}`}, true},
		{[]string{startOffsetsPath + `={"a":{"0":-1}}`, endOffsetsPath + `={"a":{"0":10}}`}, true}, // the run tells
		{[]string{startOffsetsPath + `={"a":{"0":50}}`, endOffsetsPath + `={"a":{"0":-1}}`}, true},
		{[]string{startOffsetsPath + `={"a":{"0":50}}`, endOffsetsPath + `={"a":{"0":60,"1":60}}`}, false},
		{[]string{startTimesPath + `={"a":{"0":50}}`, endTimesPath + `={"a":{"0":49}}`}, false},
		{[]string{startTimePath + "=2026-11-02T00:00:00Z", endTimePath + "=2026-11-01T00:00:00Z"}, false},
		{[]string{startTimePath + "=2026-11-01T00:00:00Z", endTimePath + "=2026-11-01T00:00:00Z"}, true},
	} {
		_, err := Load(Input{Flags: []FlagValue{{"bootstrap-servers", "localhost:9092"}, {"subscribe", "a"}, {"table", "sales.orders"}, {"warehouse", "/lake"}}, Set: c.set})
		if got := err == nil; got != c.taken {
			t.Errorf("%v: got %v, want it taken: %v", c.set, err, c.taken)
		}
	}
}
