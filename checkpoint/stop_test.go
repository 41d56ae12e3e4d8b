package checkpoint_test

import (
	"errors"
	"os"
	"strings"
	"testing"

	"sluice/batch"
	"sluice/checkpoint"
	"sluice/objectstore"
)

func readSpark(t *testing.T, s objectstore.Store, source int) *checkpoint.SparkStop {
	t.Helper()
	stop, err := checkpoint.ReadSpark(t.Context(), s, source)
	noError(t, err)
	return stop
}

// copyOf is a golden checkpoint of Spark's in memory, with some objects replaced; an empty text removes one.
func copyOf(t *testing.T, name string, changes map[string]string) objectstore.Store {
	t.Helper()
	golden, s := folder(t, name), objectstore.NewMemory(t.Name()+name)
	for _, key := range list(t, golden, "") {
		if _, changed := changes[key]; !changed {
			noError(t, s.Put(t.Context(), key, []byte(get(t, golden, key))))
		}
	}
	for key, text := range changes {
		if text != "" {
			noError(t, s.Put(t.Context(), key, []byte(text)))
		}
	}
	return s
}

func TestWhereSparkStoppedIsReadFromEachOfItsFormats(t *testing.T) {
	for name, want := range map[string]struct {
		planned, committed int64
		version            int
		before, end        string
	}{
		"spark/v1":                {2, 1, 1, `{"orders":{"0":180,"1":200,"2":205}}`, `{"orders":{"0":180,"1":300,"2":305,"3":40}}`},
		"spark/2.1.0":             {0, 0, 1, `{"clicks":{"0":0,"1":1,"2":2}}`, `{"clicks":{"0":8,"1":7,"2":9}}`},
		"spark/real-4.2.0-log-v2": {2, 1, 2, "", `{"orders":{"0":159,"1":159,"2":39}}`},
		"spark/real-4.2.0":        {2, 1, 1, "", ""},
	} {
		golden, err := objectstore.NewLocal(testdata + "/" + name) // as it lies there, with Spark's checksums
		noError(t, err)
		stop, state := readSpark(t, golden, -1), last(t, golden)
		if want.before == "" {
			want.before = state.Plan.Start.String()
		}
		if want.end == "" {
			want.end = state.Plan.End.String()
		}
		if stop.Planned != want.planned || stop.Committed != want.committed || stop.Version != want.version || stop.Before.String() != want.before || stop.End.String() != want.end {
			t.Errorf("%s: got %+v, want %+v", name, stop, want)
		}
		if stop.Query == "" || stop.Source != 0 || len(stop.Sources) != 1 || !strings.HasPrefix(stop.Sources[0], "Kafka, ") || stop.State != "" {
			t.Errorf("%s: got %+v", name, stop)
		}
	}
}

const sparkMetadata = `{"batchWatermarkMs":0,"batchTimestampMs":1700000000000,"conf":{}}`

func TestOneOfSeveralSourcesIsChosenByItsPosition(t *testing.T) {
	for _, c := range []struct {
		name, before, plan string
	}{
		{"version 1", "v1\n" + sparkMetadata + "\n{\"logOffset\":4}\n{\"orders\":{\"0\":5}}\n-", "v1\n" + sparkMetadata + "\n{\"logOffset\":5}\n{\"orders\":{\"0\":9}}\n-"},
		// In version 2 a source is told by its id, wherever its line is.
		{"version 2", "v2\n" + sparkMetadata + "\n1:{\"orders\":{\"0\":5}}\n0:{\"logOffset\":4}\n2:-", "v2\n" + sparkMetadata + "\n0:{\"logOffset\":5}\n1:{\"orders\":{\"0\":9}}\n2:-"},
	} {
		s := copyOf(t, "spark/v1", map[string]string{"offsets/0": "", "offsets/1": c.before, "offsets/2": c.plan})
		_, err := checkpoint.ReadSpark(t.Context(), s, -1)
		if batch.ClassOf(err) != batch.Inconsistent || !errors.Is(err, checkpoint.ErrManySources) || !strings.Contains(err.Error(), "3 sources: 0 is another than Kafka ({\"logOffset\":5}); 1 is Kafka, orders; 2 is one that has no offsets yet") {
			t.Errorf("%s: got %v", c.name, err)
		}
		stop := readSpark(t, s, 1)
		if stop.Source != 1 || stop.Before.String() != `{"orders":{"0":5}}` || stop.End.String() != `{"orders":{"0":9}}` {
			t.Errorf("%s: got %+v", c.name, stop)
		}
		for source, want := range map[int]string{0: "choose a source that is Kafka", 2: "choose a source that is Kafka", 3: "choose one of them"} {
			if _, err := checkpoint.ReadSpark(t.Context(), s, source); batch.ClassOf(err) != batch.Inconsistent || !strings.Contains(batch.HintOf(err), want) {
				t.Errorf("%s: source %d: got %v (%s), want %q", c.name, source, err, batch.HintOf(err), want)
			}
		}
	}
}

