package decode_test

import (
	"math"
	"strings"
	"testing"

	"sluice/batch"
	"sluice/columns"
	"sluice/decode"
)

func rejecting(t testing.TB, schema string) decode.Decoder {
	t.Helper()
	d, err := decode.New(batch.Value{Format: "json", Schema: schema, OnMalformed: "deadLetter", OnTombstone: "drop", OnUnknownField: "ignore", DeadLetters: "ops.dead"}, false)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// The bytes of a dead letter are those of the record, null and empty kept apart, and all of its headers are there although
// rows have none: https://github.com/confluentinc/kafka-connect-storage-cloud/issues/602
func TestADeadLetterIsTheWholeRecord(t *testing.T) {
	d := rejecting(t, "id INT NOT NULL")
	records := topic("{", `{"id":1}`, "", `{"id":"x"}`, none, `{"id":null}`, `{}`)
	rows, err := d.Decode(records)
	if err != nil {
		t.Fatal(err)
	}
	if rows.Rows != 1 || rows.Dropped != 1 || rows.Bad != 5 || rows.Rejected == nil || rows.Rejected.Rows != 5 {
		t.Fatalf("got %d rows, %d dropped, %d bad, %+v", rows.Rows, rows.Dropped, rows.Bad, rows.Rejected)
	}
	schema := decode.DeadLetterSchema()
	if len(rows.Rejected.Columns) != len(schema) {
		t.Fatalf("got %d columns, want %d", len(rows.Rejected.Columns), len(schema))
	}
	var reasons []string
	for i, row := range []int{0, 2, 3, 5, 6} {
		c := rows.Rejected.Columns
		for k, from := range []*columns.Array{&records.Key, &records.Value} {
			got, want := c[k].Bytes(i), from.Bytes(row)
			if string(got) != string(want) || (got == nil) != (want == nil) {
				t.Errorf("%s of dead letter %d: got %q, want %q", schema[k].Name, i, got, want)
			}
		}
		from, until := c[2].Span(i)
		if until-from != 2 || string(c[2].Children[0].Children[0].Bytes(from)) != "n" || c[2].Children[0].Children[1].Bytes(from+1) != nil {
			t.Errorf("dead letter %d has %d headers", i, until-from)
		}
		if string(c[3].Bytes(i)) != "orders" || c[4].Int32s[i] != 3 || c[5].Int64s[i] != records.Offsets[row] {
			t.Errorf("dead letter %d is %s-%d at %d", i, c[3].Bytes(i), c[4].Int32s[i], c[5].Int64s[i])
		}
		if ms := records.Timestamps[row]; c[6].Valid(i) != (ms != -1) || ms != -1 && c[6].Int64s[i] != ms*1000 {
			t.Errorf("dead letter %d has the time %d, want %d ms", i, c[6].Int64s[i], ms)
		}
		reasons = append(reasons, string(c[7].Bytes(i)))
	}
	if got := strings.Join(reasons, " "); got != "syntax empty type null missing" {
		t.Errorf("got %s", got)
	}
	if rows.Reasons["syntax"] != 1 || len(rows.Reasons) != 5 || len(rows.Examples) != batch.MaxExamples || rows.Examples[1].Offset != 14 {
		t.Errorf("got %v, %v", rows.Reasons, rows.Examples)
	}
	if rows, err = d.Decode(topic(`{"id":1}`)); err != nil || rows.Rejected != nil || rows.Bad != 0 || rows.Reasons != nil || len(rows.Examples) != 0 {
		t.Errorf("the next records: got %+v, %v, want nothing of the ones before", rows, err)
	}
}

// A producer that sends nanoseconds where Kafka has milliseconds does not hold up the topic:
// https://github.com/twmb/franz-go/pull/1470
func TestATimestampBeyondMicrosecondsIsADeadLetter(t *testing.T) {
	d := rejecting(t, "id INT, tags ARRAY<STRING>")
	records := topic(`{"id":1,"tags":["a"]}`, `{"id":2,"tags":["b","c"]}`, `{"id":3}`)
	records.Timestamps[1] = math.MaxInt64
	rows, err := d.Decode(records)
	if err != nil || rows.Rows != 2 || rows.Rejected == nil || rows.Rejected.Rows != 1 || rows.Reasons["overflow"] != 1 {
		t.Fatalf("got %+v, %v", rows, err)
	}
	if c := rows.Rejected.Columns; c[6].Valid(0) || !strings.Contains(string(c[8].Bytes(0)), "9223372036854775807 ms") {
		t.Errorf("got %s", c[8].Bytes(0))
	}
	if got := rows.Columns[0].Int32s; len(got) != 2 || got[0] != 1 || got[1] != 3 {
		t.Errorf("got rows %v", got)
	}
	if from, until := rows.Columns[1].Span(0); until-from != 1 || rows.Columns[1].Children[0].Len != 1 {
		t.Errorf("the tags of what was left out stayed: %+v", rows.Columns[1])
	}
}

func TestWhichPolicySendsWhatToTheDeadLetters(t *testing.T) {
	for _, c := range []struct {
		malformed, tombstone, unknown string
		rows, dead, nulled, dropped   int
		bad                           int
		fails                         bool
	}{
		{malformed: "deadLetter", tombstone: "keep", unknown: "ignore", rows: 3, dead: 1, bad: 1},
		{malformed: "deadLetter", tombstone: "deadLetter", unknown: "ignore", rows: 2, dead: 2, bad: 1},
		{malformed: "null", tombstone: "deadLetter", unknown: "ignore", rows: 3, dead: 1, nulled: 1, bad: 1},
		{malformed: "null", tombstone: "drop", unknown: "deadLetter", rows: 2, dead: 1, nulled: 1, dropped: 1, bad: 2},
		{malformed: "deadLetter", tombstone: "keep", unknown: "fail", rows: 2, dead: 2, bad: 2},
		{malformed: "fail", tombstone: "keep", unknown: "deadLetter", fails: true},
	} {
		d, err := decode.New(batch.Value{Format: "json", Schema: "id INT", OnMalformed: c.malformed, OnTombstone: c.tombstone, OnUnknownField: c.unknown, DeadLetters: "ops.dead"}, false)
		if err != nil {
			t.Fatal(err)
		}
		rows, err := d.Decode(topic(`{"id":1}`, none, `{"id":2,"x":1}`, `{`))
		if c.fails {
			if batch.ClassOf(err) != batch.BadRecords {
				t.Errorf("%+v: got %v", c, err)
			}
			continue
		}
		dead := 0
		if err == nil && rows.Rejected != nil {
			dead = rows.Rejected.Rows
		}
		if err != nil || rows.Rows != c.rows || dead != c.dead || rows.Nulled != c.nulled || rows.Dropped != c.dropped || rows.Bad != c.bad {
			t.Errorf("%+v: got %d rows, %d dead letters, %d nulled, %d dropped, %d bad, %v", c, rows.Rows, dead, rows.Nulled, rows.Dropped, rows.Bad, err)
		}
	}
}

func TestAPolicyOfDeadLettersNeedsAPlaceForThem(t *testing.T) {
	for _, v := range []batch.Value{{OnMalformed: "deadLetter", OnTombstone: "keep"}, {OnMalformed: "fail", OnTombstone: "deadLetter"}} {
		v.Format = "string"
		if found := decode.Problems(v); len(found) != 1 || !strings.Contains(found[0].Error(), "deadLetter.table") {
			t.Errorf("got %v", found)
		}
	}
}

// A path may be as long as a hostile record makes it.
func TestTheTextOfAnErrorIsBounded(t *testing.T) {
	d, err := decode.New(batch.Value{Format: "json", Schema: "id INT", OnMalformed: "deadLetter", OnTombstone: "keep", OnUnknownField: "fail", DeadLetters: "ops.dead"}, false)
	if err != nil {
		t.Fatal(err)
	}
	rows, err := d.Decode(topic(`{"` + strings.Repeat("ä", 5000) + `":1}`))
	if err != nil || rows.Rejected == nil {
		t.Fatalf("got %+v, %v", rows, err)
	}
	if n := len(rows.Rejected.Columns[8].Bytes(0)); n > 1100 {
		t.Errorf("got a text of %d bytes", n)
	}
}

func TestDeadLettersCostNothingOnceMemoryHasGrown(t *testing.T) {
	d := rejecting(t, "id INT")
	records := topic(`{"id":1}`, `{"id":2}`)
	allocated := testing.AllocsPerRun(100, func() {
		if _, err := d.Decode(records); err != nil {
			t.Fatal(err)
		}
	})
	if allocated != 0 {
		t.Errorf("%v allocations for records that are all rows, want 0", allocated)
	}
}
