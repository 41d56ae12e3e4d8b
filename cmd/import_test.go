package cmd_test

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// committed commits offsets to a group of a topic, by partition, as somebody without a membership may.
func (k *kafka) committed(t testing.TB, group, topic string, at map[int32]int64) {
	t.Helper()
	to := kadm.Offsets{}
	for partition, offset := range at {
		to.Add(kadm.Offset{Topic: topic, Partition: partition, At: offset, LeaderEpoch: -1})
	}
	if answers, err := k.admin.CommitOffsets(t.Context(), group, to); err != nil || answers.Error() != nil {
		t.Fatal(err, answers.Error())
	}
}

var ofGroup = []string{"--from", "group", "--group", "loader"}

// loaded is a topic of two partitions of which a group has read 7 and 4 records of 10, and a job for the rest.
func loaded(t testing.TB) (*kafka, *pipeline) {
	t.Helper()
	k := embedded(t, "orders")
	k.fill(t, "orders", 10, 0, 1)
	k.committed(t, "loader", "orders", map[int32]int64{0: 7, 1: 4})
	return k, newPipeline(t, k)
}

// rest are the records that a group of loaded had not read.
func rest(r *kgo.Record) bool {
	return r.Offset >= map[int32]int64{0: 7, 1: 4}[r.Partition]
}

func TestAQueryBeginsWhereAGroupHasStopped(t *testing.T) {
	t.Parallel()
	k, p := loaded(t)
	k.grow(t, "orders", 3)
	k.fill(t, "orders", 5, 2)

	o := p.do(t, "import", ofGroup...).wants(0).has("import", "state", "new", "written", false, "refusal", nil, "queryId", "", "from", "group", "place", "loader")
	got := o.last("import")["partitions"].([]any)
	for i, want := range []map[string]any{
		{"topic": "orders", "partition": 0., "offset": 7., "logStart": 0., "logEnd": 10., "next": 7., "waiting": 3.},
		{"topic": "orders", "partition": 1., "offset": 4., "logStart": 0., "logEnd": 10., "next": 4., "waiting": 6.},
		{"topic": "orders", "partition": 2., "offset": -1., "logStart": 0., "logEnd": 5., "next": 0., "waiting": 5.},
	} {
		if !maps.Equal(got[i].(map[string]any), want) {
			t.Errorf("got %v, want %v", got[i], want)
		}
	}
	if _, err := os.Stat(p.dir); !os.IsNotExist(err) {
		t.Errorf("without --yes something was written: %v", err)
	}
	text := call(t, nil, slices.Concat([]string{"sluice", "import"}, p.flags, ofGroup)...).wants(0).stdout
	for _, part := range []string{"it can be imported", "no offset there: from the earliest", "not known, and for you to see to", "Nothing was changed. With --yes"} {
		if !strings.Contains(text, part) {
			t.Errorf("the text does not say %q:\n%s", part, text)
		}
	}

	done := p.do(t, "import", append(ofGroup, "--yes")...).wants(0).has("import", "state", "new", "written", true)
	id := at(done.last("import"), "queryId")
	p.do(t, "import", append(ofGroup, "--yes")...).wants(0).has("import", "state", "done", "written", false, "queryId", id, "planned", -1)
	if origin := at(p.do(t, "plan").wants(0).has("plan", "action", "start", "batch", 0, "records", 14, "queryId", id).last("plan"), "startOrigin").(string); !strings.Contains(origin, "the import from group loader of ") {
		t.Errorf("plan says that it starts from %q", origin)
	}
	k.fill(t, "orders", 2, 0)
	p.run(t).has("summary", "queryId", id, "firstBatch", 0, "rows", 16, "caughtUp", true)
	wantRows(t, p.table(t), k.of(rest), false)
	p.do(t, "verify", "--source").wants(0).has("verify", "ok", true, "verdict", "proved", "duplicates", 0, "missing", 0, "unexpected", 0)
	p.do(t, "import", append(ofGroup, "--yes")...).wants(0).has("import", "state", "done", "planned", 0)
	k.fill(t, "orders", 4, 0, 1, 2)
	p.run(t).has("summary", "firstBatch", 1, "rows", 12)
	p.do(t, "verify", "--source").wants(0).has("verify", "ok", true, "duplicates", 0, "missing", 0, "unexpected", 0)
	text = call(t, nil, slices.Concat([]string{"sluice", "import"}, p.flags, ofGroup)...).wants(0).stdout
	for _, part := range []string{"it was imported before, and has run since: nothing to do", "group loader", "began at", "batch 1 was planned", "sluice status tells how far it is now"} {
		if !strings.Contains(text, part) {
			t.Errorf("the text does not say %q:\n%s", part, text)
		}
	}
	if strings.Contains(text, "waiting") || strings.Contains(text, "log end") {
		t.Errorf("what has been read is shown as waiting:\n%s", text)
	}
	if identity := p.identity(t); !strings.Contains(identity, `"imported"`) {
		t.Errorf("runs have lost what was imported: %s", identity)
	}
	if now := k.offsetsOf(t, "loader"); now[0] != 7 || now[1] != 4 || len(now) != 2 {
		t.Errorf("the group is at %v now: it is not ours", now)
	}
}