// A source that had nothing to read in the batch before begins where it was pinned.
func TestASourceWithoutOffsetsInTheBatchBeforeBeginsWhereItWasPinned(t *testing.T) {
	s := copyOf(t, "spark/v1", map[string]string{"offsets/1": "v1\n" + sparkMetadata + "\n-", "offsets/2": "v1\n" + sparkMetadata + "\n{\"orders\":{\"0\":9}}"})
	if stop := readSpark(t, s, -1); stop.Before.String() != `{"orders":{"0":0,"1":0,"2":5}}` {
		t.Errorf("got %s", stop.Before)
	}
}

func TestOddCheckpointsOfSparkAreToldForWhatTheyAre(t *testing.T) {
	plan := "v1\n" + sparkMetadata + "\n{\"orders\":{\"0\":9}}"
	for name, c := range map[string]struct {
		changes map[string]string
		want    checkpoint.SparkStop
		before  string
	}{
		"nothing is done":         {map[string]string{"commits/0": "", "commits/1": ""}, checkpoint.SparkStop{Planned: 2, Committed: -1}, `{"orders":{"0":180,"1":200,"2":205}}`},
		"all is done":             {map[string]string{"commits/2": "v1\n{}"}, checkpoint.SparkStop{Planned: 2, Committed: 2}, `{"orders":{"0":180,"1":200,"2":205}}`},
		"the plan before is gone": {map[string]string{"offsets/0": "", "offsets/1": ""}, checkpoint.SparkStop{Planned: 2, Committed: 1}, "{}"},
		"only the start is there": {map[string]string{"offsets/0": "", "offsets/1": "", "offsets/2": "", "commits/0": "", "commits/1": ""}, checkpoint.SparkStop{Planned: -1, Committed: -1}, `{"orders":{"0":0,"1":0,"2":5}}`},
		"other files lie about":   {map[string]string{"offsets/02": "x", "offsets/3.compact": "x"}, checkpoint.SparkStop{Planned: 2, Committed: 1}, `{"orders":{"0":180,"1":200,"2":205}}`},
		"nothing names the query": {map[string]string{"metadata": ""}, checkpoint.SparkStop{Planned: 2, Committed: 1}, `{"orders":{"0":180,"1":200,"2":205}}`},
		"a line end at the end":   {map[string]string{"offsets/2": plan + "\n"}, checkpoint.SparkStop{Planned: 2, Committed: 1}, `{"orders":{"0":180,"1":200,"2":205}}`},
		"a plan without metadata": {map[string]string{"offsets/2": "v1\n\n{\"orders\":{\"0\":9}}"}, checkpoint.SparkStop{Planned: 2, Committed: 1}, `{"orders":{"0":180,"1":200,"2":205}}`},
		"the query keeps state":   {map[string]string{"state/0/0/1.delta": "x"}, checkpoint.SparkStop{Planned: 2, Committed: 1, State: "state/0/0/1.delta"}, `{"orders":{"0":180,"1":200,"2":205}}`},
		"numbers compare as such": {map[string]string{"offsets/10": plan, "offsets/9": plan, "commits/10": "v1\n{}"}, checkpoint.SparkStop{Planned: 10, Committed: 10}, `{"orders":{"0":9}}`},
	} {
		stop := readSpark(t, copyOf(t, "spark/v1", c.changes), -1)
		if stop.Planned != c.want.Planned || stop.Committed != c.want.Committed || stop.State != c.want.State || stop.Before.String() != c.before || (stop.Query == "") != (name == "nothing names the query") {
			t.Errorf("%s: got %+v, want %+v from %s", name, stop, c.want, c.before)
		}
	}
}

