package runner_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"sluice/batch"
	"sluice/columns"
	"sluice/decode"
	"sluice/decode/registry"
	"sluice/lakesink/laketest"
	"sluice/runner"
)

// Jobs whose records do not agree about what new fields are, by format.
var conflicting = map[string]batch.Value{
	"json":     {Format: "json", Schema: "p INT"},
	"avro":     {Format: "avro", Schema: "p INT", Framing: batch.ConfluentFraming},
	"protobuf": {Format: "protobuf", Schema: "p INT", Framing: batch.ConfluentFraming},
}

func init() {
	for format, v := range conflicting {
		v.OnMalformed, v.OnTombstone, v.OnUnknownField, v.DeadLetters = "deadLetter", "keep", "addColumn", "ops.dead"
		conflicting[format] = v
	}
}

// schemasInConflict are what the records of avro and protobuf are written with: each stands against some of the others.
var schemasInConflict = map[string][]string{
	"avro": {
		avroRecord(`{"name":"x","type":"long"}`),
		avroRecord(`{"name":"x","type":"string"},{"name":"y","type":"int"}`),
		avroRecord(`{"name":"X","type":"long"},{"name":"y","type":"int"}`),
		avroRecord(`{"name":"s","type":{"type":"record","name":"S","fields":[{"name":"x","type":"long"}]}}`),
		avroRecord(`{"name":"next","type":["null","R"]}`),
	},
	"protobuf": {
		`syntax = "proto3"; message M { int32 p = 1; int64 x = 2; }`,
		`syntax = "proto3"; message M { int32 p = 1; string x = 2; int32 y = 3; }`,
		`syntax = "proto3"; message M { int32 p = 1; int64 X = 2; int32 y = 3; }`,
		`syntax = "proto3"; message M { int32 p = 1; S s = 2; } message S { int64 x = 1; }`,
		`syntax = "proto3"; message M { int32 p = 1; M next = 2; }`,
	},
}

func avroRecord(fields string) string {
	return `{"type":"record","name":"R","fields":[{"name":"p","type":"int"},` + fields + `]}`
}

// conflictingRecord is a record of a format that may stand against others.
func conflictingRecord(format string, random *rand.Rand, partition int32) []byte {
	kind := random.IntN(5)
	switch format {
	case "json":
		field := []string{`"x":%d`, `"x":"%d"`, `"X":%d,"y":1`, `"s":{"x":%d}`, `"x":[%d]`, `"x":%d.5`, `"s":{"x":"%d"}`, `"kafka_x":%d`, `"s.x":%d`, `"n":null,"z":%d`}[random.IntN(10)]
		return fmt.Appendf(nil, `{"p":%d,`+field+`}`, partition, random.IntN(100))
	case "avro":
		value := [][]byte{{byte(2 * partition), 8}, {byte(2 * partition), 2, 'a', 4}, {byte(2 * partition), 8, 4}, {byte(2 * partition), 8}, {byte(2 * partition), 0}}[kind]
		return append(binary.BigEndian.AppendUint32([]byte{0}, uint32(kind)), value...)
	}
	value := [][]byte{{16, 4}, {18, 1, 'a', 24, 4}, {16, 4, 24, 4}, {18, 2, 8, 4}, {18, 0}}[kind]
	return slices.Concat(binary.BigEndian.AppendUint32([]byte{0}, uint32(kind)), []byte{0, 8, byte(partition)}, value)
}

// newConflictingWorld has records of a format that do not agree.
func newConflictingWorld(t *testing.T, format string, seed uint64) *lakeWorld {
	w := newLakeWorld(t)
	w.value = func(partition int32, offset int64) []byte {
		return conflictingRecord(format, rand.New(rand.NewPCG(seed, uint64(partition)<<32|uint64(offset))), partition)
	}
	w.mutate = conflicted(format, 2, 2)
	return w
}

// conflicted is a job in one batch that is cut into so many tasks.
func conflicted(format string, workers, tasks int) func(q *runner.Query) {
	schemas := func(id registry.ID) (*registry.Schema, error) {
		for n, text := range schemasInConflict[format] {
			if id == registry.Number(int32(n)) {
				return &registry.Schema{ID: id, Type: strings.ToUpper(format), Text: text}, nil
			}
		}
		return nil, registry.ErrNotFound
	}
	return func(q *runner.Query) {
		q.Value, q.MaxOffsetsPerTrigger, q.Workers, q.MinPartitions = conflicting[format], 0, workers, tasks
		q.NewDecoder = func(v batch.Value, headers bool) (runner.Decoder, error) {
			d, err := decode.Maker{Schemas: schemas}.New(v, headers)
			return headed{d}, err
		}
	}
}

