package registry

import (
	"context"
	"errors"
	"net/http"
	"reflect"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"sluice/batch"
)

const money = `{"type":"record","name":"Money","namespace":"shop","fields":[{"name":"cents","type":"long"}]}`

func TestASchemaIsReadByNumberByGUIDAndAsTheLatest(t *testing.T) {
	f := newFake(t)
	f.add(7, "money-value", 3, Avro, money)
	f.add(8, "order-value", 1, Protobuf, `syntax = "proto3"; message Order {}`)
	f.add(9, "cart-value", 1, JSON, `{"type":"object"}`)
	f.put("/schemas/guids/89791cf2-6fbd-4b9c-8b28-d695a40f5f1c", map[string]any{"schema": money, "schemaType": "AVRO", "guid": "89791cf2-6fbd-4b9c-8b28-d695a40f5f1c"})
	c := network{"r:8081": f}.client(t, at("http://r:8081"))

	for id, want := range map[ID]Schema{
		Number(7):  {ID: Number(7), Type: "AVRO", Text: money},
		Number(8):  {ID: Number(8), Type: "PROTOBUF", Text: `syntax = "proto3"; message Order {}`},
		Number(9):  {ID: Number(9), Type: "JSON", Text: `{"type":"object"}`},
		GUID(guid): {ID: GUID(guid), Type: "AVRO", Text: money},
	} {
		got, err := c.Schema(t.Context(), id)
		if err != nil || !reflect.DeepEqual(*got, want) {
			t.Errorf("%s: got %+v, %v, want %+v", id, got, err, want)
		}
	}
	got, err := c.Latest(t.Context(), Subject("money", false))
	want := Schema{ID: Number(7), Type: "AVRO", Text: money, Subject: "money-value", Version: 3}
	if err != nil || !reflect.DeepEqual(*got, want) {
		t.Errorf("got %+v, %v, want %+v", got, err, want)
	}
	if got := Subject("money", true); got != "money-key" {
		t.Errorf("got %s", got)
	}
}

func TestAnIDIsAskedForOnceAndTheLatestEachTime(t *testing.T) {
	f := newFake(t)
	f.add(7, "money-value", 1, Avro, money)
	c := network{"r:8081": f}.client(t, at("http://r:8081"))
	for range 100 {
		if _, err := c.Schema(t.Context(), Number(7)); err != nil {
			t.Fatal(err)
		}
	}
	if got := f.count(); got != 1 {
		t.Errorf("got %d requests, want 1", got)
	}
	first, err := c.Latest(t.Context(), "money-value")
	if err != nil {
		t.Fatal(err)
	}
	f.add(12, "money-value", 2, Avro, money+" ")
	second, err := c.Latest(t.Context(), "money-value")
	if err != nil || first.Version != 1 || second.Version != 2 || second.ID != Number(12) {
		t.Errorf("got %+v, then %+v, %v", first, second, err)
	}
}

// https://github.com/confluentinc/schema-registry/issues/1975
func TestASchemaThatIsMissingIsAskedForAgain(t *testing.T) {
	f := newFake(t)
	c := network{"r:8081": f}.client(t, at("http://r:8081"))
	_, err := c.Schema(t.Context(), Number(42))
	wantFault(t, err, batch.NotSetUp, "schema 42", "http://r:8081 answers 404", "Schema not found", "has to be registered again")
	if !errors.Is(err, ErrNotFound) || f.count() != 1 {
		t.Errorf("got %v after %d requests", err, f.count())
	}
	_, err = c.Latest(t.Context(), "none-value")
	wantFault(t, err, batch.NotSetUp, `subject "none-value"`, "Subject not found", "name the subject")
	if !errors.Is(err, ErrNotFound) {
		t.Errorf("got %v", err)
	}
	f.add(42, "money-value", 1, Avro, money)
	if _, err := c.Schema(t.Context(), Number(42)); err != nil {
		t.Errorf("got %v", err)
	}
}

func TestAWrongAddressIsNotTakenForAMissingSchema(t *testing.T) {
	f := newFake(t)
	f.base = "/apis/ccompat/v7"
	f.add(7, "money-value", 1, Avro, money)
	n := network{"r:8081": f}
	_, err := n.client(t, at("http://r:8081")).Schema(t.Context(), Number(7))
	wantFault(t, err, batch.NotSetUp, "answers 404", "/apis/ccompat/v7")
	if errors.Is(err, ErrNotFound) {
		t.Errorf("got %v", err)
	}
	// Apicurio 3 answers so to a path that it does not know.
	f.trouble(status(http.StatusNotFound, 0, ""))
	_, err = n.client(t, at("http://r:8081")).Schema(t.Context(), GUID(guid))
	wantFault(t, err, batch.NotSetUp, "89791cf2-6fbd-4b9c-8b28-d695a40f5f1c", "answers 404", "does not know GUIDs")
	if errors.Is(err, ErrNotFound) {
		t.Errorf("got %v", err)
	}
	if _, err := n.client(t, at("http://r:8081/apis/ccompat/v7/")).Schema(t.Context(), Number(7)); err != nil {
		t.Errorf("got %v", err)
	}
}

