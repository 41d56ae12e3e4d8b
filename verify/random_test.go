package verify_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"

	"sluice/batch"
	"sluice/offsets"
	"sluice/verify"
)

// history makes a random life of a table that nothing is wrong with: batches with gaps and dead letters, empty ones, two
// queries, rows of other topics, compaction, expiry, deletions by others.
func (w *world) history(random *rand.Rand, steps int) {
	deleted := false
	w.apply(ordersQuery, w.someParts(random, ordersQuery)...)
	for range steps {
		switch random.IntN(10) {
		case 0, 1, 2, 3:
			w.apply(ordersQuery, w.someParts(random, ordersQuery)...)
		case 4:
			w.apply(backfill, w.someParts(random, backfill)...)
		case 5:
			w.insert(nil, rowsOf("elsewhere", 0, 0, 1+random.Int64N(5))...)
		case 6:
			w.compact()
		case 7:
			if !deleted { // an expired deletion is a loss that nothing explains
				w.expire(1 + random.IntN(3))
			}
		case 8:
			if random.IntN(3) == 0 {
				from := random.Int64N(40)
				w.deleteOffsets(from, from+random.Int64N(10))
				deleted = true
			}
		case 9:
			w.apply(ordersQuery)
		}
	}
}

// someParts are the next offsets of some partitions.
func (w *world) someParts(random *rand.Rand, id string) []part {
	var parts []part
	for partition := range int32(3) {
		if random.IntN(2) == 0 {
			continue
		}
		tp := offsets.TopicPartition{Topic: "orders", Partition: partition}
		from := random.Int64N(20)
		if l := w.query(id).ledger; l != nil {
			if a, known := l.Accounts[tp]; known {
				from = a.Next
			}
		}
		p := part{Range: offsets.Range{TopicPartition: tp, From: from, Until: from + 1 + random.Int64N(60)}}
		for o := p.From; o < p.Until; o++ {
			if (o*7+int64(partition))%11 == 0 { // a gap is one for every query
				p.gaps = append(p.gaps, o)
			} else if random.IntN(15) == 0 {
				p.dead = append(p.dead, o)
			}
		}
		parts = append(parts, p)
	}
	return parts
}

// mutations are single changes after which a table is wrong. They return false where there is nothing to change.
var mutations = map[string]func(w *world, random *rand.Rand) bool{
	"a row again": func(w *world, random *rand.Rand) bool {
		r, ok := w.someRow(random)
		for range 2 { // two queries may have read it
			w.insert(nil, r)
		}
		return ok
	},
	"a file again": func(w *world, random *rand.Rand) bool {
		tasks := w.tasks(random)
		if len(tasks) > 0 {
			w.change(func(tx *table.Transaction) error {
				return tx.AddDataFiles(w.t.Context(), []iceberg.DataFile{tasks[0].File}, nil, table.WithoutDuplicateCheck())
			})
		}
		return len(tasks) > 0
	},
	"a file gone": func(w *world, random *rand.Rand) bool {
		tasks := w.tasks(random)
		if len(tasks) > 0 {
			must(w.t, os.Remove(local(tasks[0].File.FilePath())))
		}
		return len(tasks) > 0
	},
	"a file taken out by a replace": func(w *world, random *rand.Rand) bool {
		for _, task := range w.tasks(random) {
			if w.holdsOrders(task) {
				w.change(func(tx *table.Transaction) error {
					return tx.NewRewrite(nil).DeleteFile(task.File).AddDataFile(w.written(row{"elsewhere", 0, 1})).Commit(w.t.Context())
				})
				return true
			}
		}
		return false
	},
	"an offset too far": func(w *world, random *rand.Rand) bool {
		w.insert(nil, row{"orders", int32(random.IntN(3)), 100000})
		return true
	},
	"rows":  forgery(func(a *batch.Account, random *rand.Rand) { a.Rows += 1 - 2*random.Int64N(2) }),
	"next":  forgery(func(a *batch.Account, _ *rand.Rand) { a.Next-- }),
	"first": forgery(func(a *batch.Account, _ *rand.Rand) { a.First++; a.Next++ }),
	"batch": func(w *world, random *rand.Rand) bool {
		w.forge(ordersQuery, func(l *batch.Ledger) { l.Batch += 1 - 2*random.Int64N(2) })
		return true
	},
	"plan": func(w *world, _ *rand.Rand) bool {
		w.forge(ordersQuery, func(l *batch.Ledger) { l.Plan += "!" })
		return true
	},
	"commit": func(w *world, _ *rand.Rand) bool {
		log := &w.query(ordersQuery).log
		plan := *log.Plan
		plan.Batch++
		log.Commit, log.Plan = log.Commit+1, &plan
		return true
	},
	"a record that nobody wrote": func(w *world, random *rand.Rand) bool {
		for tp, a := range w.query(ordersQuery).ledger.Accounts {
			for o := a.First; o < a.Next; o++ {
				if !w.kafka.records[tp][o] {
					w.kafka.add(tp, o)
					return true
				}
			}
		}
		return false
	},
}

