package verify_test

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"testing"

	"sluice/batch"
	"sluice/verify"
)

// inTopic is the headers of a dead letter, as docs/formats.md has them.
func inTopic(l letter) []verify.TopicHeader {
	var headers []verify.TopicHeader
	for _, h := range [][2]string{{"sluice.dead-letter", "1"}, {"sluice.topic", "orders"}, {"sluice.partition", "0"}, {"sluice.offset", strconv.FormatInt(l.offset, 10)}, {"sluice.timestamp", "-1"},
		{"sluice.reason", "syntax"}, {"sluice.error", "no JSON"}, {"sluice.batch-id", strconv.FormatInt(l.batch, 10)}, {"sluice.query-id", l.query}, {"sluice.query-name", "orders"}} {
		headers = append(headers, verify.TopicHeader{Key: h[0], Value: []byte(h[1])})
	}
	return headers
}

// topicOf reads a topic with these records.
func topicOf(state *verify.TopicState, records ...[]verify.TopicHeader) verify.ReadTopic {
	return func(_ context.Context, visit func([]verify.TopicHeader) error) (*verify.TopicState, error) {
		for _, r := range records {
			if err := visit(r); err != nil {
				return nil, err
			}
		}
		return state, nil
	}
}

// withTopic are options with everything, a topic of dead letters too; nil for one that is not read.
func (w *world) withTopic(read verify.ReadTopic) verify.Options {
	o := w.whole()
	o.Identity = &batch.Identity{Tables: map[string]string{"main": w.table.Metadata().TableUUID().String(), "deadLetters/topic dead": "id-1"}}
	o.LetterTopics = map[string]verify.ReadTopic{"dead": read}
	return o
}

var wholeTopic = &verify.TopicState{ID: "id-1", Whole: true}

func TestRowsAndDeadLettersInATopicTogetherAreProved(t *testing.T) {
	mirrored := append(slices.Clone([]verify.TopicHeader{{Key: "trace"}}), inTopic(letter{ordersQuery, 0, 5})...)
	mirrored = append(mirrored, verify.TopicHeader{Key: "mirror"})
	w := newLetterWorld(t)
	r := w.verify(w.withTopic(topicOf(wholeTopic, inTopic(letter{ordersQuery, 0, 3}), inTopic(letter{ordersQuery, 0, 3}), mirrored,
		inTopic(letter{ordersQuery, 0, 4}),  // of an attempt that came to nothing: it is a row
		inTopic(letter{backfill, 0, 6}),     // another query's
		inTopic(letter{ordersQuery, 1, 12}), // of a batch whose rows are not there yet
		nil, []verify.TopicHeader{{Key: "sluice.dead-letter", Value: []byte("1")}})))
	wantOK(t, r)
	wantVerdict(t, r, verify.Proved)
	if len(r.CannotProve) > 0 || r.DeadLetters != 2 || r.DeadLettersFound != 2 || r.Rows != 8 {
		t.Errorf("got %+v", r)
	}
	if want := (verify.LetterTopic{Name: "dead", ID: "id-1", Records: 8, DeadLetters: 3, Foreign: 2}); len(r.LetterTopics) != 1 || r.LetterTopics[0] != want {
		t.Errorf("got %+v, want %+v", r.LetterTopics, want)
	}
}

func TestDeadLettersThatATopicLacksAreFound(t *testing.T) {
	w := newLetterWorld(t)
	r := w.verify(w.withTopic(topicOf(wholeTopic, inTopic(letter{ordersQuery, 0, 3}))))
	wantVerdict(t, r, verify.Broken)
	if p := wantProblem(t, r, verify.DeadLettersMissing); p.Count != 1 || !strings.Contains(p.Evidence, "topic dead has 1") {
		t.Errorf("got %+v", p)
	}
}

func TestWhatATopicCannotTellIsNotProven(t *testing.T) {
	for name, c := range map[string]struct {
		read    verify.ReadTopic
		verdict verify.Verdict
		says    string
	}{
		"it was not read":      {nil, verify.Proved, "verify with --source"},
		"it is gone":           {topicOf(nil), verify.Unproven, "the topic is gone"},
		"it was created again": {topicOf(&verify.TopicState{ID: "id-2", Whole: true}), verify.Unproven, "its id was id-1 and is id-2"},
		"retention has cut it": {topicOf(&verify.TopicState{ID: "id-1"}, inTopic(letter{ordersQuery, 0, 5})), verify.Unproven, "its first ones are gone"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newLetterWorld(t)
			r := w.verify(w.withTopic(c.read))
			wantOK(t, r)
			wantVerdict(t, r, c.verdict)
			said := ""
			for _, l := range r.CannotProve {
				said += l.String() + "\n"
			}
			if !strings.Contains(said, "topic dead") || !strings.Contains(said, c.says) {
				t.Errorf("got %q, want it to say %q", said, c.says)
			}
		})
	}
}

// A query whose dead letters went to a table first and to a topic then.
func TestDeadLettersInATableAndATopicAreAddedUp(t *testing.T) {
	w := newLetterWorld(t)
	d := w.dead(letter{ordersQuery, 0, 3})
	o := w.withLetters(d.table.Metadata().TableUUID().String())
	o.Identity.Tables["deadLetters/topic dead"] = "id-1"
	o.LetterTopics = map[string]verify.ReadTopic{"dead": topicOf(wholeTopic, inTopic(letter{ordersQuery, 0, 3}), inTopic(letter{ordersQuery, 0, 5}))}
	r := w.verify(o)
	wantOK(t, r)
	wantVerdict(t, r, verify.Proved)
	if r.DeadLettersFound != 2 {
		t.Errorf("got %d dead letters, want 2", r.DeadLettersFound)
	}
	o.LetterTopics["dead"] = nil
	r = w.verify(o)
	wantOK(t, r)
	wantVerdict(t, r, verify.Unproven) // the table alone has too few, and where the other is nobody has looked
}
