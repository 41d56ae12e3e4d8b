//go:build integration && soak && linux

package cmd_test

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"sluice/rig"
	"sluice/rig/faultproxy"
)

var soakRuns = flag.Int("runs", 500, "`how many` runs TestSoakSchedule makes, as cron would")

// schedule is one query that is run again and again while producers write, and the broker compacts and deletes.
type schedule struct {
	kafka  *kafka
	random *rand.Rand
	p      *pipeline
	proxy  *faultproxy.Kafka
	// orders is read before retention takes its records; of state, what is read depends on when the broker compacts.
	orders, state string
	open          []*sale
	begun         int
	// wanted are the committed records of orders, possible those of state, some of which are compacted before they are read.
	wanted, possible []*kgo.Record

	codes          map[int]int
	killed, events int
}

// sale is a transaction over both topics.
type sale struct {
	transaction
	records []*kgo.Record
}

// Runs follow each other as cron makes them, five hundred by default, while producers write with transactions that lie in each
// other, stay open over several runs and are given up; one topic is compacted, tombstones and all, of the other retention takes what
// is older than some minutes; answers of the broker are late and lost; and one run of three is killed, at a request to the broker
// or at a change of a file. In the end every record is there once.
func TestSoakSchedule(t *testing.T) {
	seed := seed(t)
	broker := rig.Kafka(t)
	s := &schedule{kafka: connected(t, broker.Addr), random: drawn(t, seed), codes: map[int]int{}, events: 60}
	s.orders = broker.CreateTopic(t, 2, map[string]string{"retention.ms": "300000", "segment.ms": "10000"})
	s.state = broker.CreateTopic(t, 2, rig.Compacted())
	p := newPipeline(t, s.kafka).with("--subscribe", s.orders+","+s.state, "--max-offsets-per-trigger", "60", "--min-partitions", "2", "--retain", "5",
		"--set", "sink.iceberg.expireEvery=20", "--set", "sink.iceberg.keepSnapshots=5")
	s.proxy, s.p = p.beforeBrokers(t)
	began := time.Now()
	done := 0
	for n := range *soakRuns {
		s.step(t)
		done++
		if n%20 == 19 {
			fmt.Fprintf(os.Stderr, "%s: %d runs, %d killed, exit codes %v, %v\n", t.Name(), n+1, s.killed, s.codes, time.Since(began).Round(time.Second))
		}
		if t.Failed() {
			break
		}
	}
	t.Logf("%d runs, %d killed, exit codes %v, %d records of orders and %d of state, in %v", done, s.killed, s.codes, len(s.wanted), len(s.possible), time.Since(began).Round(time.Second))
	s.judge(t, broker)
}

// burst is what producers do in a moment: plain records, transactions that begin, go on and end.
func (s *schedule) burst(t *testing.T) {
	t.Helper()
	for range 1 + s.random.IntN(4) {
		switch what := s.random.IntN(5); {
		case what == 0 && len(s.open) < 4:
			s.begun++
			client, err := kgo.NewClient(kgo.SeedBrokers(s.kafka.seeds()...), kgo.TransactionalID(fmt.Sprint(s.orders, "-", s.begun)), kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.TransactionTimeout(10*time.Minute))
			if err == nil {
				err = client.BeginTransaction()
			}
			if err != nil {
				t.Fatal(err)
			}
			s.open = append(s.open, &sale{transaction: transaction{t, client, s.orders}})
		case what == 1 && len(s.open) > 0:
			s.end(s.random.IntN(len(s.open)), s.random.IntN(3) > 0)
		case what < 4 && len(s.open) > 0:
			x := s.open[s.random.IntN(len(s.open))]
			x.records = append(x.records, s.send(t, x.client)...)
		default:
			s.count(s.send(t, s.kafka.client))
		}
	}
}

// send appends some records to both topics.
func (s *schedule) send(t *testing.T, client *kgo.Client) (records []*kgo.Record) {
	t.Helper()
	for range 1 + s.random.IntN(20) {
		r := &kgo.Record{Topic: s.orders, Partition: int32(s.random.IntN(2)), Key: fmt.Append(nil, "k", s.random.IntN(30)), Value: fmt.Append(nil, s.random.Uint64())}
		if s.random.IntN(2) == 0 {
			r.Topic = s.state
			if s.random.IntN(5) == 0 {
				r.Value = nil
			}
		}
		records = append(records, r)
	}
	if err := client.ProduceSync(context.Background(), records...).FirstErr(); err != nil {
		t.Fatal(err)
	}
	return records
}

