package cmd

import (
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/urfave/cli/v2"
)

var (
	fenced   = regexp.MustCompile("(?ms)^ *```[a-z]*\n(.*?)^ *```")
	inlined  = regexp.MustCompile("`(sluice [^`]+)`")
	typed    = regexp.MustCompile(`^(?:\$ )?(?:\./|/usr/local/bin/)?(sluice .*)`)
	noOption = regexp.MustCompile(`^sluice batch [0-9]+ of query`) // what a consumer group is told
)

// documentedCommands are the command lines of sluice in a text: in blocks of code, and between backquotes.
func documentedCommands(text string) (lines []string) {
	for _, block := range fenced.FindAllStringSubmatch(text, -1) {
		for line := range strings.Lines(strings.ReplaceAll(block[1], "\\\n", " ")) {
			if m := typed.FindStringSubmatch(strings.TrimSpace(line)); m != nil {
				lines = append(lines, m[1])
			}
		}
	}
	for _, m := range inlined.FindAllStringSubmatch(fenced.ReplaceAllString(text, ""), -1) {
		if !noOption.MatchString(m[1]) {
			lines = append(lines, m[1])
		}
	}
	return lines
}

// wordsOf splits a line as a shell does, up to a comment, a pipe or a redirection.
func wordsOf(line string) (words []string) {
	var word strings.Builder
	quote, begun := rune(0), false
	end := func() {
		if begun {
			words, begun = append(words, word.String()), false
			word.Reset()
		}
	}
	for _, r := range line {
		switch {
		case quote != 0 && r == quote:
			quote = 0
		case quote != 0:
			word.WriteRune(r)
		case r == '\'' || r == '"':
			quote, begun = r, true
		case r == ' ':
			end()
		case strings.ContainsRune("|>;&", r), r == '#' && !begun:
			end()
			return words
		default:
			word.WriteRune(r)
			begun = true
		}
	}
	end()
	return words
}

// parsed parses a command line with the program's own flags, and runs nothing.
func parsed(words []string) error {
	p := &process{name: "sluice", stdout: io.Discard, stderr: io.Discard}
	app := p.app()
	var idle func([]*cli.Command)
	idle = func(commands []*cli.Command) {
		for _, c := range commands {
			if c.Action != nil && len(c.Subcommands) == 0 {
				c.Action = func(*cli.Context) error { return nil }
			}
			idle(c.Subcommands)
		}
	}
	idle(app.Commands)
	return app.Run(words)
}

func TestTheCommandsInTheDocumentationCanBeTyped(t *testing.T) {
	files := []string{"../README.md", "../ARCHITECTURE.md", "../CHANGELOG.md", "../examples/cron/README.md"}
	pages, err := filepath.Glob("../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, file := range slices.Concat(files, pages) {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range documentedCommands(string(text)) {
			n++
			if err := parsed(wordsOf(line)); err != nil {
				t.Errorf("%s says %q: %v", file, line, err)
			}
		}
	}
	if n < 60 {
		t.Errorf("got %d commands, want at least 60", n)
	}
	for _, wrong := range []string{"sluice rnu", "sluice run --no-such-flag", "sluice maintain --dry-run=perhaps", "sluice import --grupp x"} {
		if parsed(wordsOf(wrong)) == nil {
			t.Errorf("%q was taken", wrong)
		}
	}
}
