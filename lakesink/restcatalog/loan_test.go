package restcatalog

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"
)

// lending is a loan whose catalog lends keys that live so long; it fails while down is set.
func lending(t *testing.T, c *clock, life time.Duration) (l *Loan, asked *int, down *bool) {
	t.Helper()
	asked, down = new(int), new(bool)
	lent := func() map[string]string {
		properties := map[string]string{"s3.access-key-id": fmt.Sprint("key-", *asked)}
		if life != 0 {
			properties["s3.session-token-expires-at-ms"] = fmt.Sprint(c.Now().Add(life).UnixMilli())
		}
		return properties
	}
	at, err := url.Parse("http://catalog/v1/namespaces/db/tables/orders")
	if err != nil {
		t.Fatal(err)
	}
	l = &Loan{base: map[string]string{"s3.region": "eu-west-1"}, location: "s3://bkt/orders", url: at, header: http.Header{}, now: c.Now, ask: func(r *http.Request) (*http.Response, error) {
		if *down {
			return nil, errors.New("the catalog is down")
		}
		*asked++
		p := lent()
		return &http.Response{StatusCode: 200, Body: io.NopCloser(strings.NewReader(fmt.Sprintf(`{"config":{"s3.access-key-id":%q,"s3.session-token-expires-at-ms":%q}}`, p["s3.access-key-id"], p["s3.session-token-expires-at-ms"])))}, nil
	}}
	l.take(lent())
	return l, asked, down
}

func keyOf(t *testing.T, l *Loan) string {
	t.Helper()
	lent, err := l.Credentials(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if lent.Properties["s3.region"] != "eu-west-1" {
		t.Errorf("got %v, want what the job says of the store as well", lent.Properties)
	}
	return lent.Properties["s3.access-key-id"]
}

func TestALoanIsRenewedBeforeItsEnd(t *testing.T) {
	for life, early := range map[time.Duration]time.Duration{time.Hour: 5 * time.Minute, 6 * time.Minute: 3 * time.Minute, 10 * time.Second: 5 * time.Second} {
		c := newClock()
		l, asked, _ := lending(t, c, life)
		_ = c.Sleep(t.Context(), life-early-time.Second)
		if got := keyOf(t, l); got != "key-0" || *asked != 0 {
			t.Errorf("%s: got %s, asked %d times, before its time", life, got, *asked)
		}
		_ = c.Sleep(t.Context(), 2*time.Second)
		if got := keyOf(t, l); got != "key-1" || *asked != 1 {
			t.Errorf("%s: got %s, asked %d times, want the next key", life, got, *asked)
		}
		if keyOf(t, l); *asked != 1 {
			t.Errorf("%s: asked %d times, want once", life, *asked)
		}
	}
}

func TestALoanLastsToItsEndWhereTheCatalogIsDown(t *testing.T) {
	c := newClock()
	l, _, down := lending(t, c, time.Hour)
	*down = true
	_ = c.Sleep(t.Context(), 58*time.Minute)
	if got := keyOf(t, l); got != "key-0" {
		t.Errorf("got %s", got)
	}
	_ = c.Sleep(t.Context(), 3*time.Minute)
	if _, err := l.Credentials(t.Context()); err == nil || !strings.Contains(err.Error(), "renew the credentials that the catalog lends for s3://bkt/orders: the catalog is down") {
		t.Errorf("got %v", err)
	}
	*down = false
	if got := keyOf(t, l); got != "key-1" {
		t.Errorf("got %s after the catalog came back", got)
	}
}

func TestALoanThatTheStoreRefusesIsRenewedOnce(t *testing.T) {
	l, asked, _ := lending(t, newClock(), 0)
	number := l.Number()
	l.Refused(number)
	l.Refused(number)
	if got := keyOf(t, l); got != "key-1" || *asked != 1 {
		t.Errorf("got %s, asked %d times", got, *asked)
	}
	l.Refused(number) // by a request that was sent before
	if keyOf(t, l); *asked != 1 {
		t.Errorf("asked %d times, want once", *asked)
	}
}

// A machine whose clock is ahead does not ask with every request.
func TestALoanThatHasEndedByAWrongClockIsUsed(t *testing.T) {
	c := newClock()
	l, asked, _ := lending(t, c, -time.Minute)
	for range 5 {
		keyOf(t, l)
	}
	if *asked != 0 {
		t.Errorf("asked %d times within a moment", *asked)
	}
	_ = c.Sleep(t.Context(), time.Minute)
	for range 5 {
		keyOf(t, l)
	}
	if *asked != 1 {
		t.Errorf("asked %d times in a minute, want once", *asked)
	}
}

func TestWhatIsLentForTheLongestPrefixCounts(t *testing.T) {
	l := loaned{Config: map[string]string{"s3.session-token": "of something else", "s3.region": "eu-west-1"}}
	for _, prefix := range []string{"s3", "s3://bkt/sales/", "s3://bkt/", "gs"} {
		l.Credentials = append(l.Credentials, struct {
			Prefix string            `json:"prefix"`
			Config map[string]string `json:"config"`
		}{prefix, map[string]string{"s3.access-key-id": prefix}})
	}
	for location, want := range map[string]string{"s3://bkt/sales/orders": "s3://bkt/sales/", "s3://bkt/x": "s3://bkt/", "s3://other/x": "s3", "/local": ""} {
		got, lent := l.lent(location)
		if got["s3.access-key-id"] != want || !lent || got["s3.region"] != "eu-west-1" || want != "" && got["s3.session-token"] != "" {
			t.Errorf("%s: got %v, %t, want the key of %s alone", location, got, lent, want)
		}
	}
	if _, lent := (&loaned{Config: map[string]string{"s3.region": "eu-west-1"}}).lent("s3://bkt/x"); lent {
		t.Error("a region is no credential")
	}
}
