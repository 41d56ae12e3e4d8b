package offsets

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestOffsetsRoundTripInSparksForm(t *testing.T) {
	for _, text := range []string{
		`{}`, `{"orders":{"0":120,"1":98}}`, `{"a":{"2":0,"10":9007199254740993},"b":{"0":9223372036854775807}}`, `{"o\"x":{"0":-1,"1":-2}}`,
	} {
		o, err := Parse([]byte(text))
		if err != nil {
			t.Errorf("Parse(%s): %v", text, err)
			continue
		}
		if got := o.String(); got != text {
			t.Errorf("got %s, want %s", got, text)
		}
		var again Offsets
		if err := json.Unmarshal([]byte(text), &again); err != nil || !again.Equal(o) {
			t.Errorf("json.Unmarshal(%s): got %v, %v", text, again, err)
		}
	}
}

func TestOffsetsThatAreNotPlainAreRefusedWithTheirPlace(t *testing.T) {
	for text, want := range map[string]string{
		``:                                "the text ends",
		`null`:                            "want an object of topics",
		`[]`:                              "want an object of topics",
		`{"t":1}`:                         "want an object of partitions",
		`{"t":{"x":1}}`:                   `"x" is no partition number`,
		`{"t":{"01":1}}`:                  `"01" is no partition number`,
		`{"t":{"-1":1}}`:                  `"-1" is no partition number`,
		`{"t":{"2147483648":1}}`:          `is no partition number`,
		`{"t":{"0":1.5}}`:                 "1.5 is no 64-bit whole number",
		`{"t":{"0":1e3}}`:                 "1e3 is no 64-bit whole number",
		`{"t":{"0":"1"}}`:                 "want a whole number",
		`{"t":{"0":-3}}`:                  "-3 is no offset",
		`{"t":{"0":1,"0":2}}`:             "partition 0 is there twice",
		`{"t":{"0":1},"t":{"1":2}}`:       `topic "t" is there twice`,
		`{"t":{"0":1}}{}`:                 "something follows",
		`{"t":{"0":1`:                     "at byte 11",
		`{"t":{"0":9223372036854775808}}`: "no 64-bit whole number",
	} {
		if _, err := Parse([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Parse(%s): got %v, want %q", text, err, want)
		}
	}
}

func TestAssignment(t *testing.T) {
	got, err := ParseAssignment([]byte(`{"u":[2],"t":[1,0]}`))
	if err != nil || len(got) != 3 || got[0] != (TopicPartition{"t", 0}) || got[2] != (TopicPartition{"u", 2}) {
		t.Errorf("got %v, %v", got, err)
	}
	for _, text := range []string{`{"t":[0,0]}`, `{"t":[-1]}`, `{"t":{"0":1}}`, `{"t":["0"]}`, `[0]`} {
		if _, err := ParseAssignment([]byte(text)); err == nil {
			t.Errorf("ParseAssignment(%s): no error", text)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{`{}`, `{"t":{"0":1}}`, `{"t":{"0":-2,"1":9223372036854775807}}`, `{"t":{"0":1}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		o, err := Parse(text)
		if err != nil {
			return
		}
		again, err := Parse([]byte(o.String()))
		if err != nil || !again.Equal(o) {
			t.Errorf("%q parsed to %v, which came back as %v, %v", text, o, again, err)
		}
	})
}

func TestBetweenListsWhatThereIsToRead(t *testing.T) {
	a, b, c := TopicPartition{"t", 0}, TopicPartition{"t", 1}, TopicPartition{"s", 0}
	got := Between(Offsets{a: 5, b: 7, c: 1}, Offsets{a: 9, b: 7, c: 4})
	if len(got) != 2 || got[0].String() != "s-0[1,4)" || got[1].String() != "t-0[5,9)" || Total(got) != 7 {
		t.Errorf("got %v", got)
	}
}
