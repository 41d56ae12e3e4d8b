package faultproxy

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// store is a server that remembers what was put, and answers with a text of ten letters.
type store struct {
	mu    sync.Mutex
	put   []string
	hosts []string
}

func (s *store) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hosts = append(s.hosts, r.Host)
	if err != nil {
		return
	}
	if r.Method == http.MethodPut {
		s.put = append(s.put, string(body))
	}
	_, _ = io.WriteString(w, "ten bytes.")
}

func (s *store) applied() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.put...)
}

// staged is a proxy in front of a store, and a client that repeats nothing.
func staged(t *testing.T, dialect Dialect) (*Proxy, *store, *http.Client) {
	t.Helper()
	s := &store{}
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	p, err := New(server.URL, dialect)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p, s, &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
}

// put puts a text, on a condition, and returns status and body.
func put(t *testing.T, client *http.Client, url, body string) (int, string, http.Header, error) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPut, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("If-None-Match", "*")
	answer, err := client.Do(r)
	if err != nil {
		return 0, "", nil, err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	return answer.StatusCode, string(text), answer.Header, err
}

func TestEachFaultAnswersAsItSaysAndAppliesAsItSays(t *testing.T) {
	var killed atomic.Int32
	for _, c := range []struct {
		fault   Fault
		name    string
		status  int
		text    string
		applied bool
	}{
		{Delay(time.Nanosecond), "delay", 200, "ten bytes.", true},
		{Reset(false), "reset not applied", 0, "", false},
		{Reset(true), "reset applied", 0, "", true},
		{Kill(false, func() { killed.Add(1) }), "kill not applied", 0, "", false},
		{Kill(true, func() { killed.Add(1) }), "kill applied", 0, "", true},
		{Status(500, false), "500 not applied", 500, "<Code>InternalError</Code>", false},
		{Status(500, true), "500 applied", 500, "<Code>InternalError</Code>", true},
		{Status(502, true), "502 applied", 502, "<h1>502 Bad Gateway</h1>", true},
		{Status(503, false), "503 not applied", 503, "<Code>SlowDown</Code>", false},
		{Status(504, false), "504 not applied", 504, "<h1>504 Gateway Timeout</h1>", false},
		{Busy(), "429 not applied", 429, "<Code>TooManyRequests</Code>", false},
		{Conflict(), "409 not applied", 409, "<Code>ConditionalRequestConflict</Code>", false},
		{Status(409, true), "409 applied", 409, "<Code>ConditionalRequestConflict</Code>", true},
		{RefusedThoughApplied(), "412 applied", 412, "<Code>PreconditionFailed</Code>", true},
		{CutAnswer(), "answer cut", 200, "ten b", true},
		{CutRequest(), "request cut", 0, "", false},
		{IdleConnection(), "RequestTimeout", 400, "<Code>RequestTimeout</Code>", false},
		{Skewed(time.Hour), "RequestTimeTooSkewed", 403, "<Code>RequestTimeTooSkewed</Code>", false},
		{Expired(), "expired credentials", 400, "<Code>ExpiredToken</Code>", false},
		{WrongDate(time.Hour), "wrong Date", 200, "ten bytes.", true},
	} {
		p, s, client := staged(t, S3)
		p.Follow(Nth(1, c.fault))
		status, text, _, err := put(t, client, p.URL+"/lake/key", "content")
		if status != c.status || !strings.Contains(text, c.text) || (err != nil) != (c.status == 0 || c.name == "answer cut") {
			t.Errorf("%s: got %d %q, %v", c.name, status, text, err)
		}
		if got := len(s.applied()) == 1; got != c.applied {
			t.Errorf("%s: got applied %v", c.name, got)
		}
		want := []Strike{{1, c.name, "PUT /lake/key"}}
		if got := p.Dealt(); !reflect.DeepEqual(got, want) {
			t.Errorf("got %v, want %v", got, want)
		}
		if status, text, _, err := put(t, client, p.URL+"/lake/key", "again"); status != 200 || text != "ten bytes." || err != nil {
			t.Errorf("%s: the next request: got %d %q, %v", c.name, status, text, err)
		}
		if got := s.applied(); got[len(got)-1] != "again" {
			t.Errorf("%s: got %q", c.name, got)
		}
	}
	if killed.Load() != 2 {
		t.Errorf("killed %d times, want 2", killed.Load())
	}
}