func TestSomethingThatIsNoSchemaIsRefused(t *testing.T) {
	for body, want := range map[string]string{
		"<html>Sign in</html>":      `something that is no schema "text/html"`,
		"":                          "something that is no schema",
		"[]":                        "something that is no schema",
		`{"schema":7}`:              "something that is no schema",
		`{"subject":"money-value"}`: "something that is no schema",
		`{"schema":"<a/>","schemaType":"X\u001b[31m"}`:   `type "X\x1b[31m", which is neither`,
		`{"schema":"` + strings.Repeat("x", 2000) + `"}`: "sends more than 1000 bytes",
	} {
		f := newFake(t)
		f.trouble(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			_, _ = w.Write([]byte(body))
		})
		c := network{"r:8081": f}.client(t, at("http://r:8081"))
		c.maxBytes = 1000
		_, err := c.Schema(t.Context(), Number(7))
		wantFault(t, err, batch.NotSetUp, "http://r:8081", want)
		if f.count() != 1 {
			t.Errorf("%q: got %d requests, want 1", body, f.count())
		}
	}
}

func TestALatestSchemaHasAnID(t *testing.T) {
	f := newFake(t)
	f.put("/subjects/money-value/versions/latest", map[string]any{"schema": money})
	_, err := network{"r:8081": f}.client(t, at("http://r:8081")).Latest(t.Context(), "money-value")
	wantFault(t, err, batch.NotSetUp, "has no id")
}

func TestSubjectsOfAnyNameStayOnePartOfThePath(t *testing.T) {
	f := newFake(t)
	c := network{"r:8081": f}.client(t, at("http://r:8081"))
	for subject, path := range map[string]string{
		"a/b": "a%2Fb", "..": "%2E%2E", ".": "%2E", "a b?c#d%2Fe+f": "a%20b%3Fc%23d%252Fe+f", "größe-value": "gr%C3%B6%C3%9Fe-value", ":.ctx:orders-value": ":.ctx:orders-value",
	} {
		f.put("/subjects/"+path+"/versions/latest", map[string]any{"schema": money, "id": len(subject)})
		got, err := c.Latest(t.Context(), subject)
		if err != nil || got.ID != Number(int32(len(subject))) || got.Subject != subject {
			t.Errorf("%s: got %+v, %v", subject, got, err)
		}
	}
}

// held is a registry that answers when it is told to.
type held struct {
	behind http.Handler
	free   chan struct{}
}

func (h held) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	select {
	case <-h.free:
		h.behind.ServeHTTP(w, r)
	case <-r.Context().Done():
	}
}

func TestManyWhoAskForOneSchemaShareOneRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t)
		f.add(7, "money-value", 1, Avro, money)
		h := held{f, make(chan struct{})}
		c := network{"r:8081": h}.client(t, at("http://r:8081"))
		var workers sync.WaitGroup
		for range 50 {
			workers.Go(func() {
				if s, err := c.Schema(t.Context(), Number(7)); err != nil || s.Text != money {
					t.Errorf("got %+v, %v", s, err)
				}
			})
		}
		synctest.Wait()
		close(h.free)
		workers.Wait()
		if got := f.count(); got != 1 {
			t.Errorf("got %d requests, want 1", got)
		}
	})
}

func TestWhoGivesUpDoesNotFailTheOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t)
		f.add(7, "money-value", 1, Avro, money)
		h := held{f, make(chan struct{})}
		c := network{"r:8081": h}.client(t, at("http://r:8081"))
		impatient, cancel := context.WithCancelCause(t.Context())
		stopped := errors.New("the run was stopped")
		var workers sync.WaitGroup
		workers.Go(func() {
			if _, err := c.Schema(impatient, Number(7)); !errors.Is(err, stopped) || batch.HintOf(err) != "" {
				t.Errorf("got %v, want that %v", err, stopped)
			}
		})
		synctest.Wait()
		workers.Go(func() {
			if s, err := c.Schema(t.Context(), Number(7)); err != nil || s.Text != money {
				t.Errorf("got %+v, %v", s, err)
			}
		})
		synctest.Wait()
		cancel(stopped)
		synctest.Wait()
		close(h.free)
		workers.Wait()
	})
}

func TestALookupEndsInBoundedTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := held{nil, make(chan struct{})} // never
		c := network{"r:8081": h, "s:8081": h}.client(t, at("http://r:8081,http://s:8081"))
		began := time.Now()
		_, err := c.Schema(t.Context(), Number(7))
		wantFault(t, err, batch.Failed, "http://r:8081: no answer in time", "run again")
		if took := time.Since(began); took != 2*time.Minute {
			t.Errorf("took %s", took)
		}
	})
}

func TestNothingIsAskedWhenItIsTooLate(t *testing.T) {
	f := newFake(t)
	ended, end := context.WithCancel(t.Context())
	end()
	_, err := network{"r:8081": f}.client(t, at("http://r:8081")).Schema(ended, Number(7))
	if !errors.Is(err, context.Canceled) || f.count() != 0 {
		t.Errorf("got %v after %d requests", err, f.count())
	}
}
