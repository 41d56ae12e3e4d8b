package cmd_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
)

func readme(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// rows are the cells of the table of README that begins with a header.
func rows(t *testing.T, header string) (cells [][]string) {
	t.Helper()
	_, after, found := strings.Cut(readme(t), "\n"+header+"\n")
	if !found {
		t.Fatalf("README has no table %q", header)
	}
	for line := range strings.Lines(after) {
		if !strings.HasPrefix(line, "|") {
			break
		}
		if !strings.HasPrefix(line, "|---") {
			var row []string
			for _, cell := range strings.Split(strings.Trim(strings.TrimSpace(line), "|"), " | ") {
				row = append(row, strings.TrimSpace(cell))
			}
			cells = append(cells, row)
		}
	}
	return cells
}

// provoked is an error of README's table as it was met: what the run said, and what stands in README for what is here.
type provoked struct {
	o *outcome
	// here replaces README's examples by this test's: one, the other, and so on.
	here []string
}

// likeliest provokes each error of README's table. The key is part of its text.
var likeliest = map[string]func(*testing.T) provoked{
	"does not answer": func(t *testing.T) provoked {
		nobody := refusing(t)
		return provoked{newPipeline(t, &kafka{addr: nobody}).do(t, "run"), []string{"broker:9092", nobody}}
	},
	"does not exist": func(t *testing.T) provoked {
		return provoked{newPipeline(t, embedded(t, "orders")).with("--subscribe", "order").do(t, "run"), nil}
	},
	"checkpoint: is missing": func(t *testing.T) provoked {
		return provoked{newPipeline(t, &kafka{addr: "broker:9092"}).with("--warehouse", "s3://lake/x").do(t, "run"), nil}
	},
	"another run is active": func(t *testing.T) provoked {
		k := embedded(t, "orders")
		p := newPipeline(t, k)
		k.fill(t, "orders", 5, 0)
		held, release := make(chan struct{}), make(chan struct{})
		k.onFetch(func() { close(held); <-release })
		first := started(t, child(p.args("run")...))
		<-held
		o := p.do(t, "run", "--wait", "0s")
		close(release)
		first.wait().wants(0)
		return provoked{o, []string{"/data/lake", p.dir}}
	},
	"records are gone": func(t *testing.T) provoked {
		k := embedded(t)
		if err := k.cluster.CreateTopic("orders", 4, nil); err != nil {
			t.Fatal(err)
		}
		p := newPipeline(t, k)
		k.fill(t, "orders", 5, 3)
		p.run(t)
		k.fill(t, "orders", 5, 3)
		var upTo kadm.Offsets
		upTo.Add(kadm.Offset{Topic: "orders", Partition: 3, At: 8})
		if answers, err := k.admin.DeleteRecords(t.Context(), upTo); err != nil || answers.Error() != nil {
			t.Fatal(err, answers.Error())
		}
		return provoked{p.do(t, "run"), nil}
	},
}

func TestTheLikeliestErrorsAreAsREADMEHasThem(t *testing.T) {
	t.Parallel()
	table := rows(t, "| it says | exit | cure |")
	if len(table) != len(likeliest) {
		t.Errorf("README has %d errors, this test provokes %d", len(table), len(likeliest))
	}
	for _, row := range table {
		text, code := strings.Trim(row[0], "`"), row[1]
		for part, provoke := range likeliest {
			if !strings.Contains(text, part) {
				continue
			}
			t.Run(part, func(t *testing.T) {
				t.Parallel()
				met := provoke(t)
				if got := fmt.Sprint(met.o.code); got != code {
					t.Errorf("got exit code %s, README says %s", got, code)
				}
				wantInOrder(t, met.o.stderr, strings.NewReplacer(met.here...).Replace(text))
			})
			text = ""
			break
		}
		if text != "" {
			t.Errorf("README's error %q is provoked by no test", text)
		}
	}
}

// wantInOrder fails the test unless the parts of a text, between its dots, are said in their order.
func wantInOrder(t *testing.T, said, text string) {
	t.Helper()
	rest := said
	for _, part := range strings.Split(text, "…") {
		_, after, found := strings.Cut(rest, strings.TrimSpace(part))
		if !found {
			t.Fatalf("got\n%s\nwant %q in it, in the order of README: %s", said, part, text)
		}
		rest = after
	}
}

// What README shows of a run is what a terminal shows, which is tested beside the bar.
func TestREADMEShowsARunAsATerminalDoes(t *testing.T) {
	t.Parallel()
	shown := regexp.MustCompile("\n```\n(batch \\d: [0-9,]+ records in [ -~]*\n)+sales\\.orders: caught up in [0-9.]+ s\n")
	if !shown.MatchString(readme(t)) {
		t.Errorf("README has no output like %s", shown)
	}
}

// README's exit codes are those of the program, and no other.
func TestREADMEsExitCodesAreTheProgramsOwn(t *testing.T) {
	t.Parallel()
	var said []string
	for _, row := range rows(t, "| exit | meaning | the scheduler should |") {
		said = append(said, strings.Split(row[0], ", ")...)
	}
	own := append(constants(t, "exit.go"), "2") // the Go runtime's
	slices.Sort(said)
	slices.Sort(own)
	if !slices.Equal(said, own) {
		t.Errorf("README has the exit codes %v, the program %v", said, own)
	}
}

// constants are the values of the constants in a file of this package, as written.
func constants(t *testing.T, file string) (values []string) {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range parsed.Decls {
		if d, ok := d.(*ast.GenDecl); ok && d.Tok == token.CONST {
			for _, spec := range d.Specs {
				for _, value := range spec.(*ast.ValueSpec).Values {
					values = append(values, value.(*ast.BasicLit).Value)
				}
			}
		}
	}
	return values
}

var (
	consoleOf = regexp.MustCompile("(?s)\n```console\n(.*?)\n```\n")
	flagOf    = regexp.MustCompile(`--[a-z][a-z-]*[a-z]`)
)

// What a newcomer pastes from README works, in the order in which it stands there, but for where broker and folder are.
func TestWhatREADMESaysToTypeWorks(t *testing.T) {
	t.Parallel()
	k := embedded(t, "orders")
	k.fill(t, "orders", 5, 0, 1)
	lake := filepath.Join(t.TempDir(), "lake")
	here := strings.NewReplacer("broker:9092", k.addr, "/data/lake", lake)
	targets, err := os.ReadFile("../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	typed := 0
	for _, block := range consoleOf.FindAllStringSubmatch(readme(t), -1) {
		for line := range strings.Lines(block[1]) {
			command, _, _ := strings.Cut(strings.TrimPrefix(strings.TrimSpace(line), "$ "), " # ")
			words := strings.Fields(here.Replace(command))
			switch {
			case words[0] == "make":
				if !regexp.MustCompile(`(?m)^` + words[1] + `:`).Match(targets) {
					t.Errorf("README says %q, and there is no such target", command)
				}
			case words[0] == "./sluice":
				typed++
				call(t, nil, words...).wants(0)
			default:
				t.Errorf("README says to type %q, which no test does", command)
			}
		}
	}
	if typed < 6 {
		t.Errorf("README says to type %d commands of sluice, want the six that get a topic going", typed)
	}
}

// Every flag and every verb that README names is there.
func TestREADMENamesNoFlagOrVerbThatIsNotThere(t *testing.T) {
	t.Parallel()
	help := ""
	for _, row := range rows(t, "| verb | does |") {
		words := strings.Fields(strings.Trim(row[0], "`")) // a verb may have verbs
		help += call(t, nil, slices.Concat([]string{"sluice"}, words, []string{"--help"})...).wants(0).stdout
	}
	help += call(t, nil, "sluice", "deadletter", "replay", "--help").wants(0).stdout
	there := flagOf.FindAllString(help, -1)
	for _, flag := range flagOf.FindAllString(readme(t), -1) {
		if !slices.Contains(there, flag) {
			t.Errorf("README names the flag %s, which no verb has", flag)
		}
	}
	for _, verb := range regexp.MustCompile("`sluice ([a-z]+)").FindAllStringSubmatch(readme(t), -1) {
		call(t, nil, "sluice", verb[1], "--help").wants(0)
	}
}
