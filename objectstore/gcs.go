package objectstore

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/google"

	"sluice/objectstore/answer"
)

// GCS says which bucket of Google Cloud Storage, and where it is asked for.
type GCS struct {
	Bucket string
	// Endpoint is another server that speaks like it: http://host:port. The default is STORAGE_EMULATOR_HOST, which is asked
	// without credentials, or Google's.
	Endpoint string
	// Anonymous asks without credentials.
	Anonymous bool
	// Token is an OAuth 2 access token; KeyFile and KeyJSON are the path and the text of a file of credentials. Without any of
	// them Application Default Credentials count: GOOGLE_APPLICATION_CREDENTIALS, what gcloud has stored, or the metadata server
	// of the machine.
	Token, KeyFile, KeyJSON string
	// TokenFrom gives the token of each request instead, where tokens are lent and end.
	TokenFrom func(context.Context) (string, error)
}

const (
	googleEndpoint = "https://storage.googleapis.com"
	googleScope    = "https://www.googleapis.com/auth/devstorage.read_write"
)

// OpenGCS returns a whole bucket. Its keys may be any: they are those that other programs wrote down. No request is made
// yet, and no credentials are looked for.
func OpenGCS(o GCS) *Cloud {
	emulator := os.Getenv("STORAGE_EMULATOR_HOST")
	n := &gcsNative{bucket: o.Bucket, base: o.Endpoint, pause: 100 * time.Millisecond, http: answer.Whole(newHTTP())}
	switch {
	case o.Endpoint != "":
	case emulator != "":
		n.base = emulator
		o.Anonymous = true
	default:
		n.base = googleEndpoint
	}
	if !strings.Contains(n.base, "://") {
		n.base = "http://" + n.base
	}
	n.base = strings.TrimRight(n.base, "/")
	if !o.Anonymous {
		n.token = tokensOf(o)
	}
	name := "gs://" + o.Bucket
	if n.base != googleEndpoint {
		name += " at " + withoutUser(n.base)
	}
	return &Cloud{native: n, name: name, timeout: Timeout, anyKey: true}
}

// newHTTP is Go's own client with a connection for each worker and its parts. A redirection is an answer like others.
func newHTTP() *http.Client {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.MaxIdleConnsPerHost = 32
	t.ResponseHeaderTimeout = partTimeout
	return &http.Client{Transport: t, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

// tokensOf finds credentials when the first token is needed.
func tokensOf(o GCS) func(ctx context.Context) (string, error) {
	if o.TokenFrom != nil {
		return o.TokenFrom
	}
	if o.Token != "" {
		return func(context.Context) (string, error) { return o.Token, nil }
	}
	source := sync.OnceValues(func() (oauth2.TokenSource, error) { return sourceOf(o) })
	return func(ctx context.Context) (string, error) {
		token, err := waiting(ctx, func() (string, error) {
			s, err := source()
			if err != nil {
				return "", err
			}
			t, err := s.Token()
			if err != nil {
				return "", err
			}
			return t.AccessToken, nil
		})
		if err != nil && ctx.Err() == nil && !passing(err) {
			err = answer.WithoutCredentials(err)
		}
		return token, err
	}
}

// passing are failures of whoever hands out tokens that say nothing of the credentials.
func passing(err error) bool {
	var network *net.OpError
	var refused *oauth2.RetrieveError
	return errors.As(err, &network) || errors.As(err, &refused) && refused.Response != nil && refused.Response.StatusCode >= http.StatusInternalServerError
}

// sourceOf finds what makes tokens. It outlives the request that asks first.
func sourceOf(o GCS) (oauth2.TokenSource, error) {
	ctx, text := context.Background(), []byte(o.KeyJSON)
	if o.KeyFile != "" {
		var err error
		if text, err = os.ReadFile(o.KeyFile); err != nil {
			return nil, err
		}
	}
	if len(text) == 0 {
		found, err := google.FindDefaultCredentials(ctx, googleScope)
		if err != nil {
			return nil, err
		}
		return found.TokenSource, nil
	}
	var key struct{ Type google.CredentialsType }
	if err := json.Unmarshal(text, &key); err != nil || key.Type == "" {
		return nil, errors.New("the key is no JSON of Google's with a type")
	}
	found, err := google.CredentialsFromJSONWithType(ctx, text, key.Type, googleScope)
	if err != nil {
		return nil, err
	}
	return found.TokenSource, nil
}

// waiting is for what does not end with a context: it goes on by itself, and is not waited for any more.
func waiting[T any](ctx context.Context, f func() (T, error)) (T, error) {
	type result struct {
		value T
		err   error
	}
	done := make(chan result, 1)
	go func() {
		value, err := f()
		done <- result{value, err}
	}()
	select {
	case r := <-done:
		return r.value, r.err
	case <-ctx.Done():
		var none T
		return none, context.Cause(ctx)
	}
}

// openGCS opens gs://bucket/folder.
func openGCS(u *url.URL) (Folder, error) {
	query := u.Query()
	folder, err := folderOf(u, query)
	if err != nil {
		return nil, err
	}
	o := GCS{Bucket: u.Host, Endpoint: query.Get("endpoint")}
	if o.Anonymous, err = flag(query, "anonymous"); err != nil {
		return nil, badURL(u, "%w", err)
	}
	if err := onlyKnown(query, "anonymous", "endpoint", "prefix"); err != nil {
		return nil, badURL(u, "%w", err)
	}
	if o.Endpoint != "" && os.Getenv("STORAGE_EMULATOR_HOST") != "" {
		o.Anonymous = true
	}
	return OpenGCS(o).in(folder), nil
}

// in is a folder of the bucket.
func (c *Cloud) in(folder string) *Cloud {
	bucket, at, elsewhere := strings.Cut(c.name, " at ")
	c.prefix, c.name, c.anyKey = folder+"/", bucket+"/"+folder, false
	if elsewhere {
		c.name += " at " + at
	}
	return c
}

// folderOf is the folder in a bucket that an address names by its path or by the parameter prefix.
func folderOf(u *url.URL, query url.Values) (string, error) {
	folder := strings.Trim(strings.Trim(u.Path, "/")+"/"+strings.Trim(query.Get("prefix"), "/"), "/")
	switch {
	case u.Host == "":
		return "", badURL(u, "no bucket")
	case folder == "":
		return "", badURL(u, "no folder: name one in the bucket: %s://%s/FOLDER", u.Scheme, u.Host)
	}
	if err := CheckPath(folder); err != nil {
		return "", badURL(u, "the folder %w", err)
	}
	return folder, nil
}

// flag is a parameter that is true or false; false if it is missing.
func flag(query url.Values, name string) (bool, error) {
	switch query.Get(name) {
	case "", "false":
		return false, nil
	case "true":
		return true, nil
	}
	return false, errors.New("parameter " + name + " is neither true nor false")
}

// onlyKnown refuses parameters that nobody reads. Their values are not shown: there may be secrets among them.
func onlyKnown(query url.Values, known ...string) error {
	for name := range query {
		if !slices.Contains(known, name) {
			return errors.New("unknown parameter " + name + ": there are " + strings.Join(known, ", "))
		}
	}
	return nil
}
