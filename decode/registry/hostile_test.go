package registry

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"

	"sluice/batch"
)

// lying is a server with one answer to everything, over a real connection, and a client of it that is not patient.
func lying(t *testing.T, answer http.HandlerFunc, more ...string) (*Client, *httptest.Server) {
	t.Helper()
	server := httptest.NewServer(answer)
	t.Cleanup(server.Close)
	c, err := New(Options{Properties: at(server.URL, append([]string{"max.retries", "0"}, more...)...)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c, server
}

// A server may be anything that listens at an address. Whatever it sends, a lookup ends with what it did, and takes no more
// memory than an answer may have.
func TestAServerThatLiesEndsTheLookupWithWhatItDid(t *testing.T) {
	const schema = `"schema":"\"int\""`
	for name, c := range map[string]struct {
		answer http.HandlerFunc
		class  batch.Class
		want   string
	}{
		"another id": {func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, `{`+schema+`,"id":8}`) },
			batch.NotSetUp, "answers with schema 8 instead"},
		"half an object": {func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, `{`+schema) },
			batch.NotSetUp, "answers with something that is no schema"},
		"a sign-in page": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			_, _ = io.WriteString(w, "<html>Sign in</html>")
		}, batch.NotSetUp, `something that is no schema "text/html"`},
		"no end": {func(w http.ResponseWriter, r *http.Request) {
			for block := strings.Repeat(" ", 1<<16); r.Context().Err() == nil; {
				if _, err := io.WriteString(w, block); err != nil {
					return
				}
			}
		}, batch.NotSetUp, "sends more than 4194304 bytes"},
		"50 MB": {func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, `{"schema":"`+strings.Repeat("x", 50<<20)+`"}`)
		}, batch.NotSetUp, "sends more than 4194304 bytes"},
		"brackets": {func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, `{`+schema+`,"x":`+strings.Repeat("[", 2<<20))
		}, batch.NotSetUp, "something that is no schema"},
		"a promise of more": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "1000")
			_, _ = io.WriteString(w, `{`+schema+`}`)
		}, batch.Failed, "unexpected EOF"},
		"a promise of less": {func(w http.ResponseWriter, _ *http.Request) {
			if connection, _, err := w.(http.Hijacker).Hijack(); err == nil {
				_, _ = io.WriteString(connection, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n{"+schema+"}")
				_ = connection.Close()
			}
		}, batch.NotSetUp, "something that is no schema"},
		"a flood of headers": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("X", strings.Repeat("x", 1<<20))
			_, _ = io.WriteString(w, `{`+schema+`}`)
		}, batch.Failed, "header"},
		"round and round": {func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, r.URL.Path+"/x", http.StatusFound) },
			batch.NotSetUp, "redirects more than 5 times"},
		"a message of a megabyte": {func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusBadRequest)
			fmt.Fprintf(w, `{"error_code":400,"message":"%s"}`, strings.Repeat(`\u001b[2J`, 1<<17))
		}, batch.NotSetUp, `answers 400 "\x1b[2J`},
		"nothing but a drip": {func(w http.ResponseWriter, r *http.Request) {
			for r.Context().Err() == nil {
				_, _ = io.WriteString(w, " ")
				w.(http.Flusher).Flush()
			}
		}, batch.Failed, "no answer in time"},
	} {
		client, server := lying(t, c.answer, "http.read.timeout.ms", map[bool]string{true: "200", false: "20000"}[name == "nothing but a drip"])
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := client.Schema(t.Context(), Number(7))
		runtime.ReadMemStats(&after)
		t.Run(name, func(t *testing.T) {
			wantFault(t, err, c.class, "ask the schema registry for schema 7", server.URL, c.want)
		})
		if errors.Is(err, ErrNotFound) || len(err.Error()) > 1000 {
			t.Errorf("%s: got %v", name, err)
		}
		if took := (after.TotalAlloc - before.TotalAlloc) >> 20; took > 200 {
			t.Errorf("%s: took %d MiB", name, took)
		}
	}
}

// A load balancer before several servers, of which one lacks the schema and one is ill: a no ends the lookup, an illness
// does not, and neither is remembered.
func TestANoAndAnIllnessInTurnAreToldApart(t *testing.T) {
	n := 0
	client, _ := lying(t, func(w http.ResponseWriter, r *http.Request) {
		if n++; n%2 == 1 {
			status(http.StatusInternalServerError, 50001, "backend")(w, r)
		} else {
			status(http.StatusNotFound, 40403, "Schema not found")(w, r)
		}
	})
	for round := range 4 {
		_, err := client.Schema(t.Context(), Number(7))
		if missing := errors.Is(err, ErrNotFound); missing != (round%2 == 1) {
			t.Errorf("round %d: got %v", round, err)
		}
		wantFault(t, err, map[bool]batch.Class{false: batch.Failed, true: batch.NotSetUp}[round%2 == 1])
	}
	if n != 4 {
		t.Errorf("got %d requests, want 4", n)
	}
}

// A hundred thousand references cost no more than the thousand that are allowed, and as many of one name cost one.
func TestAHundredThousandReferencesAreRefused(t *testing.T) {
	for name, want := range map[string]struct {
		format   string
		requests int
		fault    string
	}{
		"of many names": {`{"name":"n%d","subject":"b"}`, 1 + 1000, "there are more than 1000 references"},
		"of one name":   {`{"name":"n","subject":"b%d"}`, 1 + 1, ""},
	} {
		var references []string
		for i := range 100_000 {
			references = append(references, fmt.Sprintf(want.format, i))
		}
		n := 0
		client, _ := lying(t, func(w http.ResponseWriter, r *http.Request) {
			if n++; strings.HasPrefix(r.URL.Path, "/schemas/") {
				_, _ = io.WriteString(w, `{"schema":"s","references":[`+strings.Join(references, ",")+`]}`)
			} else {
				_, _ = io.WriteString(w, `{"schema":"b"}`)
			}
		})
		s, err := client.Schema(t.Context(), Number(7))
		if want.fault != "" {
			wantFault(t, err, batch.NotSetUp, want.fault)
		} else if err != nil || len(s.References) != 1 {
			t.Errorf("%s: got %v", name, err)
		}
		if n != want.requests {
			t.Errorf("%s: got %d requests, want %d", name, n, want.requests)
		}
	}
}