func TestAnswersTellWhenToComeAgainAndWhatTimeItIs(t *testing.T) {
	p, _, client := staged(t, Iceberg)
	p.Follow(Nth(1, Busy()))
	status, text, header, err := put(t, client, p.URL, "x")
	if status != 429 || header.Get("Retry-After") != "1" || text != `{"error":{"message":"Too many requests.","type":"TooManyRequestsException","code":429}}` || err != nil {
		t.Errorf("got %d %q %v, %v", status, text, header, err)
	}
	for _, fault := range []Fault{Skewed(time.Hour), WrongDate(time.Hour)} {
		p.Follow(Nth(1, fault))
		before := time.Now()
		_, _, header, _ = put(t, client, p.URL, "x")
		date, err := http.ParseTime(header.Get("Date"))
		if ahead := date.Sub(before); err != nil || len(header.Values("Date")) != 1 || ahead < 59*time.Minute || ahead > 61*time.Minute {
			t.Errorf("%s: got a Date that is %v ahead, %v", fault.Name, ahead, err)
		}
	}
}

func TestEachDialectHasItsOwnWords(t *testing.T) {
	for _, c := range []struct {
		dialect Dialect
		fault   Fault
		status  int
		text    string
		header  string
	}{
		{GCS, Status(503, false), 503, `"reason":"backendError"`, ""},
		{GCS, RefusedThoughApplied(), 412, `"reason":"conditionNotMet"`, ""},
		{GCS, Expired(), 401, `"reason":"authError"`, ""},
		{Iceberg, Status(404, false), 404, `"type":"NoSuchTableException"`, ""},
		{Azure, Status(503, false), 503, "<Code>ServerBusy</Code>", "ServerBusy"},
		{Azure, Status(502, false), 502, "<h1>502 Bad Gateway</h1>", ""},
		{Azure, Expired(), 403, "<Code>AuthenticationFailed</Code>", "AuthenticationFailed"},
	} {
		p, _, client := staged(t, c.dialect)
		p.Follow(Nth(1, c.fault))
		status, text, header, err := put(t, client, p.URL, "x")
		if status != c.status || !strings.Contains(text, c.text) || header.Get("x-ms-error-code") != c.header || err != nil {
			t.Errorf("%s: got %d %q, %v, %v", c.fault.Name, status, text, header, err)
		}
	}
}

// Google's conditions are parameters of uploads.
func TestAConditionOfGooglesIsOne(t *testing.T) {
	p, _, client := staged(t, GCS)
	p.Follow(Nth(1, RefusedThoughApplied()))
	for _, c := range []struct {
		query string
		want  int
	}{{"", 200}, {"?ifGenerationMatch=0", 412}} {
		answer, err := client.Post(p.URL+"/upload"+c.query, "text/plain", strings.NewReader("x"))
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		if answer.StatusCode != c.want {
			t.Errorf("%q: got %d, want %d", c.query, answer.StatusCode, c.want)
		}
	}
}

