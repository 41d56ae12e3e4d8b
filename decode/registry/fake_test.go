package registry

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"sluice/batch"
)

// fake is a registry that knows what is put into known, and takes no request that a registry would not: wrong paths,
// methods, Accept headers and credentials are refused, and fail the test where no registry is asked so.
type fake struct {
	t *testing.T
	// base is the path below which it is.
	base string
	// authorization is the header that it wants; empty if none may come.
	authorization string

	mu sync.Mutex
	// known are the schemas by path and query.
	known map[string]string
	// troubles are answers that come before those, one for each request.
	troubles []http.HandlerFunc
	asked    []string
}

func newFake(t *testing.T) *fake { return &fake{t: t, known: map[string]string{}} }

// add registers a version of a subject, with the references name=subject@version.
func (f *fake) add(id int, subject string, version int, kind, text string, references ...string) {
	var refs []map[string]any
	for _, r := range references {
		name, where, _ := strings.Cut(r, "=")
		subject, number, _ := strings.Cut(where, "@")
		refs = append(refs, map[string]any{"name": name, "subject": subject, "version": json.Number(number)})
	}
	body := map[string]any{"schema": text, "maxId": 99} // an answer may have more than the reader knows
	if kind != Avro {
		body["schemaType"] = kind
	}
	if refs != nil {
		body["references"] = refs
	}
	f.put(fmt.Sprintf("/schemas/ids/%d", id), body)
	body["id"], body["subject"], body["version"] = id, subject, version
	f.put(fmt.Sprintf("/subjects/%s/versions/%d?deleted=true", escape(subject), version), body)
	f.put(fmt.Sprintf("/subjects/%s/versions/latest", escape(subject)), body)
	f.put(fmt.Sprintf("/subjects/%s/versions/latest?deleted=true", escape(subject)), body)
}

func (f *fake) put(path string, body any) {
	text, err := json.Marshal(body)
	if err != nil {
		f.t.Fatal(err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.known[f.base+path] = string(text)
}

// trouble makes the next answers be others.
func (f *fake) trouble(answers ...http.HandlerFunc) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.troubles = append(f.troubles, answers...)
}

// status is an answer with a status, an error's code and message if there is one, and headers as name, value.
func status(code, errorCode int, message string, headers ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		for i := 0; i < len(headers); i += 2 {
			w.Header().Set(headers[i], headers[i+1])
		}
		w.WriteHeader(code)
		if errorCode != 0 {
			fmt.Fprintf(w, `{"error_code":%d,"message":%q}`, errorCode, message)
		}
	}
}

// count is how many requests came.
func (f *fake) count() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.asked)
}

func (f *fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	path := r.URL.EscapedPath()
	if r.URL.RawQuery != "" {
		path += "?" + r.URL.RawQuery
	}
	f.asked = append(f.asked, path)
	var trouble http.HandlerFunc
	if len(f.troubles) > 0 {
		trouble, f.troubles = f.troubles[0], f.troubles[1:]
	}
	body, ok := f.known[path]
	f.mu.Unlock()

	if r.Method != http.MethodGet || !slices.Equal(r.Header.Values("Accept"), []string{accept}) || r.Header.Get("User-Agent") != "sluice" || r.ContentLength > 0 {
		f.t.Errorf("got a request %s %s with %v", r.Method, path, r.Header)
	}
	switch {
	case trouble != nil:
		trouble(w, r)
	case !slices.Equal(r.Header.Values("Authorization"), slices.DeleteFunc([]string{f.authorization}, func(a string) bool { return a == "" })):
		status(http.StatusUnauthorized, 40101, "Unauthorized: "+r.Header.Get("Authorization"))(w, r)
	case ok:
		w.Header().Set("Content-Type", "application/vnd.schemaregistry.v1+json")
		fmt.Fprint(w, body)
	case strings.HasPrefix(path, f.base+"/schemas/ids/"), strings.HasPrefix(path, f.base+"/schemas/guids/"):
		status(http.StatusNotFound, 40403, "Schema not found")(w, r)
	case strings.HasPrefix(path, f.base+"/subjects/") && strings.Contains(path, "/versions/"):
		status(http.StatusNotFound, 40401, "Subject not found.")(w, r)
	default:
		status(http.StatusNotFound, 404, "HTTP 404 Not Found")(w, r)
	}
}

// network is servers by their host, in this process: time may be that of a testing/synctest bubble.
type network map[string]http.Handler

var errRefused = errors.New("connect: connection refused")

func (n network) RoundTrip(r *http.Request) (*http.Response, error) {
	server, ok := n[r.URL.Host]
	if !ok {
		return nil, errRefused
	}
	if r.Body == nil {
		r.Body = http.NoBody
	}
	recorder := httptest.NewRecorder()
	server.ServeHTTP(recorder, r)
	if err := r.Context().Err(); err != nil { // the server took too long
		return nil, err
	}
	response := recorder.Result()
	response.Request = r
	return response, nil
}

// client is one of the properties, on the network. Its random pauses are the longest ones.
func (n network) client(t *testing.T, properties map[string]string) *Client {
	t.Helper()
	c, err := New(Options{Properties: properties})
	if err != nil {
		t.Fatal(err)
	}
	c.http.Transport = n
	if c.tokens != nil {
		c.tokens.client.Transport = n
	}
	c.random = func() float64 { return 1 }
	return c
}

// at is properties with nothing but the address.
func at(url string, more ...string) map[string]string {
	properties := map[string]string{"schema.registry.url": url}
	for i := 0; i < len(more); i += 2 {
		properties[more[i]] = more[i+1]
	}
	return properties
}

// wantFault fails unless err is a fault of the class that says all of the texts, in its message or its hint.
func wantFault(t *testing.T, err error, class batch.Class, texts ...string) {
	t.Helper()
	if err == nil || batch.ClassOf(err) != class || batch.HintOf(err) == "" {
		t.Fatalf("got %v (%v), hint %q, want a fault that is %v, with a hint", err, batch.ClassOf(err), batch.HintOf(err), class)
	}
	said := err.Error() + "\n" + batch.HintOf(err)
	for _, text := range texts {
		if !strings.Contains(said, text) {
			t.Errorf("got %s, want %q in it", said, text)
		}
	}
}
