package cmd_test

import (
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
)

func (k *kafka) deleteTopic(t testing.TB, topic string) {
	t.Helper()
	if k.dropTopic != nil {
		k.dropTopic(t, topic)
	} else if answers, err := k.admin.DeleteTopics(t.Context(), topic); err != nil || answers.Error() != nil {
		t.Fatal(err, answers.Error())
	}
	k.connect(t)
}

func (k *kafka) createTopic(t testing.TB, topic string) {
	t.Helper()
	k.createWith(t, topic, 2)
}

func (k *kafka) createWith(t testing.TB, topic string, partitions int32) {
	t.Helper()
	if k.makeTopic != nil {
		k.makeTopic(t, topic, int(partitions))
	} else if _, err := k.admin.CreateTopic(t.Context(), partitions, 1, nil, topic); err != nil {
		t.Fatal(err)
	}
	k.connect(t)
}

// expire removes the records of a partition before an offset.
func (k *kafka) expire(t testing.TB, topic string, partition int32, before int64) {
	t.Helper()
	to := kadm.Offsets{}
	to.Add(kadm.Offset{Topic: topic, Partition: partition, At: before})
	if answers, err := k.admin.DeleteRecords(t.Context(), to); err != nil || answers.Error() != nil {
		t.Fatal(err, answers.Error())
	}
}

// lossCase is a row of the matrix: after 5 records of each of two partitions of two topics were read, and 5 more arrived,
// something becomes of the first topic.
type lossCase struct {
	lose func(t testing.TB, k *kafka, topic string)
	// refused is what the error of a run says that nobody allowed to go on, %s being the topic, option what it names to allow it.
	refused []string
	option  string
	// records is what a run reads that was allowed to, lost how many offsets it counts as lost, losses how many losses.
	records, lost, losses int
	// uncounted says that nobody can tell how many were lost.
	uncounted bool
}

// The matrix of what a broker may have lost, by https://github.com/apache/spark/pull/15820 and
// https://github.com/ClickHouse/clickhouse-kafka-connect/issues/511: a run stops by default, and goes on exactly as allowed.
var lossMatrix = map[string]lossCase{
	"deleted before it was read": {
		lose:    func(t testing.TB, k *kafka, topic string) { k.expire(t, topic, 0, 8) },
		refused: []string{"%s-0: offsets [5,8), 3 in all", "the log starts at 8"}, option: "--on-data-loss-retention skip", records: 17, lost: 3, losses: 1},
	"all of it deleted before it was read": {
		lose:    func(t testing.TB, k *kafka, topic string) { k.expire(t, topic, 0, 10); k.expire(t, topic, 1, 10) },
		refused: []string{"%s-0: offsets [5,10), 5 in all", "%s-1: offsets [5,10), 5 in all"}, option: "--on-data-loss-retention skip", records: 10, lost: 10, losses: 2},
	"gone": {
		lose:    func(t testing.TB, k *kafka, topic string) { k.deleteTopic(t, topic) },
		refused: []string{"%s-0 is gone; the query had reached offset 5", "%s-1 is gone"}, option: "--on-data-loss-missing drop", records: 10, losses: 2, uncounted: true},
	"created again with fewer records": {
		lose: func(t testing.TB, k *kafka, topic string) {
			k.deleteTopic(t, topic)
			k.createTopic(t, topic)
			k.fill(t, topic, 2, 0, 1)
		},
		refused: []string{"topic %s was deleted and created again", "of partition 0 from 5 on; 1 from 5 on"}, option: "--on-data-loss-recreated restart", records: 14, losses: 2, uncounted: true},
	"created again with more records": { // https://github.com/quickwit-oss/quickwit/issues/1602
		lose: func(t testing.TB, k *kafka, topic string) {
			k.deleteTopic(t, topic)
			k.createTopic(t, topic)
			k.fill(t, topic, 20, 0, 1)
		},
		refused: []string{"topic %s was deleted and created again"}, option: "--on-data-loss-recreated restart", records: 50, losses: 2, uncounted: true},
	"created again with fewer partitions": {
		lose: func(t testing.TB, k *kafka, topic string) {
			k.deleteTopic(t, topic)
			k.createWith(t, topic, 1)
			k.fill(t, topic, 7, 0)
		},
		refused: []string{"topic %s was deleted and created again"}, option: "--on-data-loss-recreated restart", records: 17, losses: 2, uncounted: true},
}

