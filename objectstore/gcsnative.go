package objectstore

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"sluice/objectstore/answer"
)

// gcsNative speaks the JSON API of Google Cloud Storage (https://cloud.google.com/storage/docs/json_api/v1). Google's own
// library would be a quarter of the program, for the sake of gRPC, which nobody here speaks.
type gcsNative struct {
	http interface {
		Do(*http.Request) (*http.Response, error)
	}
	base   string
	bucket string
	// token is nil for requests without credentials.
	token func(ctx context.Context) (string, error)
	// pause is before the first repetition, and doubles.
	pause time.Duration
}

// googleError is an answer that is no success.
type googleError struct {
	status               int
	reason, message, ask string
}

// Error says what before which.
func (e *googleError) Error() string {
	text := e.reason
	if e.message != "" {
		text = strings.TrimPrefix(text+": ", ": ") + e.message
	}
	return fmt.Sprintf("%s (GCS %s, HTTP %d)", text, e.ask, e.status)
}

// ErrorCode and HTTPStatusCode are for answer.Of.
func (e *googleError) ErrorCode() string   { return e.reason }
func (e *googleError) HTTPStatusCode() int { return e.status }

// googleObject is what of an object's metadata counts.
type googleObject struct {
	Name       string    `json:"name"`
	Generation string    `json:"generation"`
	Size       string    `json:"size"`
	Updated    time.Time `json:"updated"`
}

func (o googleObject) entry() (Entry, error) {
	size, err := strconv.ParseInt(o.Size, 10, 64)
	if err != nil {
		return Entry{}, fmt.Errorf("%s has the size %q", o.Name, o.Size)
	}
	return Entry{Key: o.Name, Size: size, Modified: o.Updated}, nil
}

// request is one request, which may be repeated.
type request struct {
	method, url string
	header      map[string]string
	body        []byte
	ok          []int // statuses beside 200 that are no errors
}

func (n *gcsNative) objects(key string, parameters ...string) string {
	at := n.base + "/storage/v1/b/" + url.PathEscape(n.bucket) + "/o"
	if key != "" {
		at += "/" + url.PathEscape(key)
	}
	return at + query(parameters)
}

func (n *gcsNative) upload(parameters ...string) string {
	return n.base + "/upload/storage/v1/b/" + url.PathEscape(n.bucket) + "/o" + query(parameters)
}

// query takes names and values; those without a value are left out.
func query(parameters []string) string {
	values := url.Values{}
	for i := 0; i+1 < len(parameters); i += 2 {
		if parameters[i+1] != "" {
			values.Set(parameters[i], parameters[i+1])
		}
	}
	if len(values) == 0 {
		return ""
	}
	return "?" + values.Encode()
}

const googleAttempts = 4

// do repeats what the server could not answer, up to four attempts in all. The caller closes the body.
func (n *gcsNative) do(ctx context.Context, r request) (*http.Response, error) {
	pause := n.pause
	for attempt := 1; ; attempt++ {
		response, err := n.once(ctx, r)
		if err == nil || attempt == googleAttempts || !worthRepeating(err) || !pauseFor(ctx, pause) {
			return response, err
		}
		pause = min(2*pause, time.Second)
	}
}

// worthRepeating are answers that may be others soon, and none at all.
func worthRepeating(err error) bool {
	var answered *googleError
	if errors.As(err, &answered) {
		return answered.status == http.StatusTooManyRequests || answered.status == http.StatusRequestTimeout || answered.status >= 500 && answered.status != http.StatusNotImplemented
	}
	return answer.Of(err) == answer.Unknown
}

func (n *gcsNative) once(ctx context.Context, r request) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, r.method, r.url, bytes.NewReader(r.body))
	if err != nil {
		return nil, err
	}
	for name, value := range r.header {
		request.Header.Set(name, value)
	}
	if n.token != nil {
		token, err := n.token(ctx)
		if err != nil {
			return nil, err
		}
		request.Header.Set("Authorization", "Bearer "+token)
	}
	response, err := n.http.Do(request)
	var failed *url.Error
	if errors.As(err, &failed) { // whose text is the address with all its parameters
		return nil, failed.Err
	}
	if err != nil {
		return nil, err
	}
	if response.StatusCode == http.StatusOK {
		return response, nil
	}
	for _, status := range r.ok {
		if response.StatusCode == status {
			return response, nil
		}
	}
	defer response.Body.Close()
	return nil, readGoogleError(response, r.method)
}

// The reasons of a 404 that says no more: of the API, and of a text, as requests for media and web servers are answered.
const (
	notFoundReason = "notFound"
	notFoundText   = "Not Found"
)