// beginnings are the objects that make a query, in the job's checkpoint and where else the test has put one.
func (p *pipeline) beginnings(t testing.TB) map[string]string {
	t.Helper()
	dir, found := p.checkpoint(), map[string]string{}
	if at := slices.Index(p.flags, "--checkpoint"); at >= 0 {
		dir = p.flags[at+1]
	}
	for _, key := range []string{"metadata", "identity.json", "sources/0/0"} {
		if text, err := os.ReadFile(filepath.Join(dir, key)); err == nil {
			found[key] = string(text)
		}
	}
	return found
}

func (p *pipeline) identity(t testing.TB) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(p.checkpoint(), "identity.json"))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func (k *kafka) offsetsOf(t testing.TB, group string) map[int32]int64 {
	t.Helper()
	answer, err := k.admin.FetchOffsets(t.Context(), group)
	if err != nil {
		t.Fatal(err)
	}
	at := map[int32]int64{}
	answer.Each(func(o kadm.OffsetResponse) { at[o.Partition] = o.At })
	return at
}

// Every moment at which an import can be cut short: what follows from identity.json is made up for by the next import, or by the
// next run, and never read again from the beginning.
func TestAnImportThatWasCutShortIsFinished(t *testing.T) {
	t.Parallel()
	for name, left := range map[string][]string{
		"only the identity":      {"metadata", "sources/0/0"},
		"identity and the start": {"metadata"},
		"identity and metadata":  {"sources/0/0"},
	} {
		for _, by := range map[bool][]string{true: {"import", "run"}, false: {"run"}}[len(left) == 2] {
			t.Run(name+", then "+by, func(t *testing.T) {
				t.Parallel()
				k, p := loaded(t)
				id := at(p.do(t, "import", append(ofGroup, "--yes")...).wants(0).last("import"), "queryId")
				for _, key := range left {
					if err := os.Remove(filepath.Join(p.checkpoint(), key)); err != nil {
						t.Fatal(err)
					}
				}
				if origin := at(p.do(t, "plan").wants(0).has("plan", "action", "start", "records", 9).last("plan"), "startOrigin").(string); !strings.Contains(origin, "the import from group loader") {
					t.Errorf("plan says that it starts from %q", origin)
				}
				if by == "import" {
					p.do(t, "import", ofGroup...).wants(0).has("import", "state", "unfinished", "written", false)
					p.do(t, "import", append(ofGroup, "--yes")...).wants(0).has("import", "state", "unfinished", "written", true, "queryId", id)
					p.do(t, "import", append(ofGroup, "--yes")...).wants(0).has("import", "state", "done", "queryId", id)
				}
				p.run(t).has("summary", "rows", 9, "queryId", id)
				wantRows(t, p.table(t), k.of(rest), false)
			})
		}
	}
}

