//go:build integration

package cron_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"sluice/cmd"
	"sluice/rig"
)

// asSluice is the variable that makes this test binary the program: it is linked in already, and building it once more
// takes half a minute.
const asSluice = "TEST_BINARY_IS_SLUICE"

func TestMain(m *testing.M) {
	if os.Getenv(asSluice) != "" {
		os.Exit(cmd.Main(os.Args, os.Environ(), os.Stdout, os.Stderr))
	}
	os.Exit(m.Run())
}

// realHost has the real program, and a job that drains the topic.
func realHost(t *testing.T, broker rig.Broker, topic string, settings ...string) *host {
	t.Helper()
	h := newHost(t, settings...)
	h.write("sluice", fmt.Sprintf("#!/bin/bash\nexec env %s=yes '%s' \"$@\"\n", asSluice, os.Args[0]))
	h.write("orders.yaml", fmt.Sprintf(`name: orders
source:
  kafka: {bootstrap.servers: "%s"}
  subscribe: [%s]
  maxOffsetsPerTrigger: 100
sink:
  iceberg:
    catalog: {warehouse: lake}
    table: sales.orders
run: {wait: 0s}
`, broker.Addr, topic))
	return h
}

func produce(t *testing.T, broker rig.Broker, topic string, n int) {
	t.Helper()
	var records []*kgo.Record
	for i := range n {
		records = append(records, &kgo.Record{Topic: topic, Value: fmt.Append(nil, i)})
	}
	broker.Produce(t, records...)
}

// verified fails the test unless the table has so many rows, each once, and nothing is missing.
func (h *host) verified(rows int) {
	h.t.Helper()
	code, out := end(h.t, exec.Command(h.path("sluice"), "verify", "--source", "--output", "json", "--job", h.path("orders.yaml")))
	var report struct {
		OK   bool
		Rows int
	}
	if err := json.Unmarshal([]byte(out), &report); err != nil || code != 0 || !report.OK || report.Rows != rows {
		h.t.Errorf("got exit code %d, %v, want %d rows in\n%s", code, err, rows, out)
	}
}

func TestARealRunIsQuietAndLogged(t *testing.T) {
	t.Parallel()
	broker := rig.Kafka(t)
	topic := broker.CreateTopic(t, 2, nil)
	produce(t, broker, topic, 250)
	h := realHost(t, broker, topic)
	for _, logged := range []string{"orders, batch 2: 50 records", "nothing new"} {
		if code, mail := h.cron(); code != 0 || mail != "" || !strings.Contains(h.read("log/orders.log"), logged) {
			t.Errorf("got exit code %d, mail %q, want %q in the log:\n%s", code, mail, logged, h.read("log/orders.log"))
		}
	}
	h.verified(250)
}

func TestASecondRealStartEndsByItselfAndIsNoFailure(t *testing.T) {
	t.Parallel()
	broker := rig.Kafka(t)
	topic := broker.CreateTopic(t, 2, nil)
	produce(t, broker, topic, 2000)
	h := realHost(t, broker, topic)
	if err := os.Mkdir(h.path("log"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(h.path("log/orders.log"), 0o600); err != nil {
		t.Fatal(err)
	}
	log, err := os.OpenFile(h.path("log/orders.log"), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	first := h.wrapper()
	if err := first.Start(); err != nil {
		t.Fatal(err)
	}
	readUntil(t, log, "batch 0")
	holder := h.holder()
	t.Cleanup(func() { _ = syscall.Kill(holder, syscall.SIGCONT) }) // it has ended, unless the test failed
	if err := syscall.Kill(holder, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}

	h.settings = append(h.settings, "LOG_DIR="+h.path("log2"))
	if code, mail := h.cron(); code != 0 || mail != "" || !strings.Contains(h.read("log2/orders.log"), "exit code 11: another run") {
		t.Errorf("got exit code %d, mail %q and log\n%s", code, mail, h.read("log2/orders.log"))
	}
	if got := h.alerts(); len(got) != 0 || h.read("state/orders.state") != "" {
		t.Errorf("got alerts %q and state %q, want none", got, h.read("state/orders.state"))
	}

	if err := syscall.Kill(holder, syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	if err := first.Wait(); err != nil {
		t.Errorf("the first start: %v", err)
	}
	h.verified(2000)
}

// holder is the process that has the lease.
func (h *host) holder() int {
	h.t.Helper()
	var lease struct {
		PID      int
		Released bool
	}
	if err := json.Unmarshal([]byte(h.read("lake/_checkpoints/orders/lock/lease.json")), &lease); err != nil || lease.PID <= 0 || lease.Released {
		h.t.Fatalf("nobody holds the lease: %+v, %v", lease, err)
	}
	return lease.PID
}

func TestABrokerThatIsDownIsTriedTwiceToldAndForgottenOnceItIsBack(t *testing.T) {
	t.Parallel()
	cluster := rig.NewCluster(t, 1)
	topic := cluster.CreateTopic(t, 1, nil)
	produce(t, cluster.Broker, topic, 10)
	h := realHost(t, cluster.Broker, topic, "ALERT_AFTER=1")
	if code, mail := h.cron(); code != 0 || mail != "" {
		t.Fatalf("got exit code %d and mail %q\n%s", code, mail, h.read("log/orders.log"))
	}
	cluster.Stop(t, 1)
	code, mail := h.cron()
	if log := h.read("log/orders.log"); code != 1 || mail != "" || strings.Count(log, "second try") != 1 || !strings.Contains(log, cluster.Addr) {
		t.Errorf("got exit code %d, mail %q and log\n%s", code, mail, log)
	}
	if got := h.alerts(); len(got) != 1 || !strings.Contains(got[0], "orders/1") {
		t.Errorf("got alerts %q, want one", got)
	}
	cluster.Start(t, 1)
	produce(t, cluster.Broker, topic, 5)
	if code, mail := h.cron(); code != 0 || mail != "" {
		t.Errorf("got exit code %d and mail %q\n%s", code, mail, h.read("log/orders.log"))
	}
	if got := h.alerts(); len(got) != 2 || !strings.Contains(got[1], "works again") {
		t.Errorf("got alerts %q, want that it works again", got)
	}
	h.verified(15)
}

func TestATopicThatIsNotThereIsToldAtOnce(t *testing.T) {
	t.Parallel()
	h := realHost(t, rig.Kafka(t), "there-is-no-such-topic")
	if code, mail := h.cron(); code != 10 || mail != "" {
		t.Errorf("got exit code %d and mail %q\n%s", code, mail, h.read("log/orders.log"))
	}
	if got := h.read("alerts"); !strings.Contains(got, "orders/10") || !strings.Contains(got, "there-is-no-such-topic") {
		t.Errorf("got alert %q", got)
	}
}
