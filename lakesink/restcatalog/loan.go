package restcatalog

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"
)

const (
	// margin is how long before their end credentials are renewed; half their life, if that is shorter.
	margin = 5 * time.Minute
	// skewed is how long credentials are used that have ended by the clock of this machine: the store's own counts.
	skewed = 30 * time.Second
)

// Loan is what a catalog lends of a store for one table: credentials, which may end before whoever uses them is done. It is
// safe for use by several goroutines.
type Loan struct {
	base     map[string]string
	location string
	url      *url.URL
	header   http.Header
	ask      func(*http.Request) (*http.Response, error)
	now      func() time.Time

	mu   sync.Mutex
	held Credentials
	// refused says that the store no longer takes what is held; soon is when it is renewed.
	refused bool
	soon    time.Time
}

// Credentials are properties of a store, with credentials among them.
type Credentials struct {
	Properties map[string]string
	// Until is when they are to be asked for again; the zero time if nothing is known of an end.
	Until time.Time
	// Number tells them from those before and after.
	Number int
}

// Credentials are those that are good now. They are asked for anew when their end is near, or when the store has refused them;
// where that fails, those that have not ended yet are good for as long.
func (l *Loan) Credentials(ctx context.Context) (Credentials, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.refused && (l.soon.IsZero() || l.now().Before(l.soon)) {
		return l.held, nil
	}
	lent, err := l.renew(ctx)
	if err != nil {
		if end := endOf(l.held.Properties); !l.refused && !end.IsZero() && l.now().Before(end) {
			held := l.held
			held.Until = end
			return held, nil
		}
		return Credentials{}, fmt.Errorf("renew the credentials that the catalog lends for %s: %w", l.location, err)
	}
	l.take(lent)
	return l.held, nil
}

// Refused says that the store did not take the credentials of this number: the next who asks gets others.
func (l *Loan) Refused(number int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if number == l.held.Number {
		l.refused = true
	}
}

// Number is that of the credentials in use.
func (l *Loan) Number() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.held.Number
}

func (l *Loan) take(lent map[string]string) {
	properties := maps.Clone(l.base)
	maps.Copy(properties, lent)
	l.refused, l.soon = false, time.Time{}
	switch end, now := endOf(properties), l.now(); {
	case end.IsZero():
	case !now.Before(end):
		l.soon = now.Add(skewed)
	default:
		l.soon = end.Add(-min(margin, end.Sub(now)/2))
	}
	l.held = Credentials{Properties: properties, Until: l.soon, Number: l.held.Number + 1}
}

// renew loads the table again, without its history: every catalog that lends does so there, and few have more for it.
func (l *Loan) renew(ctx context.Context) (map[string]string, error) {
	at := *l.url
	query := at.Query()
	query.Set("snapshots", "refs")
	at.RawQuery = query.Encode()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, at.String(), nil)
	if err != nil {
		return nil, err
	}
	r.Header = l.header.Clone()
	resp, err := l.ask(r)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode != http.StatusOK {
		_, message, _ := answered(body)
		return nil, fmt.Errorf("HTTP %d: %s", resp.StatusCode, message)
	}
	var found loaned
	if err := json.Unmarshal(body, &found); err != nil {
		return nil, fmt.Errorf("read what is lent: %w", err)
	}
	lent, ok := found.lent(l.location)
	if !ok {
		return nil, fmt.Errorf("the catalog lends none any more")
	}
	return lent, nil
}

// endKeys are the properties that say when credentials end, in milliseconds since 1970; some are the beginning of one for each
// account.
var endKeys = []string{"s3.session-token-expires-at-ms", "gcs.oauth2.token-expires-at", "adls.sas-token-expires-at-ms", "expiration-time"}

// endOf is the earliest end of credentials.
func endOf(properties map[string]string) time.Time {
	var end time.Time
	for name, value := range properties {
		for _, key := range endKeys {
			ms, err := strconv.ParseInt(value, 10, 64)
			if at := time.UnixMilli(ms); (name == key || strings.HasPrefix(name, key+".")) && err == nil && ms > 0 && (end.IsZero() || at.Before(end)) {
				end = at
			}
		}
	}
	return end
}