// readGoogleError takes an answer apart. Requests for media are answered with plain text, as by a web server.
func readGoogleError(response *http.Response, method string) error {
	e := &googleError{status: response.StatusCode, ask: method, reason: http.StatusText(response.StatusCode)}
	var said struct {
		Error struct {
			Message string
			Errors  []struct{ Reason string }
		}
	}
	text, _ := io.ReadAll(io.LimitReader(response.Body, 64<<10))
	if json.Unmarshal(text, &said) != nil {
		if strings.HasPrefix(string(text), "No such object: ") {
			e.reason = answer.NoSuchGoogleObject
		}
		return e
	}
	if e.message = said.Error.Message; len(said.Error.Errors) > 0 && said.Error.Errors[0].Reason != "" {
		e.reason = said.Error.Errors[0].Reason
	}
	switch e.status {
	case http.StatusNotFound:
		e.reason = reasonOf404(e.message)
	case http.StatusPreconditionFailed:
		e.reason = "conditionNotMet"
	}
	return e
}

func reasonOf404(message string) string {
	switch {
	case strings.HasPrefix(message, "No such object"):
		return answer.NoSuchGoogleObject
	case strings.Contains(message, "bucket does not exist"):
		return answer.NoSuchGoogleBucket
	}
	return notFoundReason
}

// ofObject settles a 404 that does not say whether object or bucket is missing: the bucket is asked for a listing.
func (n *gcsNative) ofObject(ctx context.Context, err error) error {
	var answered *googleError
	if !errors.As(err, &answered) || answered.reason != notFoundReason && answered.reason != notFoundText {
		return err
	}
	listed, listErr := n.do(ctx, request{method: http.MethodGet, url: n.objects("", "maxResults", "1", "fields", "kind")})
	if listErr != nil {
		return ofBucket(listErr)
	}
	listed.Body.Close()
	answered.reason = answer.NoSuchGoogleObject
	return err
}

// ofBucket reads a 404 of the API to a request that names no object.
func ofBucket(err error) error {
	var answered *googleError
	if errors.As(err, &answered) && answered.reason == notFoundReason {
		answered.reason = answer.NoSuchGoogleBucket
	}
	return err
}

func (n *gcsNative) advice() advice {
	return advice{rights: "on Google Cloud Storage: storage.objects.get, create, delete and list, as in roles/storage.objectUser",
		credentials: "on Google Cloud: GOOGLE_APPLICATION_CREDENTIALS, gcloud auth application-default login, or the machine's or pod's service account"}
}

func (n *gcsNative) open(ctx context.Context, key string, from, length int64) (io.ReadCloser, Version, error) {
	r := request{method: http.MethodGet, url: n.objects(key, "alt", "media"), ok: []int{http.StatusPartialContent}, header: map[string]string{"Accept-Encoding": "identity"}}
	if wanted := byteRange(from, length); wanted != nil {
		r.header["Range"] = *wanted
	}
	response, err := n.do(ctx, r)
	if err != nil {
		return nil, "", n.ofObject(ctx, err)
	}
	return response.Body, Version(response.Header.Get("X-Goog-Generation")), nil
}

func (n *gcsNative) stat(ctx context.Context, key string) (Entry, error) {
	var o googleObject
	if err := n.json(ctx, request{method: http.MethodGet, url: n.objects(key)}, &o); err != nil {
		return Entry{}, n.ofObject(ctx, err)
	}
	return o.entry()
}

// json makes a request whose answer is a resource.
func (n *gcsNative) json(ctx context.Context, r request, into any) error {
	response, err := n.do(ctx, r)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	return json.NewDecoder(response.Body).Decode(into)
}

func (n *gcsNative) put(ctx context.Context, key string, data []byte, when condition) (Version, error) {
	generation := string(when.match)
	if when.absent {
		generation = "0"
	}
	var o googleObject
	err := n.json(ctx, request{method: http.MethodPost, url: n.upload("uploadType", "media", "name", key, "ifGenerationMatch", generation),
		header: map[string]string{"Content-Type": contentType(key)}, body: data}, &o)
	if err == nil && o.Generation == "" {
		err = errors.New("the answer names no generation")
	}
	return Version(o.Generation), ofBucket(err)
}

// remove has no request for many.
func (n *gcsNative) remove(ctx context.Context, keys []string) error {
	return each(ctx, keys, func(ctx context.Context, key string) error {
		response, err := n.do(ctx, request{method: http.MethodDelete, url: n.objects(key), ok: []int{http.StatusNoContent}})
		if err == nil {
			return response.Body.Close()
		}
		if err = n.ofObject(ctx, err); answer.Of(err) == answer.NotFound {
			return nil
		}
		return err
	})
}

// each does something for some keys at a time, and ends with the first error.
func each(ctx context.Context, keys []string, do func(ctx context.Context, key string) error) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(16)
	for _, key := range keys {
		group.Go(func() error { return do(ctx, key) })
	}
	return group.Wait()
}

func (n *gcsNative) list(ctx context.Context, prefix, after, token string) (page []Entry, next string, err error) {
	var listed struct {
		Items         []googleObject
		NextPageToken string
	}
	if err := n.json(ctx, request{method: http.MethodGet, url: n.objects("", "prefix", prefix, "startOffset", after, "pageToken", token,
		"fields", "items(name,size,updated,generation),nextPageToken")}, &listed); err != nil {
		return nil, "", ofBucket(err)
	}
	for _, o := range listed.Items {
		entry, err := o.entry()
		if err != nil {
			return nil, "", err
		}
		page = append(page, entry)
	}
	return page, listed.NextPageToken, nil
}