// headed gives records the headers that framing asks for: none each.
type headed struct{ runner.Decoder }

func (d headed) Decode(r *columns.Records) (*columns.Batch, error) {
	with := *r
	with.Headers = columns.Array{Kind: columns.List, Children: []columns.Array{{Kind: columns.Struct, Children: []columns.Array{{Kind: columns.String}, {Kind: columns.Binary}}}}}
	for range r.Rows {
		with.Headers.AppendSpan()
	}
	return d.Decoder.Decode(&with)
}

func (d headed) Unknown() []batch.Unknown {
	if finder, ok := d.Decoder.(runner.Finder); ok {
		return finder.Unknown()
	}
	return nil
}

// outcome is what became of all records: columns, rows, and how many are dead letters.
func (w *lakeWorld) outcome(t *testing.T) string {
	t.Helper()
	rows, err := w.content()
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprint(w.columnNames(t), rows, w.lettersIn(t, "ops.dead"))
}

// Records of one batch that do not agree about the type of a new field, or about its name, are rows and dead letters by
// their order in the plan alone, however the plan is cut into tasks and whoever is done first.
func TestRecordsThatDoNotAgreeBecomeTheSameHoweverTheyAreCut(t *testing.T) {
	seeds := uint64(4)
	if *full {
		seeds = 60
	}
	for format := range conflicting {
		t.Run(format, func(t *testing.T) {
			t.Parallel()
			dead, rows := int64(0), int64(0)
			for seed := range seeds {
				first := ""
				for _, cut := range [][2]int{{1, 1}, {2, 3}, {3, 8}} {
					w := newConflictingWorld(t, format, seed)
					w.kafka.produce(2, 6)
					if _, _, err := w.run(w.clean(), conflicted(format, cut[0], cut[1])); err != nil {
						t.Fatalf("seed %d: %v", seed, err)
					}
					if err := w.judge(t.Context()); err != nil {
						t.Fatalf("seed %d: %v", seed, err)
					}
					got := w.outcome(t)
					if first == "" {
						first = got
					} else if got != first {
						t.Errorf("seed %d in %d tasks: got %s, want %s", seed, cut[1], got, first)
					}
					dead, rows = dead+w.lettersIn(t, "ops.dead"), rows+w.rows(t)
				}
			}
			if dead < 10 || rows < 10 {
				t.Errorf("all together: %d dead letters and %d rows", dead, rows)
			}
		})
	}
}

// However a run is struck, at the update of the schema, between the two tables or anywhere else, the same records are rows,
// and the same are dead letters, also if the next run cuts the batch otherwise.
func TestRecordsThatDoNotAgreeStruckAnywhereBecomeTheSame(t *testing.T) {
	for format := range conflicting {
		t.Run(format, func(t *testing.T) {
			t.Parallel()
			clean := newConflictingWorld(t, format, 1)
			if err := clean.recovers(t.Context()); err != nil {
				t.Fatal(err)
			}
			want := clean.outcome(t)
			if clean.lettersIn(t, "ops.dead") == 0 || clean.rows(t) == 0 {
				t.Fatalf("nothing stands against anything: %s", want)
			}
			struck := map[string]bool{}
			for i := 0; ; i++ {
				s := laketest.BreakAt(i, laketest.Modes()[i%len(laketest.Modes())])
				w := newConflictingWorld(t, format, 1)
				met, err := w.fail(context.Background(), s)
				if !met {
					if err != nil {
						t.Error(err)
					}
					break
				}
				struck[s.Effects()[i]] = true
				w.mutate = conflicted(format, 1, 5)
				if err := w.recovers(context.Background()); err != nil {
					t.Errorf("%q: %v", s.Effects()[i], err)
				} else if got := w.outcome(t); got != want {
					t.Errorf("%q: got %s, want %s", s.Effects()[i], got, want)
				}
			}
			for _, effect := range []string{"commit db.orders schema", "commit ops.dead snapshot", "commit db.orders snapshot"} {
				if !struck[effect] {
					t.Errorf("no run was struck at %q, but at %v", effect, struck)
				}
			}
		})
	}
}