// count adds records that are committed.
func (s *schedule) count(records []*kgo.Record) {
	for _, r := range records {
		if r.Topic == s.orders {
			s.wanted = append(s.wanted, r)
		} else {
			s.possible = append(s.possible, r)
		}
	}
}

// end ends a transaction.
func (s *schedule) end(i int, commit bool) {
	x := s.open[i]
	s.open = slices.Delete(s.open, i, i+1)
	x.end(commit)
	x.client.Close()
	if commit {
		s.count(x.records)
	}
}

// step is one run, killed or not.
func (s *schedule) step(t *testing.T) {
	t.Helper()
	s.burst(t)
	r := prepared(t, program(t, s.p.brief().args("run")...))
	r.cmd.Env = append(os.Environ(), s.p.environ...)
	began := make(chan struct{})
	kill := func() { <-began; _ = r.cmd.Process.Kill() } // it may have ended just now
	network := badNetwork(s.random)
	files := &toll{kill: kill}
	switch at := 1 + s.random.IntN(s.events); s.random.IntN(6) {
	case 0:
		network = faultproxy.First(faultproxy.Nth(1+at/3, faultproxy.Kill(s.random.IntN(2) == 0, kill)), network)
	case 1:
		files.at = int64(at)
	}
	s.proxy.Follow(network)
	stop := files.watch(t, filepath.Dir(s.p.dir))
	r.start()
	close(began)
	if s.random.IntN(2) == 0 {
		s.burst(t)
	}
	o := r.waitFor(4 * time.Minute) // longer than it waits for records, so that it says which
	stop()
	s.codes[o.code]++
	switch {
	case o.code == -1:
		s.killed++
	case o.code == 1 && strings.Contains(o.stderr, "the lease could not be renewed"): // it is short, and the machine busy
	case o.code != 0:
		t.Errorf("got exit code %d after %v\n%s", o.code, s.proxy.Dealt(), o.stderr)
	default:
		s.events = max(10, int(files.seen.Load()))
	}
}

// judge lets the query catch up and holds the table against what was produced.
func (s *schedule) judge(t *testing.T, broker rig.Broker) {
	t.Helper()
	s.proxy.Follow(nil)
	var ids []string
	for i := range s.begun {
		ids = append(ids, fmt.Sprint(s.orders, "-", i+1))
	}
	for len(s.open) > 0 {
		s.end(0, true)
	}
	s.kafka.settled(t, ids...)
	s.p.run(t, "--wait", "1m").has("summary", "caughtUp", true, "blocked", nil)
	verified := s.p.do(t, "verify", "--source").wants(0).has("verify", "ok", true, "duplicates", 0, "missing", 0, "unexpected", 0)
	rows, _ := verified.last("verify")["rows"].(float64)

	got, possible, there := scan(t, s.p.table(t)), map[string]bool{}, map[string]bool{}
	for _, r := range s.possible {
		possible[sparkRow(r, false)] = true
	}
	var ofOrders []string
	for _, row := range got {
		if there[row] {
			t.Errorf("%s is there twice", row)
		}
		if there[row] = true; !possible[row] {
			ofOrders = append(ofOrders, row)
		}
	}
	var want []string
	for _, r := range s.wanted {
		want = append(want, sparkRow(r, false))
	}
	if slices.Sort(want); !slices.Equal(ofOrders, want) {
		t.Errorf("got %d rows of orders, want %d: %s", len(ofOrders), len(want), difference(ofOrders, want))
	}
	left := broker.Consume(t, true, s.orders, s.state)
	for _, r := range left {
		if !there[sparkRow(r, false)] {
			t.Errorf("Kafka's own consumer reads %s, which is not there", sparkRow(r, false))
		}
	}
	for engine, n := range rig.CountTables(t, filepath.Join(s.p.dir, "catalog.db"))[0][tableOfTests] {
		if n.Rows != int64(rows) || n.Records != n.Rows || int(n.Rows) != len(got) {
			t.Errorf("%s counts %d rows of %d records, want %v and %d", engine, n.Rows, n.Records, rows, len(got))
		}
	}
	t.Logf("%d rows; Kafka still has %d of %d records", len(got), len(left), len(s.wanted)+len(s.possible))
}
