package restcatalog

import (
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/apache/iceberg-go/table"
)

// learn reads what iceberg-go keeps to itself: what the configuration says of the line, and what is lent with a table.
func (l *line) learn(r *http.Request, resp *http.Response) error {
	seen, _ := r.Context().Value(sightingKey{}).(*sighting)
	config := r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, "/v1/config")
	if !config && seen == nil {
		return nil
	}
	body, err := io.ReadAll(resp.Body)
	_ = resp.Body.Close()
	if err != nil {
		return err
	}
	if config {
		body, err = l.configured(r.URL, body)
	} else {
		seen.see(r, body)
	}
	put(resp, body)
	return err
}

// configured takes in the server's configuration: defaults count below the job's properties, overrides above. What is left of
// it is for iceberg-go.
func (l *line) configured(at *url.URL, body []byte) ([]byte, error) {
	whole := map[string]json.RawMessage{}
	var config struct{ Defaults, Overrides map[string]string }
	if json.Unmarshal(body, &whole) != nil || json.Unmarshal(body, &config) != nil {
		return body, &Stranger{Status: http.StatusOK}
	}
	merged := maps.Clone(config.Defaults)
	if merged == nil {
		merged = map[string]string{}
	}
	for _, layer := range []map[string]string{config.Defaults, l.given, config.Overrides} {
		if token, ok := layer[keyTokenAlias]; ok && layer[keyTokenURI] == "" {
			merged[keyTokenURI] = token
		}
		maps.Copy(merged, layer)
	}
	if err := l.follow(at, merged); err != nil {
		return body, err
	}
	for name, layer := range map[string]map[string]string{"defaults": config.Defaults, "overrides": config.Overrides} {
		for _, key := range append(slices.Clone(authKeys), keySnapshots) {
			delete(layer, key)
		}
		whole[name], _ = json.Marshal(layer) // of texts
	}
	return json.Marshal(whole)
}

// follow goes on with other properties. A proof that stays the same keeps its token.
func (l *line) follow(at *url.URL, merged map[string]string) error {
	base := *at
	base.Path, base.RawPath, base.RawQuery = strings.TrimSuffix(at.Path, "/v1/config"), "", ""
	l.mu.Lock()
	defer l.mu.Unlock()
	if other, err := url.Parse(merged["uri"]); err == nil && other.Host != "" {
		l.hosts[other.Host] = true
		base = *other
		base.Path = strings.TrimRight(base.Path, "/")
	}
	changed := base.Host != at.Host
	for _, key := range authKeys {
		changed = changed || merged[key] != l.merged[key]
	}
	l.merged = merged
	if !changed {
		return nil
	}
	p, err := l.proofOf(&base, merged)
	if err == nil {
		l.proof = p
	}
	return err
}

// sighting is what the answer to the loading of a table holds beside its metadata.
type sighting struct {
	// stage makes a creation one that is not carried out.
	stage bool
	// url and header are the request's, to ask again.
	url    *url.URL
	header http.Header
	loaned
}

type sightingKey struct{}

// loaned is the part of the answer that speaks of the store.
type loaned struct {
	Config      map[string]string `json:"config"`
	Credentials []struct {
		Prefix string            `json:"prefix"`
		Config map[string]string `json:"config"`
	} `json:"storage-credentials"`
}

func (s *sighting) see(r *http.Request, body []byte) {
	var l loaned
	if json.Unmarshal(body, &l) != nil {
		return // iceberg-go says what is wrong
	}
	s.url, s.header, s.loaned = r.URL, r.Header.Clone(), l
}

// lent are the properties that hold credentials, those of the longest prefix of the location last. The second result is false
// where there are none.
func (l *loaned) lent(location string) (map[string]string, bool) {
	properties := maps.Clone(l.Config)
	if properties == nil {
		properties = map[string]string{}
	}
	best := -1
	for i, c := range l.Credentials {
		if strings.HasPrefix(location, c.Prefix) && (best < 0 || len(c.Prefix) >= len(l.Credentials[best].Prefix)) {
			best = i
		}
	}
	if best >= 0 {
		forget(properties, l.Credentials[best].Config)
		maps.Copy(properties, l.Credentials[best].Config)
	}
	return properties, slices.ContainsFunc(slices.Collect(maps.Keys(properties)), isCredential)
}

// credentialKeys are names of properties, or the beginnings of such, that hold credentials for a store.
var credentialKeys = []string{"s3.access-key-id", "s3.secret-access-key", "s3.session-token", "gcs.oauth2.token", "adls.sas-token", "adls.connection-string", "adls.auth.shared-key"}

func isCredential(name string) bool {
	return slices.ContainsFunc(credentialKeys, func(key string) bool { return strings.HasPrefix(name, key) })
}

// forget removes credentials of another origin for the same store: a key without a session token must not go with the token of
// another key.
func forget(properties, lent map[string]string) {
	for name := range lent {
		store, _, _ := strings.Cut(name, ".")
		if !isCredential(name) {
			continue
		}
		maps.DeleteFunc(properties, func(other, _ string) bool { return strings.HasPrefix(other, store+".") && isCredential(other) })
	}
}

// loanOf is what the server lends for the store of a table, nil if nothing.
func (l *line) loanOf(seen *sighting, t *table.Table) *Loan {
	lent, ok := seen.lent(t.Location())
	if !ok || seen.url == nil {
		return nil
	}
	base := map[string]string(passedOn(l.properties()))
	maps.Copy(base, t.Properties())
	forget(base, lent)
	loan := &Loan{base: base, location: t.Location(), now: l.now, ask: func(r *http.Request) (*http.Response, error) {
		return (&http.Client{Transport: l, CheckRedirect: noRedirect}).Do(r)
	}, url: seen.url, header: seen.header}
	loan.take(lent)
	return loan
}

// properties are the job's and the server's.
func (l *line) properties() map[string]string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.merged
}

// staged makes the body of a creation that of one which is not carried out.
func staged(body []byte) ([]byte, error) {
	whole := map[string]json.RawMessage{}
	if err := json.Unmarshal(body, &whole); err != nil {
		return nil, err
	}
	whole["stage-create"] = json.RawMessage("true")
	return json.Marshal(whole)
}

func noRedirect(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
