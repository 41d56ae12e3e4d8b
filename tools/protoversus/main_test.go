package main

import (
	"reflect"
	"strings"
	"testing"
)

// What is measured is the same work: whoever fills columns fills them alike.
func TestAllFillTheSameColumns(t *testing.T) {
	rows, all := orders(200), contenders()
	want := all[0].filled(rows)
	filled := 0
	for _, c := range all {
		if !strings.HasSuffix(c.name, "-> columns") {
			continue
		}
		filled++
		if got := c.filled(rows); !reflect.DeepEqual(got, want) {
			t.Errorf("%s reads other values", c.name)
		}
	}
	if filled < 5 || want[0].Len != len(rows) {
		t.Errorf("got %d contenders with columns, of %d rows", filled, want[0].Len)
	}
}

func TestEveryContenderRefusesHalfARecord(t *testing.T) {
	row := orders(1)[0]
	for _, c := range contenders() {
		if err := c.decode([][]byte{row[:len(row)-1]}); err == nil {
			t.Errorf("%s takes half a record", c.name)
		}
	}
}