func TestDamagedCheckpointsOfSparkAreRefused(t *testing.T) {
	for name, c := range map[string]struct {
		changes map[string]string
		class   batch.Class
		want    string
	}{
		"a plan that is cut off":     {map[string]string{"offsets/2": "v1\n" + sparkMetadata}, batch.Inconsistent, "offsets/2 in mem://"},
		"half an object":             {map[string]string{"offsets/2": "v1\n" + sparkMetadata + "\n{\"orders\":{\"0\":"}, batch.Inconsistent, "offsets/2"},
		"a plan of another version":  {map[string]string{"offsets/2": "v3\n" + sparkMetadata + "\n{}"}, batch.Inconsistent, "version 3"},
		"no JSON as metadata":        {map[string]string{"offsets/2": "v1\n<xml/>\n{\"orders\":{\"0\":9}}"}, batch.Inconsistent, "metadata"},
		"no offsets in the plan":     {map[string]string{"offsets/2": "v1\n" + sparkMetadata + "\n-"}, batch.Inconsistent, "no offsets (-)"},
		"symbolic offsets":           {map[string]string{"offsets/2": "v1\n" + sparkMetadata + "\n{\"orders\":{\"0\":-1}}"}, batch.Inconsistent, "no negative offsets"},
		"files are its source":       {map[string]string{"offsets/2": "v1\n" + sparkMetadata + "\n{\"logOffset\":5}"}, batch.Inconsistent, "logOffset"},
		"marked beyond its plans":    {map[string]string{"commits/7": "v1\n{}"}, batch.Inconsistent, "commits/7 marks a later one"},
		"marked without plans":       {map[string]string{"offsets/0": "", "offsets/1": "", "offsets/2": ""}, batch.Inconsistent, "offsets/ was lost"},
		"a damaged metadata":         {map[string]string{"metadata": `{"id":`}, batch.Inconsistent, "metadata"},
		"the plan before is damaged": {map[string]string{"offsets/1": "v1\n"}, batch.Inconsistent, "offsets/1"},
		"a damaged start":            {map[string]string{"offsets/1": "", "offsets/2": "", "commits/0": "", "commits/1": "", "sources/0/0": "\x00v1\n{"}, batch.Inconsistent, "sources/0/0"},
	} {
		stop, err := checkpoint.ReadSpark(t.Context(), copyOf(t, "spark/v1", c.changes), -1)
		if err == nil || batch.ClassOf(err) != c.class || !strings.Contains(err.Error(), c.want) || batch.HintOf(err) == "" {
			t.Errorf("%s: got %+v, %v, want %q", name, stop, err, c.want)
		}
	}
	if _, err := checkpoint.ReadSpark(t.Context(), objectstore.NewMemory("empty of Spark"), -1); batch.ClassOf(err) != batch.NotSetUp || !strings.Contains(err.Error(), "holds no checkpoint of Spark's") {
		t.Errorf("an empty folder: got %v", err)
	}
}

// Reading leaves a checkpoint as it is, and makes no folder where there is none.
func TestReadingASparkCheckpointWritesNothing(t *testing.T) {
	dir := t.TempDir() + "/none"
	s, err := objectstore.NewLocal(dir)
	noError(t, err)
	if _, err := checkpoint.ReadSpark(t.Context(), s, -1); err == nil {
		t.Error("there is no checkpoint, and none was missed")
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("the folder is there now: %v", err)
	}
}

func TestTheLogOfSparksFilesTellsItsNewestBatch(t *testing.T) {
	s := objectstore.NewMemory("files of Spark")
	if n, err := checkpoint.FileLog(t.Context(), s); n != batch.None || err != nil {
		t.Errorf("no log: got %d, %v", n, err)
	}
	for _, key := range []string{"_spark_metadata/7", "_spark_metadata/8", "_spark_metadata/9.compact", "_spark_metadata/010", "part-00000.parquet"} {
		noError(t, s.Put(t.Context(), key, []byte("v1")))
	}
	if n, err := checkpoint.FileLog(t.Context(), s); n != 9 || err != nil {
		t.Errorf("got %d, %v, want 9", n, err)
	}
}
