package rig

import (
	"regexp"
	"strings"
	"testing"
)

func TestExportsReadsTheShellLinesOfACommand(t *testing.T) {
	env := exports("export A=1\nexport URL='s3://lake?a=b&c=d'\n\nnoise\n")
	if len(env) != 2 || env["A"] != "1" || env["URL"] != "s3://lake?a=b&c=d" {
		t.Errorf("got %q", env)
	}
}

func TestFreshNamesFitTopicsAndKeysAndDiffer(t *testing.T) {
	t.Run("with spaces/and: a very long name "+strings.Repeat("x", 100), func(t *testing.T) {
		first, second := fresh(t), fresh(t)
		if first == second {
			t.Errorf("got %q twice", first)
		}
		if !regexp.MustCompile(`^[a-z0-9][a-z0-9-]{1,100}$`).MatchString(first) {
			t.Errorf("got %q, which is no topic name", first)
		}
	})
}

func TestDigestIsThatOfReadTable(t *testing.T) {
	rows := []Row{
		{Topic: "t", Partition: 1, Offset: 10, Values: [][]byte{[]byte("k"), nil}},
		{Topic: "t", Partition: 0, Offset: 11, Values: [][]byte{nil, {}}},
	}
	// printf '1:t1:02:11-1:0:1:t1:12:101:k-1:' | sha256sum
	const want = "c2853269069706a4dce7679bfe2e9ef5f36a14df8ea91c577bd340bb5bbe5837"
	if got := Digest(rows); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	rows[0], rows[1] = rows[1], rows[0]
	if got := Digest(rows); got != want {
		t.Errorf("in another order: got %s, want %s", got, want)
	}
}

func TestDigestTellsNullFromEmptyAndOneRowFromTwo(t *testing.T) {
	row := func(values ...[]byte) Row { return Row{Topic: "t", Values: values} }
	digests := map[string]string{}
	for name, rows := range map[string][]Row{
		"null":        {row(nil)},
		"empty":       {row([]byte{})},
		"twice":       {row(nil), row(nil)},
		"other value": {row([]byte("-1:"))},
	} {
		digest := Digest(rows)
		if other, ok := digests[digest]; ok {
			t.Errorf("%s and %s have the same digest", name, other)
		}
		digests[digest] = name
	}
}