func TestTheHostIsPassedOnSinceItIsSigned(t *testing.T) {
	p, s, client := staged(t, S3)
	if _, _, _, err := put(t, client, p.URL, "x"); err != nil {
		t.Fatal(err)
	}
	if got, want := s.hosts, []string{strings.TrimPrefix(p.URL, "http://")}; !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestAHeadIsAnsweredWithoutABody(t *testing.T) {
	p, _, client := staged(t, S3)
	p.Follow(Nth(1, Status(503, false)))
	answer, err := client.Head(p.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if text, err := io.ReadAll(answer.Body); answer.StatusCode != 503 || len(text) != 0 || err != nil {
		t.Errorf("got %d %q, %v", answer.StatusCode, text, err)
	}
}

func TestARequestWhoseClientHasGoneIsCarriedOutAllTheSame(t *testing.T) {
	p, s, client := staged(t, S3)
	p.Follow(Nth(1, Reset(true)))
	if _, _, _, err := put(t, client, p.URL, "content"); err == nil || errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("got %v, want a broken connection", err)
	}
	if got := s.applied(); !reflect.DeepEqual(got, []string{"content"}) {
		t.Errorf("got %q", got)
	}
}

// followed asks a plan about so many requests, GET and PUT in turn, and writes down what it says.
func followed(plan Plan, n int) []string {
	var said []string
	for i := range n {
		r := Request{Verb: http.MethodGet, Object: "/lake/key"}
		if i%2 == 1 {
			r.Verb, r.Conditional = http.MethodPut, true
		}
		if fault := plan(i+1, r); fault != nil {
			said = append(said, fmt.Sprintf("%d %s %s", i+1, r.Verb, fault.Name))
		}
	}
	return said
}

func TestNthCountsOnlyWhatTheFaultFits(t *testing.T) {
	if got, want := followed(Nth(3, Conflict()), 20), []string{"6 PUT 409 not applied"}; !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if got, want := followed(Nth(3, Reset(true)), 20), []string{"3 GET reset applied"}; !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if commit := CommitConflict(true); !commit.Fits(Request{Verb: "POST", Object: "/v1/namespaces/a/tables/b"}) || commit.Fits(Request{Verb: "POST", Object: "/v1/namespaces"}) || commit.Fits(Request{Verb: "GET", Object: "/v1/namespaces/a/tables/b"}) {
		t.Error("a conflict of commits fits something else")
	}
	if gone := Forgotten(); !gone.Fits(Request{Verb: "GET", Object: "/v1/namespaces/a/tables/b"}) || gone.Fits(Request{Verb: "POST", Object: "/v1/namespaces/a/tables/b"}) || gone.Fits(Request{Verb: "GET", Object: "/v1/config"}) {
		t.Error("a table that is not there for a moment fits something else")
	}
	if got, want := followed(Each(Conflict()), 5), []string{"2 PUT 409 not applied", "4 PUT 409 not applied"}; !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if got := followed(Nth(11, Conflict()), 20); got != nil {
		t.Errorf("got %v after the last one", got)
	}
}

func TestTheSameSeedDrawsTheSameFaultsAndAboutAsManyAsAskedFor(t *testing.T) {
	faults := []Fault{Reset(true), Conflict(), Status(503, false)}
	first, again := followed(Drawn(7, 0.1, faults...), 4000), followed(Drawn(7, 0.1, faults...), 4000)
	if !reflect.DeepEqual(first, again) {
		t.Error("one seed drew two plans")
	}
	if reflect.DeepEqual(first, followed(Drawn(8, 0.1, faults...), 4000)) {
		t.Error("two seeds drew one plan")
	}
	if n := len(first); n < 300 || n > 500 {
		t.Errorf("got %d faults of 4000 requests, want about 400", n)
	}
	counts := map[string]int{}
	for _, line := range first {
		if strings.Contains(line, "GET 409") {
			t.Errorf("got %s, which does not fit", line)
		}
		counts[line[strings.Index(line, " ")+1:]]++
	}
	if len(counts) != 5 {
		t.Errorf("got %v, want each fault that fits", counts)
	}
	if got := followed(Drawn(7, 1, Conflict()), 3); !reflect.DeepEqual(got, []string{"2 PUT 409 not applied"}) {
		t.Errorf("got %v where nothing else fits", got)
	}
}

func TestThePlansOfFirstAllCount(t *testing.T) {
	got := followed(First(Nth(2, Reset(true)), Nth(2, Status(503, false)), Nth(3, Busy())), 6)
	if want := []string{"2 PUT reset applied", "3 GET 429 not applied"}; !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