func TestOfManyImportsAtOnceOneDecides(t *testing.T) {
	t.Parallel()
	_, p := loaded(t)
	var all sync.WaitGroup
	outcomes := make([]*outcome, 6)
	for i := range outcomes {
		all.Go(func() {
			verb := []string{"import", "--yes", "--wait", "0s"}
			if i == 5 {
				verb = []string{"run", "--wait", "0s"}
			}
			outcomes[i] = p.do(t, verb[0], append(verb[1:], map[bool][]string{true: ofGroup}[verb[0] == "import"]...)...)
		})
	}
	all.Wait()
	for _, o := range outcomes {
		if o.code != 0 && o.code != 11 && o.code != 13 {
			t.Errorf("got exit code %d\n%s%s", o.code, o.stdout, o.stderr)
		}
	}
	p.run(t)
	rows := len(scan(t, p.table(t)))
	if imported := strings.Contains(p.identity(t), `"imported"`); imported && rows != 9 || !imported && rows != 20 {
		t.Errorf("imported is %t, and the table has %d rows", imported, rows)
	}
	p.do(t, "verify", "--source").wants(0).has("verify", "ok", true, "duplicates", 0, "missing", 0)
}

func TestWhatCannotBeImportedFromAGroupIsRefused(t *testing.T) {
	t.Parallel()
	refuse := func(t *testing.T, p *pipeline, code int, args []string, parts ...string) {
		t.Helper()
		p = p.with("--set", "source.kafka.retry.backoff.ms=1", "--set", "source.kafka.retry.backoff.max.ms=1")
		before := p.beginnings(t)
		for _, more := range [][]string{nil, {"--yes"}} {
			o := p.do(t, "import", slices.Concat(args, more)...)
			o.wants(code)
			text := o.stdout + o.stderr
			for _, part := range parts {
				if !strings.Contains(text, part) {
					t.Errorf("got %s, want it to say %q", text, part)
				}
			}
		}
		if after := p.beginnings(t); !maps.Equal(after, before) {
			t.Errorf("got %v, want what was there: %v", after, before)
		}
	}
	t.Run("somebody is in it", func(t *testing.T) {
		t.Parallel()
		k, p := loaded(t)
		c, err := kgo.NewClient(kgo.SeedBrokers(k.addr), kgo.ConsumerGroup("loader"), kgo.ConsumeTopics("orders"), kgo.ClientID("the-other"), kgo.DisableAutoCommit())
		if err != nil {
			t.Fatal(err)
		}
		c.PollFetches(t.Context())
		refuse(t, p, 13, ofGroup, "group loader is in use", "the-other", "stop what reads with it")
		c.LeaveGroup()
		c.Close()
		p.do(t, "import", append(ofGroup, "--yes")...).wants(0)
	})
	t.Run("there is no such group", func(t *testing.T) {
		t.Parallel()
		_, p := loaded(t)
		refuse(t, p, 10, []string{"--from", "group", "--group", "loaders"}, "there is no consumer group loaders", "there is loader", "offsets.retention.minutes")
	})
	t.Run("it has read other topics", func(t *testing.T) {
		t.Parallel()
		k, p := loaded(t)
		k.createTopic(t, "clicks")
		k.committed(t, "other", "clicks", map[int32]int64{0: 0})
		refuse(t, p, 10, []string{"--from", "group", "--group", "other"}, "no offset of any partition that the job reads", "clicks")
		k.committed(t, "loader", "clicks", map[int32]int64{0: 0})
		if left := at(p.do(t, "import", ofGroup...).wants(0).last("import"), "leftOut").([]any); !slices.Equal(left, []any{"clicks-0, at offset 0"}) {
			t.Errorf("left out are %v", left)
		}
	})
	t.Run("the checkpoint has a query", func(t *testing.T) {
		t.Parallel()
		_, p := loaded(t)
		p.run(t)
		refuse(t, p, 13, ofGroup, "the checkpoint has a query already", "a name and a checkpoint of its own")
	})
	t.Run("the table has rows of this query", func(t *testing.T) {
		t.Parallel()
		_, p := loaded(t)
		p.run(t)
		refuse(t, p.with("--checkpoint", filepath.Join(t.TempDir(), "another")), 13, ofGroup, "the table has rows of a query", "sales.orders")
	})
	t.Run("another query has read the same", func(t *testing.T) {
		t.Parallel()
		k, p := loaded(t)
		p.run(t)
		other := p.with("--checkpoint", filepath.Join(t.TempDir(), "another"), "--name", "other")
		refuse(t, other, 13, ofGroup, "has read the same records into this table", "another query of sluice's has gone on already")
		k.fill(t, "orders", 3, 0, 1)
		k.committed(t, "loader", "orders", map[int32]int64{0: 10, 1: 10})
		other.do(t, "import", append(ofGroup, "--yes")...).wants(0)
		other.run(t).has("summary", "rows", 6)
		other.do(t, "verify", "--source").wants(0).has("verify", "ok", true, "duplicates", 0, "missing", 0, "unexpected", 0)
	})
	t.Run("it was imported at other offsets", func(t *testing.T) {
		t.Parallel()
		k, p := loaded(t)
		p.do(t, "import", append(ofGroup, "--yes")...).wants(0)
		k.committed(t, "loader", "orders", map[int32]int64{0: 8})
		refuse(t, p, 13, ofGroup, "the checkpoint has a query that was imported from group loader at other offsets")
	})
	t.Run("the table does not take the rows", func(t *testing.T) {
		t.Parallel()
		_, p := loaded(t)
		p.run(t)
		json := p.with("--checkpoint", filepath.Join(t.TempDir(), "another"), "--name", "other", "--value-format", "json", "--value-schema", "nothing INT NOT NULL")
		refuse(t, json, 13, ofGroup)
	})
}