func forgery(change func(*batch.Account, *rand.Rand)) func(*world, *rand.Rand) bool {
	return func(w *world, random *rand.Rand) bool {
		partitions := w.query(ordersQuery).ledger.Next().Partitions()
		if len(partitions) == 0 {
			return false
		}
		tp := partitions[random.IntN(len(partitions))]
		w.forge(ordersQuery, func(l *batch.Ledger) {
			a := l.Accounts[tp]
			change(&a, random)
			l.Accounts[tp] = a
		})
		return true
	}
}

// tasks are the table's files in random order.
func (w *world) tasks(random *rand.Rand) []table.FileScanTask {
	w.t.Helper()
	tasks, err := w.table.Scan().PlanFiles(w.t.Context())
	must(w.t, err)
	random.Shuffle(len(tasks), func(i, j int) { tasks[i], tasks[j] = tasks[j], tasks[i] })
	return tasks
}

func (w *world) holdsOrders(task table.FileScanTask) bool {
	lower, upper := string(task.File.LowerBoundValues()[2]), string(task.File.UpperBoundValues()[2])
	return lower == "orders" || upper == "orders"
}

// someRow is a row of the table.
func (w *world) someRow(random *rand.Rand) (row, bool) {
	for _, tp := range w.query(ordersQuery).ledger.Next().Partitions() {
		a := w.query(ordersQuery).ledger.Accounts[tp]
		if a.Next > a.First {
			return row{tp.Topic, tp.Partition, a.First + random.Int64N(a.Next-a.First)}, true
		}
	}
	return row{"orders", 0, 0}, false
}

func TestRandomHistoriesAreProvedAndEveryMutationIsFound(t *testing.T) {
	for seed := range uint64(3) {
		for name, mutate := range mutations {
			t.Run(fmt.Sprintf("%s %d", name, seed), func(t *testing.T) {
				random := rand.New(rand.NewPCG(seed, uint64(len(name))))
				w := newWorld(t)
				w.history(random, 12)
				w.wantProvedButForReadTwice(w.verify(w.whole()))
				wantOnly(t, w.verify(verify.Options{}), verify.ReadTwice)
				if !mutate(w, random) {
					t.Skip("nothing to change")
				}
				if r := w.verify(w.whole()); !slices.ContainsFunc(r.Problems, func(p verify.Problem) bool { return p.Kind != verify.ReadTwice }) {
					t.Errorf("got ok with partitions %+v and limits %v", r.Partitions, r.CannotProve)
				}
			})
		}
	}
}

// wantProvedButForReadTwice fails the test unless all is proved but for the partitions of which both queries have rows.
func (w *world) wantProvedButForReadTwice(r *verify.Report) {
	w.t.Helper()
	wantOnly(w.t, r, verify.ReadTwice)
	twice := map[int32]bool{}
	for _, p := range r.Problems {
		twice[*p.Partition] = true
	}
	for _, p := range r.Partitions {
		if want := map[bool]verify.Verdict{false: verify.Proved, true: verify.Broken}[twice[p.Partition]]; p.Verdict != want {
			w.t.Errorf("partition %d: got verdict %s, want %s", p.Partition, p.Verdict, want)
		}
		if twice[p.Partition] && len(p.Queries) != 2 {
			w.t.Errorf("partition %d was read by %v: want two queries", p.Partition, p.Queries)
		}
	}
}
