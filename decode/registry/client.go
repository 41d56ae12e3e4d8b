package registry

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/singleflight"

	"sluice/batch"
)

// The types of schemas.
const (
	Avro     = "AVRO"
	Protobuf = "PROTOBUF"
	JSON     = "JSON"
)

// ErrNotFound is in the chain of an error where a registry has answered that it has no such schema, subject or version. The
// error is a NotSetUp fault besides. It is not remembered: the next call asks again.
var ErrNotFound = errors.New("registry: not found")

// Schema is a schema with all that it refers to. It is shared and must not be changed.
type Schema struct {
	// ID is what it was asked for by; that of Latest is its number.
	ID ID
	// Type is Avro, Protobuf or JSON.
	Type string
	// Text is the schema: JSON, or a .proto file.
	Text string
	// References are the schemas that Text refers to, and those that they refer to, each after the ones that it needs
	// itself.
	References []Reference
	// Subject and Version are where Latest found it, or where the registry said that it is; empty and 0 if it did not say.
	Subject string
	Version int
}

// Reference is a schema that another refers to.
type Reference struct {
	// Name is what the other schema calls it: the full name of an Avro type, the import path of a .proto file, the URI of
	// a $ref.
	Name string
	// Subject and Version are where it is registered.
	Subject string
	Version int
	// Text is the schema.
	Text string
}

// Options are what a Client needs to know.
type Options struct {
	// Properties are the registry's address and how to reach it, under Confluent's names (PropertyTable, Check).
	Properties map[string]string
	// Lookup bounds how long one lookup may take, with its references and retries. 2 minutes if 0.
	Lookup time.Duration
	// MaxBytes bounds an answer, and a schema with all its references: making columns of it takes many times as much. 4 MiB
	// if 0; registries take 1 MiB as a rule.
	MaxBytes int64
	// UserAgent is how the client names itself to the registry; sluice if empty.
	UserAgent string
}

// Client asks a schema registry. It may be used by several goroutines at once; a schema that several ask for is asked for
// once.
type Client struct {
	settings  settings
	lookup    time.Duration
	maxBytes  int64
	userAgent string
	http      *http.Client
	tokens    *tokens // nil without OAuth
	// answering is the server that answered last.
	answering atomic.Int64
	flights   singleflight.Group

	mu       sync.Mutex
	schemas  map[ID]*Schema
	versions map[string]*answer // of references, by their path

	// random is below 1. Tests replace it.
	random func() float64
}

// New makes a client. It asks nothing yet. The error, a NotSetUp fault, tells all that is wrong with the properties.
func New(o Options) (*Client, error) {
	s, faults := read(o.Properties)
	var errs []error
	for i := range faults {
		errs = append(errs, &faults[i])
	}
	config, err := s.files.Config("schema registry property")
	if err = errors.Join(append(errs, err)...); err != nil {
		return nil, &batch.Fault{Class: batch.NotSetUp, Hint: "Correct the properties of the schema registry.", Err: err}
	}
	c := &Client{
		settings:  s,
		lookup:    cmp.Or(o.Lookup, 2*time.Minute),
		maxBytes:  cmp.Or(o.MaxBytes, 4<<20),
		userAgent: cmp.Or(o.UserAgent, "sluice"),
		schemas:   map[ID]*Schema{},
		versions:  map[string]*answer{},
		random:    rand.Float64,
	}
	c.http = &http.Client{Transport: transport(s, config), CheckRedirect: c.redirected}
	if s.oauth != (oauthClient{}) {
		c.tokens = newTokens(s.oauth, c.http.Transport)
	}
	return c, nil
}

// Close ends the connections that wait for another request. The client can be used on.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// Schema is the schema with the ID. It is asked for once in the life of the client, since it never changes. What the
// registry denies is a NotSetUp fault, ErrNotFound if it has no such schema; that it cannot be reached, or is too busy, is
// a Failed fault, after retries. The end of ctx ends the waiting.
func (c *Client) Schema(ctx context.Context, id ID) (*Schema, error) {
	if s := c.known(id); s != nil {
		return s, nil
	}
	path := "/schemas/ids/" + id.String()
	if id.byGUID {
		path = "/schemas/guids/" + id.String()
	}
	return c.once(ctx, path, func(ctx context.Context) (*Schema, error) {
		if s := c.known(id); s != nil { // since the look above
			return s, nil
		}
		a, err := c.get(ctx, path, wantedSchema(id))
		if err == nil && !id.byGUID && a.ID != 0 && a.ID != id.number {
			err = c.another(fmt.Sprintf("schema %d", a.ID), wantedSchema(id))
		}
		if err != nil {
			return nil, err
		}
		return c.complete(ctx, id, a)
	})
}

// Latest is the newest schema of the subject. Every call asks the registry: a run that asks once reads all its batches
// with one schema, and the next run sees what was registered since. Errors are those of Schema.
func (c *Client) Latest(ctx context.Context, subject string) (*Schema, error) {
	path := "/subjects/" + escape(subject) + "/versions/latest"
	return c.once(ctx, path, func(ctx context.Context) (*Schema, error) {
		want := wanted{what: "the latest schema of subject " + strconv.Quote(subject), ifMissing: wrongSubject, ifNowhere: wrongAddress}
		a, err := c.get(ctx, path, want)
		if err != nil {
			return nil, err
		}
		if a.ID <= 0 {
			return nil, c.explain(&refusal{from: c.settings.endpoints[c.answering.Load()], what: "answers with a schema that has no id"}, want)
		}
		a.Subject = cmp.Or(a.Subject, subject)
		return c.complete(ctx, Number(a.ID), a)
	})
}

// another is the fault of a server, or of a cache before it, that answers with something else than what it was asked for.
func (c *Client) another(what string, want wanted) error {
	return c.explain(&refusal{from: c.settings.endpoints[c.answering.Load()], what: "answers with " + what + " instead"}, want)
}

// Subject is the subject under which the schemas of a topic's values, or keys, are registered, by the default of
// Confluent's clients (TopicNameStrategy).
func Subject(topic string, keys bool) string {
	if keys {
		return topic + "-key"
	}
	return topic + "-value"
}

func (c *Client) known(id ID) *Schema {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.schemas[id]
}

// complete makes the schema of an answer, with its references, and remembers it.
func (c *Client) complete(ctx context.Context, id ID, a *answer) (*Schema, error) {
	references, err := c.references(ctx, a)
	if err != nil {
		return nil, fmt.Errorf("read what schema %s refers to: %w", id, err)
	}
	s := &Schema{ID: id, Type: a.Type, Text: a.Schema, References: references, Subject: a.Subject, Version: a.Version}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.schemas[id] = s
	return s, nil
}

// once lets those who ask for the same at the same time share one lookup. It outlives the one who asked first, so that
// the end of one context is not the failure of the others.
func (c *Client) once(ctx context.Context, path string, lookup func(context.Context) (*Schema, error)) (*Schema, error) {
	gaveUp := func() error { return fmt.Errorf("ask the schema registry for %s: %w", path, context.Cause(ctx)) }
	if ctx.Err() != nil {
		return nil, gaveUp()
	}
	flight := c.flights.DoChan(path, func() (any, error) {
		bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), c.lookup)
		defer cancel()
		return lookup(bounded)
	})
	select {
	case <-ctx.Done():
		return nil, gaveUp()
	case result := <-flight:
		s, _ := result.Val.(*Schema)
		return s, result.Err
	}
}

// pause waits for d, or returns the error of ctx.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return nil
	}
}
