package job

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"sluice/batch"
	"sluice/offsets"
)

// flagsOf is a complete job of flags, to which tests add.
func flagsOf(more ...FlagValue) []FlagValue {
	return append([]FlagValue{{"bootstrap-servers", "localhost:9092"}, {"subscribe", "orders"}, {"table", "sales.orders"}, {"warehouse", "/lake"}}, more...)
}

func TestEveryKeyIsSetByFileVariableAndFlag(t *testing.T) {
	for path, values := range samples {
		want := sampled(t, path, values[1]).Text(path)
		section, name := cutLast(path)
		if m := mapOf(path); m != nil {
			section, name = m.Path, strings.TrimPrefix(path, m.Path+".")
		}
		file := ""
		for i, part := range strings.Split(section, ".") {
			if part != "" {
				file += strings.Repeat(" ", i) + part + ":\n"
			}
		}
		file += strings.Repeat(" ", strings.Count(section, ".")+1) + name + ": '" + values[1] + "'\n"
		if section == "" {
			file = name + ": '" + values[1] + "'\n"
		}
		inputs := map[string]Input{
			"file":     {File: "job.yaml", ReadFile: fstest.MapFS{"job.yaml": {Data: []byte(file)}}.ReadFile},
			"variable": {Environ: []string{envName(path) + "=" + values[1]}},
		}
		if find(path) != nil && find(path).Flag != "" {
			inputs["flag"] = Input{Flags: []FlagValue{{find(path).Flag, values[1]}}}
		}
		if m := mapOf(path); m != nil && m.Path != kafkaPath && m.Path != registryPath { // names have capitals and hyphens
			inputs["variable"] = Input{Environ: []string{m.Env() + `={"` + name + `":"` + values[1] + `"}`}}
		}
		for way, in := range inputs {
			l := newLoading(in)
			l.readDefaults()
			if in.File != "" {
				l.readFile()
			}
			l.readEnvironment()
			l.readFlags()
			if len(l.problems) > 0 {
				t.Errorf("%s by %s: %v", path, way, l.problems)
			} else if got := l.job.Text(path); got != want {
				t.Errorf("%s by %s: got %s, want %s", path, way, got, want)
			}
		}
	}
}

func TestAJobOfFlagsAlone(t *testing.T) {
	j, err := Load(Input{Flags: flagsOf(FlagValue{"starting-offsets", `{"orders":{"0":0,"1":-1}}`}, FlagValue{"max-offsets-per-trigger", "none"},
		FlagValue{"max-duration", "90s"}), WorkDir: "/home/etl"})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(j.Source.Subscribe, []string{"orders"}) || j.Source.Kafka[bootstrapServers] != "localhost:9092" {
		t.Errorf("got source %+v", j.Source)
	}
	// 0 and absent are different things: https://github.com/delta-io/kafka-delta-ingest/issues/67
	want := offsets.Offsets{{Topic: "orders", Partition: 0}: 0, {Topic: "orders", Partition: 1}: offsets.Latest}
	if !j.Source.StartingOffsets.Each.Equal(want) {
		t.Errorf("got %v, want %v", j.Source.StartingOffsets.Each, want)
	}
	if j.Source.MaxOffsetsPerTrigger != 0 || j.Run.MaxDuration != 90*time.Second || j.Memory != 256<<20 || j.Source.Isolation() != batch.ReadCommitted {
		t.Errorf("got %d, %v, %d, %s", j.Source.MaxOffsetsPerTrigger, j.Run.MaxDuration, j.Memory, j.Source.Isolation())
	}
	if j.Sink.Iceberg.Catalog.URI != "/lake/catalog.db" || j.Checkpoint != "/lake/_checkpoints/sales.orders" {
		t.Errorf("got catalog %s and checkpoint %s", j.Sink.Iceberg.Catalog.URI, j.Checkpoint)
	}
}

func TestWaitingTakesAsLongAsTheLeaseLives(t *testing.T) {
	for _, c := range []struct {
		more []FlagValue
		set  []string
		want time.Duration
	}{
		{nil, nil, 15 * time.Second},
		{nil, []string{"run.lease=2s"}, 2 * time.Second},
		{[]FlagValue{{"wait", "0s"}}, []string{"run.lease=2s"}, 0},
	} {
		j, err := Load(Input{Flags: flagsOf(c.more...), Set: c.set})
		if err != nil || j.Run.Wait != c.want {
			t.Errorf("%v, %v: got %+v, %v, want to wait %s", c.more, c.set, j, err, c.want)
		}
	}
}

