package batch

import (
	"encoding/json"
	"testing"
)

func TestAPlaceSurvivesItsTextAndAValue(t *testing.T) {
	for text, place := range map[string]LetterPlace{"ops.dead": {InTable, "ops.dead"}, "topic orders-dead": {InTopic, "orders-dead"}, "path s3://lake/a b": {InPath, "s3://lake/a b"}, "": {},
		"topic topic": {InTopic, "topic"}, "topic.x": {InTable, "topic.x"}} {
		if got := place.String(); got != text {
			t.Errorf("got %q, want %q", got, text)
		}
		if got := ParseLetterPlace(text); got != place {
			t.Errorf("%q: got %+v, want %+v", text, got, place)
		}
		v := Value{DeadLetters: "ops.other", DeadLetterPath: "s3://x"}
		if v.SendLetters(place); v.LetterPlace() != place {
			t.Errorf("%q: a value has %+v", text, v.LetterPlace())
		}
	}
}

func TestATableOfDeadLettersIsWrittenAsBefore(t *testing.T) {
	v := Value{Format: "json"}
	v.SendLetters(LetterPlace{InTable, "ops.dead"})
	if text, err := json.Marshal(v); err != nil || string(text) != `{"format":"json","deadLetters":"ops.dead"}` {
		t.Errorf("got %s, %v", text, err)
	}
	v.SendLetters(LetterPlace{InTopic, "dead"})
	if text, err := json.Marshal(v); err != nil || string(text) != `{"format":"json","deadLetterTopic":"dead"}` {
		t.Errorf("got %s, %v", text, err)
	}
}