// Records that are gone between the other system's stop and now, or between now and the first run.
func TestWhatIsLostAtAnImportIsAskedAbout(t *testing.T) {
	t.Parallel()
	t.Run("deleted before the import", func(t *testing.T) {
		t.Parallel()
		k, p := loaded(t)
		k.expire(t, "orders", 0, 9)
		o := p.do(t, "import", append(ofGroup, "--yes")...).wants(12).has("import", "refusal.exitCode", 12, "written", false)
		if losses := o.last("import")["losses"].([]any); len(losses) != 1 || at(losses[0], "from") != 7. || at(losses[0], "until") != 9. || at(losses[0], "accepted") != false {
			t.Errorf("got %v lost", losses)
		}
		accepting := p.with("--on-data-loss-retention", "skip")
		accepting.do(t, "import", append(ofGroup, "--yes")...).wants(0).has("import", "written", true)
		p.do(t, "run").fails(12, "orders-0: offsets [7,9)")
		accepting.run(t).has("summary", "rows", 7, "lost", 2)
		p.do(t, "verify", "--source").wants(0).has("verify", "ok", true, "missing", 0, "lost", 2)
	})
	t.Run("the log ends before it", func(t *testing.T) {
		t.Parallel()
		k, p := loaded(t)
		k.committed(t, "loader", "orders", map[int32]int64{1: 30})
		p = p.with("--set", "source.kafka.retry.backoff.ms=1", "--set", "source.kafka.retry.backoff.max.ms=1")
		p.do(t, "import", append(ofGroup, "--yes")...).wants(12).has("import", "refusal.exitCode", 12)
		accepting := p.with("--on-data-loss-diverged", "continue")
		accepting.do(t, "import", append(ofGroup, "--yes")...).wants(0).has("import", "written", true)
		accepting.run(t).has("summary", "rows", 3) // those of partition 0
		p.do(t, "verify", "--source").wants(0).has("verify", "ok", true, "duplicates", 0, "missing", 0, "unexpected", 0)
		k.fill(t, "orders", 5, 0, 1)
		p.run(t).has("summary", "rows", 10)
		p.do(t, "verify", "--source").wants(0).has("verify", "ok", true, "rows", 13)
	})
	t.Run("created again after the import", func(t *testing.T) {
		t.Parallel()
		k, p := loaded(t)
		p.do(t, "import", append(ofGroup, "--yes")...).wants(0)
		k.deleteTopic(t, "orders")
		k.createTopic(t, "orders")
		k.fill(t, "orders", 20, 0, 1)
		p.do(t, "plan").wants(12)
		p.do(t, "run").fails(12, "topic orders was deleted and created again", "--on-data-loss-recreated restart")
		p.run(t, "--on-data-loss-recreated", "restart").has("summary", "rows", 40)
		p.do(t, "verify", "--source").wants(0).has("verify", "ok", true, "rows", 40, "duplicates", 0, "missing", 0, "unexpected", 0)
		k.fill(t, "orders", 1, 0, 1)
		p.run(t).has("summary", "rows", 2)
		p.do(t, "verify", "--source").wants(0).has("verify", "ok", true, "rows", 42)
	})
	t.Run("deleted after the import, of a partition that the group does not know", func(t *testing.T) {
		t.Parallel()
		k, p := loaded(t)
		k.grow(t, "orders", 3)
		k.fill(t, "orders", 5, 2)
		p.do(t, "import", append(ofGroup, "--yes")...).wants(0)
		k.expire(t, "orders", 2, 2)
		p.do(t, "run").fails(12, "orders-2: offsets [0,2)")
	})
}