// wantMatrix loses records of the first of two topics, and lets runs go on as each row says.
func wantMatrix(t *testing.T, rows map[string]lossCase, broker func(t testing.TB) (k *kafka, topic, other string)) {
	for name, row := range rows {
		for _, general := range []bool{false, true} {
			t.Run(name+map[bool]string{true: ", all allowed"}[general], func(t *testing.T) {
				t.Parallel()
				k, topic, other := broker(t)
				p := newPipeline(t, k).with("--subscribe", topic+","+other)
				k.fill(t, topic, 5, 0, 1)
				k.fill(t, other, 5, 0, 1)
				p.run(t).has("summary", "records", 20)
				k.fill(t, topic, 5, 0, 1)
				k.fill(t, other, 5, 0, 1)
				row.lose(t, k, topic)
				option := strings.Fields(row.option)
				if general {
					option = []string{"--fail-on-data-loss=false"}
				}
				row.check(t, p, topic, option)
				if got := len(scan(t, p.table(t))) - 20; got != row.records {
					t.Errorf("the table has %d more rows, want %d", got, row.records)
				}
			})
		}
	}
}

// check lets a run stop, shows what is ahead, and lets it go on.
func (row *lossCase) check(t *testing.T, p *pipeline, topic string, option []string) {
	t.Helper()
	for _, says := range row.refused {
		p.do(t, "run").fails(12, row.option, strings.ReplaceAll(says, "%s", topic))
	}
	p.do(t, "status").wants(0).has("status", "lag", -1, "refusal.exitCode", 12)
	ahead := p.do(t, "plan").wants(12).last("plan")["losses"].([]any)
	if len(ahead) != row.losses || at(ahead[0], "accepted") != false || at(ahead[0], "option") != row.option {
		t.Errorf("got %v ahead, want %d losses that %s would allow", ahead, row.losses, row.option)
	}
	if ahead = p.do(t, "plan", option...).wants(0).last("plan")["losses"].([]any); at(ahead[0], "accepted") != true {
		t.Errorf("got %v ahead, want them allowed", ahead)
	}
	o := p.run(t, option...).has("summary", "records", row.records, "batches", 1)
	told := o.last("summary")
	if losses := told["losses"].([]any); len(losses) != row.losses || (at(losses[0], "offsets") == -1.) != row.uncounted {
		t.Errorf("got %v, want %d losses", told["losses"], row.losses)
	}
	if got, _ := told["lost"].(float64); int(got) != row.lost {
		t.Errorf("got %v lost, want %d", told["lost"], row.lost)
	}
	report, _ := at(o.last("batch"), "sluice.losses").([]any)
	if got, _ := at(o.last("batch"), "sluice.lost").(float64); int(got) != row.lost || len(report) != row.losses {
		t.Errorf("the batch reports %v lost in %v, want %d in %d places", got, report, row.lost, row.losses)
	}
	p.do(t, "verify", "--source").wants(0).has("verify", "ok", true, "lost", row.lost, "duplicates", 0, "missing", 0, "unexpected", 0)
	p.do(t, "verify").wants(0).has("verify", "ok", true)
	p.run(t).has("summary", "batches", 0)
	p.do(t, "status").wants(0).has("status", "lag", 0)
	summary := p.table(t).CurrentSnapshot().Summary.Properties
	if summary["sluice.lost"] == "" || !strings.Contains(summary["sluice.losses"], topic+"-0") {
		t.Errorf("the snapshot says %q and %q of what was lost", summary["sluice.lost"], summary["sluice.losses"])
	}
}

func TestALossStopsARunUnlessTheJobAllowsIt(t *testing.T) {
	t.Parallel()
	wantMatrix(t, lossMatrix, func(t testing.TB) (*kafka, string, string) {
		return embedded(t, "orders", "refunds"), "orders", "refunds"
	})
}

// Whether a topic is the one that another query has read, its id tells, not its name.
func TestATopicThatWasCreatedAgainWasNotReadBefore(t *testing.T) {
	t.Parallel()
	k := embedded(t, "orders")
	p := newPipeline(t, k)
	k.fill(t, "orders", 5, 0, 1)
	p.run(t)
	p.with("--name", "other").do(t, "run").fails(13, "has read the same records", `startingOffsets {"orders":{"0":5,"1":5}}`)
	p.with("--name", "other", "--starting-offsets", `{"orders":{"0":5,"1":5}}`).run(t).has("summary", "records", 0)
	k.deleteTopic(t, "orders")
	k.createTopic(t, "orders")
	k.fill(t, "orders", 2, 0)
	p.with("--name", "third").run(t).has("summary", "records", 2)
}
