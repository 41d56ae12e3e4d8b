//go:build interop && linux

package cmd_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"sluice/rig"
)

// spark is a real Spark that does what it is asked for (rig/spark_ask.py).
type spark struct {
	in   io.WriteCloser
	out  *bufio.Reader
	said strings.Builder
}

// startSpark starts one with a catalog in a folder; it ends with the test. Flags are those of rig/spark.
func startSpark(t *testing.T, dir string, flags ...string) *spark {
	t.Helper()
	root, err := rig.Root()
	if err == nil {
		err = os.MkdirAll(dir, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	s := &spark{}
	c := exec.Command(filepath.Join(root, "rig", "spark"), append(flags, filepath.Join(root, "rig", "spark_ask.py"), dir)...)
	c.Env, c.Stderr = append(os.Environ(), "KAFKA="), &s.said
	if s.in, err = c.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := c.StdoutPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	s.out = bufio.NewReader(out)
	t.Cleanup(func() {
		s.in.Close() // with that it ends
		if err := c.Wait(); err != nil {
			t.Errorf("Spark ended with %v", err)
		}
	})
	return s
}

// sparkAnswer is what it says to a question.
type sparkAnswer struct {
	Error   string
	Batches []struct{ Batch, Rows int }
	Rows    [][3]any
}

func (s *spark) ask(t *testing.T, verb string, asked map[string]any) *sparkAnswer {
	t.Helper()
	line, err := json.Marshal(maps.Collect(func(yield func(string, any) bool) {
		yield("ask", verb)
		for key, value := range asked {
			yield(key, value)
		}
	}))
	if err == nil {
		_, err = s.in.Write(append(line, '\n'))
	}
	if err != nil {
		t.Fatalf("%v\n%s", err, s.said.String())
	}
	for {
		line, err := s.out.ReadString('\n')
		if err != nil {
			t.Fatalf("%v\n%s", err, s.said.String())
		}
		if text, ok := strings.CutPrefix(line, "answer: "); ok {
			answer := &sparkAnswer{}
			if err := json.Unmarshal([]byte(text), answer); err != nil {
				t.Fatalf("%v in %s", err, text)
			}
			return answer
		}
	}
}

// turns is a query that Spark and sluice carry on in turn: one topic, one checkpoint, one table or folder.
type turns struct {
	*pipeline
	t     *testing.T
	spark *spark
	topic string
	// into says in Spark's words where the rows go: "table" or "folder", and which; folders are all that they went to.
	into    map[string]any
	folders []string
	// sparks are settings of each of Spark's turns.
	sparks map[string]any
	// pending is what was produced and not yet read by either, with what of it is of aborted transactions.
	pending []*kgo.Record
	aborted map[*kgo.Record]bool
	// want is what the rows shall be: place and value.
	want map[string]string
}

// taking is a query on a real broker that has done nothing yet.
func taking(t *testing.T, s *spark, p *pipeline, into map[string]any) *turns {
	broker := rig.Kafka(t)
	topic := broker.CreateTopic(t, 2, nil)
	x := &turns{t: t, spark: s, topic: topic, into: into, sparks: map[string]any{}, aborted: map[*kgo.Record]bool{}, want: map[string]string{}}
	x.pipeline = p.with("--checkpoint", filepath.Join(p.dir, "_checkpoints", topic),
		"--bootstrap-servers", broker.Addr, "--subscribe", topic, "--max-offsets-per-trigger", "12")
	x.kafka = connected(t, broker.Addr)
	return x
}

// fill appends n records to each partition, and as many of a transaction that is aborted to the first.
func (x *turns) fill(n int) {
	x.t.Helper()
	var records []*kgo.Record
	for i := range 2 * n {
		records = append(records, &kgo.Record{Topic: x.topic, Partition: int32(i % 2), Value: fmt.Appendf(nil, "kept %d", i)})
	}
	x.kafka.produce(x.t, records...)
	tx := x.kafka.begin(x.t, x.topic, fmt.Sprint(x.topic, " ", len(x.want), " ", len(x.aborted)))
	var given []*kgo.Record
	for i := range n {
		given = append(given, &kgo.Record{Topic: x.topic, Partition: 0, Value: fmt.Appendf(nil, "given up %d", i)})
	}
	if err := tx.client.ProduceSync(context.Background(), given...).FirstErr(); err != nil {
		x.t.Fatal(err)
	}
	tx.end(false)
	for _, r := range given {
		x.aborted[r] = true
	}
	x.pending = append(append(x.pending, records...), given...)
}

// read takes what is pending as read: all of it, or what was committed.
func (x *turns) read(committed bool) (n int) {
	for _, r := range x.pending {
		if !committed || !x.aborted[r] {
			x.want[fmt.Sprint(r.Partition, "/", r.Offset)] = string(r.Value)
			n++
		}
	}
	x.pending = nil
	return n
}

// sparksTurn has Spark read what there is, at its default isolation level and with settings beside those of all turns.
// It returns the number of its last batch.
func (x *turns) sparksTurn() int {
	x.t.Helper()
	asked := map[string]any{"topic": x.topic, "servers": x.kafka.addr, "checkpoint": x.checkpointFolder(), "source": map[string]string{"maxOffsetsPerTrigger": "12"}}
	maps.Copy(asked, x.into)
	maps.Copy(asked, x.sparks)
	answer := x.spark.ask(x.t, "drain", asked)
	if answer.Error != "" {
		x.t.Fatalf("Spark: %s", answer.Error)
	}
	source, _ := asked["source"].(map[string]string)
	x.read(source["kafka.isolation.level"] == "read_committed")
	x.holds("Spark's turn")
	return x.newest("offsets")
}

// sluicesTurn has sluice read what there is, with flags beside the pipeline's, and returns the number of its last batch.
func (x *turns) sluicesTurn(more ...string) int {
	x.t.Helper()
	first := x.newest("offsets") + 1
	_, unmarked := os.Stat(filepath.Join(x.checkpointFolder(), "commits", strconv.Itoa(first-1)))
	replayed := unmarked != nil && first > 0 && x.do(x.t, "plan").wants(0).last("plan")["action"] == "replay"
	if replayed {
		first--
	}
	o := x.run(x.t, more...).has("summary", "caughtUp", true, "queryId", x.id())
	if done := o.last("summary"); done["batches"] != 0.0 && done["firstBatch"] != float64(first) {
		x.t.Errorf("sluice began with batch %v, want %d", done["firstBatch"], first)
	}
	x.read(true)
	x.holds("sluice's turn")
	return x.newest("offsets")
}

// holds fails the test unless Spark reads the rows that are wanted, each once.
func (x *turns) holds(after string) {
	x.t.Helper()
	answer := x.spark.ask(x.t, "read", maps.Collect(func(yield func(string, any) bool) {
		for key, value := range x.into {
			yield(key, value)
		}
		yield("folders", x.folders)
	}))
	if answer.Error != "" {
		x.t.Fatalf("Spark reads: %s", answer.Error)
	}
	got := map[string]string{}
	for _, row := range answer.Rows {
		place, value := fmt.Sprint(row[0], "/", row[1]), fmt.Sprint(row[2])
		if _, twice := got[place]; twice {
			x.t.Errorf("after %s %s is there twice", after, place)
		}
		got[place] = value
	}
	if !maps.Equal(got, x.want) {
		x.t.Fatalf("after %s the rows are\n%v\nwant\n%v", after, got, x.want)
	}
}

func (x *turns) checkpointFolder() string { return x.flag("--checkpoint") }

// id is the query's, as the checkpoint has it.
func (x *turns) id() string {
	x.t.Helper()
	text, err := os.ReadFile(filepath.Join(x.checkpointFolder(), "metadata"))
	var metadata struct{ ID string }
	if err == nil {
		err = json.Unmarshal(text, &metadata)
	}
	if err != nil {
		x.t.Fatal(err)
	}
	return metadata.ID
}

// newest is the largest number in a folder of the checkpoint, -1 if there is none.
func (x *turns) newest(folder string) int {
	numbers := []int{-1}
	for _, path := range filesIn(x.t, filepath.Join(x.checkpointFolder(), folder), "[0-9]*") {
		n, err := strconv.Atoi(filepath.Base(path))
		if err != nil {
			x.t.Fatal(err)
		}
		numbers = append(numbers, n)
	}
	return slices.Max(numbers)
}

// unmark takes the newest marker away, as a process leaves a checkpoint that was killed between its commit to the table and
// the marker. It returns its number.
func (x *turns) unmark() int {
	x.t.Helper()
	n := x.newest("commits")
	if n < 0 || n != x.newest("offsets") {
		x.t.Fatalf("the newest marker is %d, the newest plan %d", n, x.newest("offsets"))
	}
	for _, name := range []string{strconv.Itoa(n), "." + strconv.Itoa(n) + ".crc"} {
		if err := os.Remove(filepath.Join(x.checkpointFolder(), "commits", name)); err != nil && (name[0] != '.' || !os.IsNotExist(err)) {
			x.t.Fatal(err)
		}
	}
	return n
}
