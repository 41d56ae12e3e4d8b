package cmd_test

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

// schemaRegistry speaks Confluent's protocol, as much of it as reading takes: schemas by id, and the newest of a subject.
// Whatever else it is asked is an error of the test.
type schemaRegistry struct {
	*httptest.Server
	mu       sync.Mutex
	schemas  map[string]map[string]any
	subjects map[string]map[string]any
	down     bool
	asked    map[string]int
	t        testing.TB
}

func newSchemaRegistry(t testing.TB) *schemaRegistry {
	t.Helper()
	r := &schemaRegistry{t: t, schemas: map[string]map[string]any{}, subjects: map[string]map[string]any{}, asked: map[string]int{}}
	r.Server = httptest.NewServer(r)
	t.Cleanup(r.Close)
	return r
}

// register makes a schema the newest of its subject.
func (r *schemaRegistry) register(subject, kind, text string, references ...map[string]any) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	id := len(r.schemas) + 1
	version := 1
	if before := r.subjects[subject]; before != nil {
		version = before["version"].(int) + 1
	}
	body := map[string]any{"schema": text, "schemaType": kind, "references": references}
	r.schemas[fmt.Sprint(id)] = body
	r.subjects[subject] = map[string]any{"subject": subject, "version": version, "id": id, "schema": text, "schemaType": kind, "references": references}
	r.subjects[fmt.Sprintf("%s/%d", subject, version)] = r.subjects[subject]
	return id
}

// guid gives a schema a GUID as well, in its usual form.
func (r *schemaRegistry) guid(id int, guid string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.schemas[guid] = r.schemas[fmt.Sprint(id)]
}

func (r *schemaRegistry) fail(down bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.down = down
}

func (r *schemaRegistry) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.asked[q.URL.Path]++
	if user, password, _ := q.BasicAuth(); user != "etl" || password != "hunter2" {
		r.t.Errorf("%s came from %q", q.URL, user)
	}
	var body map[string]any
	switch parts := strings.Split(strings.Trim(q.URL.Path, "/"), "/"); {
	case r.down:
		http.Error(w, `{"error_code":50003,"message":"no leader"}`, http.StatusServiceUnavailable)
		return
	case len(parts) == 3 && parts[0] == "schemas" && (parts[1] == "ids" || parts[1] == "guids"):
		body = r.schemas[parts[2]]
	case len(parts) == 4 && parts[0] == "subjects" && parts[2] == "versions" && parts[3] == "latest":
		body = r.subjects[parts[1]]
	case len(parts) == 4 && parts[0] == "subjects" && parts[2] == "versions":
		body = r.subjects[parts[1]+"/"+parts[3]]
	default:
		r.t.Errorf("nobody asks a registry for %s", q.URL)
	}
	w.Header().Set("Content-Type", "application/vnd.schemaregistry.v1+json")
	if body == nil {
		w.WriteHeader(http.StatusNotFound)
		body = map[string]any{"error_code": 40403, "message": "Schema not found"}
	}
	if err := json.NewEncoder(w).Encode(body); err != nil {
		r.t.Error(err)
	}
}

// registered is a pipeline of values in a format whose schemas are in the registry.
func registered(t testing.TB, k *kafka, r *schemaRegistry, format string) *pipeline {
	t.Helper()
	return newPipeline(t, k).with("--value-format", format, "--schema-registry-url", r.URL, "--set", "schemaRegistry.max.retries=0").
		inEnvironment("SLUICE_SCHEMAREGISTRY_BASIC_AUTH_USER_INFO=etl:hunter2")
}

// inEnvironment writes a variable's value into the job, as a secret has no flag.
func (p *pipeline) inEnvironment(pair string) *pipeline {
	q := *p
	q.environ = append(append([]string{}, p.environ...), pair)
	return &q
}

// mentions fails the test unless stdout or stderr has all of the parts.
func (o *outcome) mentions(parts ...string) *outcome {
	o.t.Helper()
	for _, part := range parts {
		if !strings.Contains(o.stdout+o.stderr, part) {
			o.t.Errorf("%s\ngot\n%s\n%s\nwant %q", o.line, o.stdout, o.stderr, part)
		}
	}
	return o
}

// datum is Avro: integers as zigzag varints, text with its length before it.
func datum(values ...any) []byte {
	var out []byte
	for _, v := range values {
		switch v := v.(type) {
		case int:
			out = binary.AppendVarint(out, int64(v))
		case string:
			out = append(binary.AppendVarint(out, int64(len(v))), v...)
		}
	}
	return out
}

func framedBy(id int, value []byte) string {
	return string(append(binary.BigEndian.AppendUint32([]byte{0}, uint32(id)), value...))
}
