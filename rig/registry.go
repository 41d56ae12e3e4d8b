package rig

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/sr"
)

// SchemaRegistry is a real schema registry, Apicurio's, with Confluent's API. It has no GUIDs.
type SchemaRegistry struct {
	// URL is the address of the API.
	URL string
	// Client is a client of another make, to register schemas with.
	Client *sr.Client
}

// Registry is the shared schema registry, started on first use. It keeps its schemas until it is stopped, and gives a
// schema that it has the same id again: a test works on subjects of its own.
func Registry(tb testing.TB) SchemaRegistry {
	tb.Helper()
	url, err := StartRegistry()
	if err != nil {
		tb.Fatal(err)
	}
	client, err := sr.NewClient(sr.URLs(url))
	if err != nil {
		tb.Fatalf("make a client of the schema registry %s: %v", url, err)
	}
	return SchemaRegistry{URL: url, Client: client}
}

// Subject is a subject that no other test, process or run has.
func (r SchemaRegistry) Subject(tb testing.TB) string { return fresh(tb) + "-value" }

// Register registers a schema as the newest version of the subject, and tells version and id.
func (r SchemaRegistry) Register(tb testing.TB, subject string, schema sr.Schema) (version int, id int32) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	made, err := r.Client.CreateSchema(ctx, subject, schema)
	if err != nil {
		tb.Fatalf("register %s: %v", subject, err)
	}
	return made.Version, int32(made.ID)
}

var registry = sync.OnceValues(func() (string, error) {
	out, err := command("registry", "start")
	return strings.TrimSpace(out), err
})

// StartRegistry starts the shared schema registry, or finds it running, and returns its URL. It is Registry for callers
// that are no tests.
func StartRegistry() (string, error) { return registry() }