// A first run that silently skips what is there already is the wrong default: https://github.com/apache/iceberg/issues/13536
func TestAFirstRunBeginsAtTheEarliestOffsetUnlessToldOtherwise(t *testing.T) {
	j, err := Load(Input{Flags: flagsOf()})
	if err != nil {
		t.Fatal(err)
	}
	if j.Source.StartingOffsets.All != offsets.Earliest || j.Source.StartingOffsets.Each != nil || j.Origin(startOffsetsPath).String() != "default" {
		t.Errorf("got %+v from %s, want earliest by default", j.Source.StartingOffsets, j.Origin(startOffsetsPath))
	}
}

func TestAPatternMatchesSomewhereInTheName(t *testing.T) {
	s := Source{SubscribePattern: "orders"}
	if !s.selectsTopic("my-orders-2") || s.selectsTopic("refunds") {
		t.Errorf("got %v and %v", s.selectsTopic("my-orders-2"), s.selectsTopic("refunds"))
	}
}

func TestDefaultsOfEnvironmentReferences(t *testing.T) {
	in := interpolator{dir: "/etc", lookup: func(name string) (string, bool) {
		v, ok := map[string]string{"A": "a", "EMPTY": "", "DOLLAR": "${A}", "PASSWORD": "p"}[name]
		return v, ok
	}, read: func(path string) ([]byte, error) {
		return map[string][]byte{"/etc/s": []byte("secret\n"), "/s": []byte("one\n\n"), "/crlf": []byte("a\r\n")}[path], nil
	}}
	for text, want := range map[string]interpolation{
		"":                      {text: ""},
		"plain":                 {text: "plain"},
		"${A}":                  {text: "a", any: true},
		"x${A}y${A}z":           {text: "xayaz", any: true},
		"${EMPTY}":              {text: "", any: true},
		"${EMPTY:-d}":           {text: "d", any: true},
		"${NONE:-}":             {text: "", any: true},
		"${NONE:-a:-b $ {c}":    {text: "a:-b $ {c", any: true},
		"${DOLLAR}":             {text: "${A}", any: true}, // once only
		"$${A}":                 {text: "${A}", any: true},
		"$$${A}":                {text: "$${A}", any: true},
		"$A $ $$ {A} $":         {text: "$A $ $$ {A} $"},
		"${PASSWORD}":           {text: "p", any: true, secret: true},
		"${file:s}":             {text: "secret", any: true, secret: true},
		"${file:/s}":            {text: "one\n", any: true, secret: true},
		"${file:/crlf}-${A}":    {text: "a-a", any: true, secret: true},
		"Grüße ${A} aus $ Köln": {text: "Grüße a aus $ Köln", any: true},
	} {
		if got, err := in.expand(text); err != nil || got != want {
			t.Errorf("%q: got %+v, %v, want %+v", text, got, err, want)
		}
	}
	for _, text := range []string{"${NONE}", "${", "${A", "${}", "${1A}", "${A-b}", "${A:b}", "${ A}", "${file:}", "${ENV:A}"} {
		if got, err := in.expand(text); err == nil {
			t.Errorf("%q: got %+v, want an error", text, got)
		}
	}
}

func TestASecretFileThatIsTooLargeIsRefused(t *testing.T) {
	in := interpolator{read: func(string) ([]byte, error) { return make([]byte, largestSecret+1), nil }}
	if _, err := in.expand("${file:/s}"); err == nil || !strings.Contains(err.Error(), "larger than 1 MiB") {
		t.Errorf("got %v, want a complaint about the size", err)
	}
}

func TestAnUnreadableJobFileIsAJobError(t *testing.T) {
	dir := t.TempDir()
	for _, path := range []string{dir, dir + "/none.yaml"} {
		_, err := Load(Input{File: path})
		var e *Error
		if !errors.As(err, &e) || len(e.Problems) != 1 || e.Problems[0].At.Name != path {
			t.Errorf("%s: got %v, want one problem that names the file", path, err)
		}
	}
	if IsJobError(os.ErrNotExist) {
		t.Errorf("got a job error from another error")
	}
}

func TestAVerbMayDoWithoutPartsOfAJob(t *testing.T) {
	source := []FlagValue{{"bootstrap-servers", "localhost:9092"}, {"subscribe", "orders,refunds"}}
	table := []FlagValue{{"table", "sales.orders"}, {"warehouse", "/lake"}}
	for _, c := range []struct {
		name  string
		needs Part
		flags []FlagValue
		want  string // of the problems
	}{
		{"a topic alone", ForSource, source, ""},
		{"a table and its checkpoint", ForSink | ForCheckpoint, table, ""},
		{"everything", ForAll, source, "checkpoint sink.iceberg.catalog.warehouse sink.iceberg.table"},
		{"everything is what 0 means", 0, table, "source.kafka.bootstrap.servers source"},
	} {
		_, err := Load(Input{Needs: c.needs, Flags: c.flags})
		var e *Error
		var got []string
		if errors.As(err, &e) {
			for _, p := range e.Problems {
				got = append(got, p.Key)
			}
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s: got problems with %q, want %q", c.name, got, c.want)
		}
	}
}

