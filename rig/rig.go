// Package rig gives integration tests and benchmarks the real servers: Apache Kafka, servers that speak like S3, Google
// Cloud Storage and Azure, a schema registry, two Iceberg REST catalogs, Kafka Connect, and DuckDB and PyIceberg as foreign readers.
// It drives the commands rig/kafka, rig/s3, rig/gcs, rig/azure, rig/registry, rig/rest, rig/nessie, rig/connect and rig/python, which
// install what they run below .rig/ in the checkout and leave it running for the next test; `make rig-stop` ends it.
//
// A server that cannot be started fails the test with what is missing; nothing is skipped. Tests of several processes
// share one server of a kind: each works on a topic or a folder of its own. Only NewCluster gives brokers that a test may
// kill.
package rig

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"
)

// patience bounds one command of the rig. The first one on a machine may build the S3 server or fetch Kafka.
const patience = 15 * time.Minute

// Root is the checkout: the nearest folder with go.mod at or above the working directory.
func Root() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("find the checkout: %w", err)
	}
	for at := dir; ; at = filepath.Dir(at) {
		if _, err := os.Stat(filepath.Join(at, "go.mod")); err == nil {
			return at, nil
		}
		if at == filepath.Dir(at) {
			return "", fmt.Errorf("find the checkout: no go.mod at or above %s", dir)
		}
	}
}

// command runs rig/NAME in the checkout and returns its stdout. The error carries its stderr, which says what is missing.
func command(name string, args ...string) (string, error) {
	root, err := Root()
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, filepath.Join(root, "rig", name), args...)
	cmd.Dir = root
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("rig/%s %s: %w\n%s", name, strings.Join(args, " "), errors.Join(err, ctx.Err()), stderr.String())
	}
	return stdout.String(), nil
}

// must is command for a test: it fails where the command does.
func must(tb testing.TB, name string, args ...string) string {
	tb.Helper()
	out, err := command(name, args...)
	if err != nil {
		tb.Fatal(err)
	}
	return out
}

var unfit = regexp.MustCompile(`[^a-z0-9]+`)

// fresh is a name that no other test, process or run has: the test's own, cut to what topics and keys may hold, and a
// random end.
func fresh(tb testing.TB) string {
	name := strings.Trim(unfit.ReplaceAllString(strings.ToLower(tb.Name()), "-"), "-")
	return fmt.Sprintf("%.80s-%08x", name, rand.Uint32())
}

var kafka = sync.OnceValues(func() (string, error) {
	out, err := command("kafka", "start")
	return strings.TrimSpace(out), err
})

// StartKafka starts the shared broker, or finds it running, and returns its bootstrap address. It is Kafka for callers that
// are no tests.
func StartKafka() (string, error) { return kafka() }

var s3 = sync.OnceValues(func() (map[string]string, error) {
	out, err := command("s3", "start")
	return exports(out), err
})

// StartS3 starts the shared S3 server, or finds it running, and returns the environment in which AWS clients, iceberg-go
// and sluice reach it; the bucket is named lake. It is S3 for callers that are no tests.
func StartS3() (map[string]string, error) { return s3() }

// exports reads lines of the form export NAME=VALUE, as a shell would.
func exports(text string) map[string]string {
	env := map[string]string{}
	for line := range strings.Lines(text) {
		name, value, ok := strings.Cut(strings.TrimPrefix(strings.TrimSpace(line), "export "), "=")
		if ok {
			env[name] = strings.Trim(value, "'")
		}
	}
	return env
}