// A transaction that is about to commit offsets leaves open which offset holds (KIP-447).
func TestAGroupWithOffsetsInATransactionIsRefused(t *testing.T) {
	t.Parallel()
	k, p := loaded(t)
	p = p.with("--set", "source.kafka.retry.backoff.ms=1", "--set", "source.kafka.retry.backoff.max.ms=1")
	topics, err := k.admin.ListTopics(t.Context(), "orders")
	if err != nil {
		t.Fatal(err)
	}
	k.cluster.ControlKey(int16(kmsg.OffsetFetch), func(req kmsg.Request) (kmsg.Response, error, bool) {
		k.cluster.KeepControl()
		asked := req.(*kmsg.OffsetFetchRequest)
		if !asked.RequireStable {
			t.Error("offsets are asked for without those of transactions")
		}
		resp := asked.ResponseKind().(*kmsg.OffsetFetchResponse)
		partition := kmsg.OffsetFetchResponseGroupTopicPartition{Partition: 1, Offset: -1, ErrorCode: 88}
		resp.Groups = []kmsg.OffsetFetchResponseGroup{{Group: "loader", Topics: []kmsg.OffsetFetchResponseGroupTopic{{Topic: "orders", TopicID: topics["orders"].ID, Partitions: []kmsg.OffsetFetchResponseGroupTopicPartition{partition}}}}}
		if asked.Version < 8 {
			t.Errorf("version %d", asked.Version)
		}
		return resp, nil, true
	})
	p.do(t, "import", append(ofGroup, "--yes")...).fails(13, "group loader has offsets in a transaction that has not ended: of orders-1", "transaction.timeout.ms")
}

func TestImportSaysWhatIsWrongWithItsFlags(t *testing.T) {
	t.Parallel()
	_, p := loaded(t)
	for _, c := range []struct {
		args  []string
		parts []string
	}{
		{nil, []string{"--from is missing", "spark, group, kafka-connect"}},
		{[]string{"--from", "sparks"}, []string{`--from "sparks" is no system`, "did you mean spark?"}},
		{[]string{"--from", "flink"}, []string{"no Kafka offsets", "savepoint", "(--from group) may be a checkpoint behind"}},
		{[]string{"--from", "group"}, []string{"--from group needs --group"}},
		{[]string{"--from", "spark"}, []string{"--from spark needs --spark-checkpoint"}},
		{[]string{"--from", "group", "--group", "g", "--last-batch", "applied"}, []string{"--last-batch does not go with --from group"}},
		{[]string{"--from", "spark", "--spark-checkpoint", "x", "--last-batch", "maybe"}, []string{`--last-batch "maybe" is no choice`, "applied or not-applied"}},
		{[]string{"--from", "spark", "--spark-checkpoint", "x", "--spark-source", "-2"}, []string{"--spark-source -2 is no position"}},
		{[]string{"--from", "spark", "--spark-checkpoint", "hdfs://x/y"}, []string{"hdfs"}},
	} {
		p.do(t, "import", c.args...).fails(64, c.parts...)
	}
}

// Between an import and its first run another query may read the same records into the table, such as the same job by a name
// with a typo.
func TestAQueryThatWasImportedDoesNotReadWhatAnotherHasReadSince(t *testing.T) {
	t.Parallel()
	k, p := loaded(t)
	p.do(t, "import", append(ofGroup, "--yes")...).wants(0)
	p.with("--name", "order").run(t).has("summary", "rows", 20)
	for _, verb := range []string{"plan", "run"} {
		p.do(t, verb).fails(13, `this query has read nothing yet, but query "order"`, "orders-0 up to 10; orders-1 up to 10")
	}
	k.fill(t, "orders", 2, 0)
	p.with("--name", "order").run(t).has("summary", "rows", 2)
	wantRows(t, p.table(t), k.of(func(*kgo.Record) bool { return true }), false)
	p.do(t, "run", "--new-query").wants(0).has("summary", "rows", 11) // somebody wants them twice
}