func TestAnUnknownFlagIsReported(t *testing.T) {
	_, err := Load(Input{Flags: flagsOf(FlagValue{"frobnicate", "1"})})
	if err == nil || err.Error() != "job: --frobnicate: is the flag of no key" {
		t.Errorf("got %v", err)
	}
}

func TestServiceLinksOfKubernetesAreNoMistakes(t *testing.T) {
	environ := []string{"SLUICE_SERVICE_HOST=10.0.0.1", "SLUICE_SERVICE_PORT=80", "SLUICE_SERVICE_PORT_HTTP=80", "SLUICE_PORT=tcp://10.0.0.1:80", "SLUICE_PORT_80_TCP=tcp://10.0.0.1:80",
		"SLUICE_PORT_80_TCP_PROTO=tcp", "SLUICE_PORT_80_TCP_PORT=80", "SLUICE_PORT_80_TCP_ADDR=10.0.0.1", "SLUICE_METRICS_GATEWAY_SERVICE_HOST=10.0.0.2", "SLUICE_METRICS_PORT_53_UDP_ADDR=1"}
	if _, err := Load(Input{Flags: flagsOf(), Environ: environ}); err != nil {
		t.Errorf("got %v, want no problem", err)
	}
	for _, name := range []string{"SLUICE_REPORT=1", "SLUICE_PORTS=1", "SLUICE_PORT_X=1", "SLUICE_SERVICE=1"} {
		if _, err := Load(Input{Flags: flagsOf(), Environ: []string{name}}); err == nil {
			t.Errorf("%s: got no problem, want one", name)
		}
	}
}

func TestTheSameSubscriptionIsTheSameHoweverItIsWritten(t *testing.T) {
	var texts []string
	for _, value := range []string{"b,a", " a , b ,", `["b","a"]`} {
		j, err := Load(Input{Flags: []FlagValue{{"bootstrap-servers", "localhost:9092"}, {"subscribe", value}, {"table", "sales.orders"}, {"warehouse", "/lake"}}})
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, j.Identity()[subscribePath])
	}
	if texts[0] != `["a","b"]` || texts[1] != texts[0] || texts[2] != texts[0] {
		t.Errorf("got %v, want the same canonical list", texts)
	}
}

// FuzzLoad: whatever the file holds, Load neither panics nor hangs, an error has problems, and a job prints as a job
// file that makes the same job again.
func FuzzLoad(f *testing.F) {
	paths, err := os.ReadDir(cases)
	if err != nil {
		f.Fatal(err)
	}
	for _, path := range paths {
		if content, err := os.ReadFile(cases + "/" + path.Name()); err == nil {
			f.Add(string(content))
		}
	}
	f.Fuzz(func(t *testing.T, text string) {
		load := func(text string) (*Job, error) {
			return Load(Input{File: "/etc/job.yaml", WorkDir: "/", Environ: []string{"A=a: [b]", "SECRET=s"}, ReadFile: func(path string) ([]byte, error) {
				if path == "/etc/job.yaml" {
					return []byte(text), nil
				}
				return nil, os.ErrNotExist
			}})
		}
		j, err := load(text)
		var e *Error
		switch {
		case errors.As(err, &e) && len(e.Problems) > 0 && e.Error() != "":
			return
		case err != nil:
			t.Fatalf("got %#v, want an *Error with problems", err)
		}
		printed := j.String()
		if strings.Contains(printed, redacted) {
			return
		}
		again, err := load(printed)
		if err != nil {
			t.Fatalf("%v in\n%s", err, printed)
		}
		if got, want := flat(again), flat(j); got != want {
			t.Fatalf("got\n%s\nwant\n%s", got, want)
		}
	})
}

// flat is a job's values without their origins, secrets included.
func flat(j *Job) string {
	var b strings.Builder
	for _, k := range keys {
		fmt.Fprintf(&b, "%s %q\n", k.Path, k.text(j))
	}
	for _, k := range keys {
		if k.put != nil {
			for _, name := range slices.Sorted(maps.Keys(j.propertiesOf(k))) {
				fmt.Fprintf(&b, "%s %q\n", name, j.propertiesOf(k)[name])
			}
		}
	}
	return b.String()
}

// A ceiling that no run stays under is none.
func TestAMemoryThatNoRunStaysUnderIsRefused(t *testing.T) {
	base := []string{"source.kafka.bootstrap.servers=a:1", subscribePath + "=orders", warehousePath + "=/lake", tablePath + "=sales.orders"}
	for value, want := range map[string]string{"32MiB": "144MiB", "150994943": "144MiB", "144MiB": "", "150994944": ""} {
		_, err := Load(Input{Set: append(base[:len(base):len(base)], "memory="+value), WorkDir: "/"})
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), "is too small: want a size of at least "+want)) {
			t.Errorf("memory %s: got %v, want %q", value, err, want)
		}
	}
}
