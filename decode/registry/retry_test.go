package registry

import (
	"net/http"
	"slices"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"sluice/batch"
)

// https://github.com/confluentinc/schema-registry/issues/3391: a registry that is busy says nothing about the schema.
func TestABusyRegistryIsAskedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t)
		f.add(7, "money-value", 1, Avro, money)
		f.trouble(
			status(http.StatusTooManyRequests, 429, "Too many requests", "Retry-After", "7"), // instead of 500 ms
			status(http.StatusServiceUnavailable, 0, ""),                                     // 1 s
			status(http.StatusInternalServerError, 50001, "Error in the backend datastore"),  // 2 s
			status(http.StatusRequestTimeout, 0, "", "Retry-After", "soon"),                  // 4 s
		)
		began := time.Now()
		s, err := network{"r:8081": f}.client(t, at("http://r:8081")).Schema(t.Context(), Number(7))
		if err != nil || s.Text != money || f.count() != 5 {
			t.Errorf("got %+v, %v after %d requests", s, err, f.count())
		}
		if took := time.Since(began); took != 14*time.Second {
			t.Errorf("took %s, want 14s", took)
		}
	})
}

func TestARegistryThatStaysBusyIsNoFaultOfARecord(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t)
		f.add(7, "money-value", 1, Avro, money)
		for range 6 {
			f.trouble(status(http.StatusServiceUnavailable, 50003, "Error while forwarding"))
		}
		began := time.Now()
		_, err := network{"r:8081": f}.client(t, at("http://r:8081")).Schema(t.Context(), Number(7))
		wantFault(t, err, batch.Failed, "http://r:8081 answers 503", "Error while forwarding", "run again")
		if took := time.Since(began); f.count() != 6 || took != (500+1000+2000+4000+8000)*time.Millisecond {
			t.Errorf("got %d requests in %s", f.count(), took)
		}
	})
}

func TestPausesAreRandomAndBounded(t *testing.T) {
	c := network{}.client(t, at("http://r:8081", "retries.wait.ms", "1000", "retries.max.wait.ms", "5000"))
	var got []time.Duration
	for round := range 5 {
		got = append(got, c.backoff(round))
	}
	if want := []time.Duration{time.Second, 2 * time.Second, 4 * time.Second, 5 * time.Second, 5 * time.Second}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if got := c.backoff(1 << 20); got != 5*time.Second {
		t.Errorf("got %v", got)
	}
	c.random = func() float64 { return 0.25 }
	if got := c.backoff(1); got != 500*time.Millisecond {
		t.Errorf("got %v", got)
	}
}

func TestALongRetryAfterIsNotWaitedForInVain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t)
		f.trouble(status(http.StatusTooManyRequests, 0, "", "Retry-After", "3600"))
		began := time.Now()
		_, err := network{"r:8081": f}.client(t, at("http://r:8081")).Schema(t.Context(), Number(7))
		wantFault(t, err, batch.Failed, "answers 429")
		if took := time.Since(began); took != 0 || f.count() != 1 {
			t.Errorf("got %d requests in %s", f.count(), took)
		}
	})
}

func TestARetryAfterMayBeATimeOfDay(t *testing.T) {
	response := func(date, after string) *http.Response {
		return &http.Response{Header: http.Header{"Date": {date}, "Retry-After": {after}}}
	}
	const now, soon = "Mon, 30 Nov 2026 11:02:05 GMT", "Mon, 30 Nov 2026 11:02:35 GMT"
	for _, c := range []struct {
		date, after string
		want        time.Duration
	}{{now, soon, 30 * time.Second}, {soon, now, 0}, {now, "12", 12 * time.Second}, {now, "-12", 0}, {now, "", 0}, {now, "1e3", 0}, {"", now, 0}} {
		if c.date == "" {
			c.after = time.Now().Add(-time.Hour).UTC().Format(http.TimeFormat)
		}
		if got := retryAfter(response(c.date, c.after)); got != c.want {
			t.Errorf("%s, %s: got %s, want %s", c.date, c.after, got, c.want)
		}
	}
}

func TestANoIsNotAskedForAgain(t *testing.T) {
	for _, code := range []int{400, 402, 404, 405, 406, 409, 410, 415, 422, 501, 204, 206, 300, 304} {
		f := newFake(t)
		f.trouble(status(code, 0, ""))
		_, err := network{"r:8081": f}.client(t, at("http://r:8081")).Schema(t.Context(), Number(7))
		wantFault(t, err, batch.NotSetUp, "http://r:8081 answers "+strconv.Itoa(code))
		if f.count() != 1 {
			t.Errorf("%d: got %d requests, want 1", code, f.count())
		}
	}
}

func TestTheNextServerIsAskedWhenOneDoesNotAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		busy, good := newFake(t), newFake(t)
		good.add(7, "money-value", 1, Avro, money)
		good.add(8, "order-value", 1, Avro, money)
		busy.trouble(status(http.StatusBadGateway, 0, "", "Retry-After", "60"))
		c := network{"busy": busy, "good": good}.client(t, at("http://down , http://busy,http://good/"))
		began := time.Now()
		for _, id := range []int32{7, 8} {
			if s, err := c.Schema(t.Context(), Number(id)); err != nil || s.Text != money {
				t.Errorf("got %+v, %v", s, err)
			}
		}
		// The second schema is asked for where the first was found.
		if took := time.Since(began); took != 0 || busy.count() != 1 || good.count() != 2 {
			t.Errorf("got %d and %d requests in %s", busy.count(), good.count(), took)
		}
	})
}

func TestEveryServerIsNamedWhenNoneAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for urls, want := range map[string]string{
			"http://down,http://busy": "http://down: connect: connection refused; http://busy answers 502",
			"http://busy,http://down": "http://busy answers 502; http://down: connect: connection refused",
		} {
			busy := newFake(t)
			for range 2 {
				busy.trouble(status(http.StatusBadGateway, 0, "", "Retry-After", "60"))
			}
			began := time.Now()
			_, err := network{"busy": busy}.client(t, at(urls, "max.retries", "1")).Schema(t.Context(), Number(7))
			wantFault(t, err, batch.Failed, want)
			if took := time.Since(began); took != time.Minute || busy.count() != 2 {
				t.Errorf("got %d requests in %s", busy.count(), took)
			}
		}
	})
}

func TestAnAnswerThatBreaksOffIsAskedForAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t)
		f.add(7, "money-value", 1, Avro, money)
		n := &cut{network{"r:8081": f}, 1}
		c := network{}.client(t, at("http://r:8081"))
		c.http.Transport = n
		if s, err := c.Schema(t.Context(), Number(7)); err != nil || s.Text != money || f.count() != 2 {
			t.Errorf("got %+v, %v after %d requests", s, err, f.count())
		}
	})
}

// cut ends the first answers within their bodies.
type cut struct {
	network network
	times   int
}

func (c *cut) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := c.network.RoundTrip(r)
	if err == nil && c.times > 0 {
		c.times--
		response.Body = brokenBody{}
	}
	return response, err
}

type brokenBody struct{}

func (brokenBody) Read([]byte) (int, error) { return 0, errRefused }
func (brokenBody) Close() error             { return nil }
