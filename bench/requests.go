package main

import (
	"context"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"sluice/rig"
)

// measureRequests counts the requests of runs that keep table and checkpoint on S3. The catalog is a local database.
func (b *bench) measureRequests(ctx context.Context) error {
	b.begin("requests", "requests to S3, counted by a proxy, of runs with warehouse and checkpoint there")
	if err := b.provide(ctx, b.small); err != nil {
		return err
	}
	environ, err := rig.StartS3()
	if err != nil {
		return err
	}
	counter, err := startCounter(environ["AWS_ENDPOINT_URL_S3"])
	if err != nil {
		return err
	}
	defer counter.server.Close()
	s := *b.starter
	s.environ = counter.environ(environ)
	dir, discard, err := b.folder()
	if err != nil {
		return err
	}
	defer discard()
	place := "s3://lake/" + filepath.Base(filepath.Dir(dir))
	args := b.runArgs(b.small, place+"/warehouse", "--checkpoint", place+"/checkpoint", "--catalog-uri", filepath.Join(filepath.Dir(dir), "catalog.db"),
		"--max-offsets-per-trigger", "8000")
	count := func(batches string) (map[string]int, error) {
		counter.reset()
		_, _, err := s.run(ctx, b.sluice, append(slices.Clone(args), "--max-batches", batches)...)
		return counter.reset(), err
	}
	if _, err := count("1"); err != nil { // makes the table
		return err
	}
	few, err := count("2")
	if err != nil {
		return err
	}
	many, err := count("12")
	if err != nil {
		return err
	}
	b.reportRequests(few, many, 2, 12)
	return nil
}

// reportRequests tells what each batch costs from what a run costs anyway.
func (b *bench) reportRequests(few, many map[string]int, fewBatches, manyBatches int) {
	kinds := slices.Sorted(maps.Keys(many))
	var all, fixed float64
	for _, kind := range kinds {
		each := float64(many[kind]-few[kind]) / float64(manyBatches-fewBatches)
		once := float64(few[kind]) - each*float64(fewBatches)
		all, fixed = all+each, fixed+once
		b.add(of(kind+", each batch", "requests", each), of(kind+", each run", "requests", once))
	}
	b.add(of("all, each batch", "requests", all), of("all, each run", "requests", fixed))
}

// counter is a proxy in front of an S3 server.
type counter struct {
	server *http.Server
	url    string

	mu     sync.Mutex
	counts map[string]int
}

func startCounter(endpoint string) (*counter, error) {
	target, err := url.Parse(endpoint)
	if err != nil {
		return nil, fmt.Errorf("address of the S3 server: %w", err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	c := &counter{url: "http://" + listener.Addr().String(), counts: map[string]int{}}
	// The host stays as it was sent: it is part of what the client has signed.
	forward := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.Out.URL.Scheme, r.Out.URL.Host, r.Out.Host = target.Scheme, target.Host, r.In.Host
	}}
	c.server = &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c.add(kindOf(r))
		forward.ServeHTTP(w, r)
	})}
	go func() { _ = c.server.Serve(listener) }() // ends with an error when it is closed
	return c, nil
}

// environ is the environment of the S3 server with the proxy in its place.
func (c *counter) environ(of map[string]string) []string {
	list := []string{"AWS_EC2_METADATA_DISABLED=true"}
	for name, value := range of {
		if strings.Contains(name, "ENDPOINT") {
			value = c.url
		}
		list = append(list, name+"="+value)
	}
	return list
}

func (c *counter) add(kind string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.counts[kind]++
}

// reset returns the counts since the last reset.
func (c *counter) reset() map[string]int {
	c.mu.Lock()
	defer c.mu.Unlock()
	counts := c.counts
	c.counts = map[string]int{}
	return counts
}

// kindOf names a request by what it does and what it is about.
func kindOf(r *http.Request) string {
	query := r.URL.Query()
	what := r.Method
	switch {
	case query.Has("uploads"), query.Has("uploadId"):
		what = "multipart " + r.Method
	case query.Has("list-type"), r.Method == http.MethodGet && strings.Count(strings.Trim(r.URL.Path, "/"), "/") == 0:
		return "LIST"
	}
	switch path := r.URL.Path; {
	case strings.Contains(path, "/checkpoint/"):
		return what + " checkpoint"
	case strings.Contains(path, "/data/"):
		return what + " data"
	case strings.Contains(path, "/metadata/"):
		return what + " metadata"
	}
	return what + " other"
}
