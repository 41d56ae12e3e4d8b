// Package cmd is the command line: one file a verb, the flags, the wiring of the packages, signals, and the one
// function from an error to an exit code.
//
// stdout carries results: text for people, or one JSON object a line with --output json. stderr carries logs, the
// progress bar on a terminal, and the last error with what to do about it.
package cmd

import (
	"context"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/urfave/cli/v2"

	"sluice/job"
)

// Main runs one command line and returns the exit code. args holds the program's name first. It is safe to call
// several times in one process, also at once.
func Main(args, environ []string, stdout, stderr io.Writer) int {
	p := &process{name: args[0], environ: environ, stdout: stdout, stderr: stderr}
	ctx, stop := withSignals(context.Background(), p.called)
	defer stop()
	err := p.app().RunContext(ctx, args)
	code := exitCode(err)
	if err != nil && !p.told {
		p.tell(err, code)
	}
	return code
}

// process is what one invocation has from outside.
type process struct {
	// name is what was typed to call the program.
	name           string
	environ        []string
	stdout, stderr io.Writer
	// json says that results are JSON lines.
	json bool
	// verb is the command that was called, a string.
	verb atomic.Value
	// told says that the error has been shown already.
	told bool
}

// called is the command that was called, empty before it is known.
func (p *process) called() string {
	verb, _ := p.verb.Load().(string)
	return verb
}

func (p *process) app() *cli.App {
	app := &cli.App{
		Name:        "sluice",
		Usage:       "drain what is in Kafka now into an Iceberg table, exactly once, and exit",
		Description: "Each run reads everything that was in Kafka when it started, in batches no larger than you allow, writes each batch to the table exactly once, and exits.\n\nTry it without anything else:   sluice demo\n\nWhat a job needs comes from flags, from a file (--job), or from variables: SLUICE_ and a key's path, as in SLUICE_SOURCE_SUBSCRIBE=orders.",
		Commands: []*cli.Command{p.runCommand(), p.planCommand(), p.statusCommand(), p.verifyCommand(), p.validateCommand(), p.peekCommand(), p.deadLetterCommand(), p.maintainCommand(), p.importCommand(),
			p.schemaCommand(), p.demoCommand(), p.versionCommand(), helpCommand()},
		Flags:  []cli.Flag{&cli.BoolFlag{Name: flagVersion, Aliases: []string{"v"}, Usage: "show the version, as sluice version does"}, cli.HelpFlag},
		Writer: p.stdout, ErrWriter: p.stderr,
		HideVersion: true, Suggest: true,
		UseShortOptionHandling: true,
		ExitErrHandler:         func(*cli.Context, error) {}, // exit codes are ours
		OnUsageError:           usageError,
		CommandNotFound:        func(*cli.Context, string) {}, // Action tells
		Action: func(c *cli.Context) error {
			if c.Bool(flagVersion) {
				return p.showVersion(c)
			}
			if c.Args().Present() {
				return unknownCommand(c)
			}
			return cli.ShowAppHelp(c)
		},
	}
	prepare(app.Commands)
	return app
}

// prepare gives commands, and those inside them, what all have.
func prepare(commands []*cli.Command) {
	for _, c := range commands {
		c.OnUsageError = usageError
		c.HideHelpCommand = true
		tellKeys(c)
		listHeeded(c)
		c.Flags = append(c.Flags, cli.HelpFlag) // the library adds it too late to be listed
		prepare(c.Subcommands)
	}
}

// usage is an error in what was typed: nothing was touched.
type usage struct {
	error
	hint string
}

func (u *usage) Unwrap() error { return u.error }
func (u *usage) Hint() string  { return u.hint }

func usageError(c *cli.Context, err error, _ bool) error {
	name := "sluice"
	if c.Command != nil && c.Command.Name != "" && c.Command.Name != c.App.Name {
		name += " " + commandName(c.Command)
	}
	hint := "see " + name + " --help"
	if typed, ok := strings.CutPrefix(err.Error(), "flag provided but not defined: -"); ok {
		typed = strings.TrimLeft(typed, "-")
		err = fmt.Errorf("there is no flag --%s", typed)
		meant := meantFlag(c, typed)
		if other, is := strings.CutPrefix(meant, flagOf); is {
			hint = "see " + other + " --help"
		}
		if meant != "" {
			hint = meant + "; " + hint
		}
	} else if told := plainly(c, err.Error()); told != nil {
		err = told
	}
	return &usage{err, hint}
}

var (
	noValue  = regexp.MustCompile(`^flag needs an argument: -+(.+)$`)
	badValue = regexp.MustCompile(`^invalid (?:boolean )?value ("(?:[^"\\]|\\.)*") for (?:flag )?-+([a-z-]+): `)
)

// plainly says in our words what the library says of the value of a flag; nil if it is about something else.
func plainly(c *cli.Context, text string) error {
	if m := noValue.FindStringSubmatch(text); m != nil {
		return fmt.Errorf("--%s needs a value", m[1])
	}
	m := badValue.FindStringSubmatch(text)
	if m == nil {
		return nil
	}
	for _, f := range c.Command.Flags {
		if !slices.Contains(f.Names(), m[2]) {
			continue
		}
		switch f.(type) {
		case *cli.BoolFlag:
			return fmt.Errorf("--%s %s is neither true nor false", m[2], m[1])
		case *cli.IntFlag, *cli.Int64Flag:
			return fmt.Errorf("--%s %s is no whole number", m[2], m[1])
		case *cli.DurationFlag:
			return fmt.Errorf("--%s %s is no duration such as 30s or 15m", m[2], m[1])
		}
	}
	return nil
}

// commandName is what is typed after the program's name to call a command.
func commandName(c *cli.Command) string {
	_, name, ok := strings.Cut(c.HelpName, " ")
	if !ok {
		return c.Name
	}
	return name
}

// flagOf begins what meantFlag says of a flag that another command has.
const flagOf = "it is a flag of "

// meantFlag says what a flag that does not exist was probably meant to be; empty if nothing is near.
func meantFlag(c *cli.Context, typed string) string {
	if c.Command == nil || c.Command.Name == "" || c.Command.Name == c.App.Name {
		if slices.Contains(dryRuns, typed) {
			return dryRunHint
		}
		if typed == flagJob || job.KeyOf(typed) != nil {
			return "flags stand after the command, as in sluice run --" + typed
		}
		return ""
	}
	names := namesOf(c.Command.Flags)
	if slices.Contains(dryRuns, typed) && slices.Contains(names, flagJob) {
		return dryRunHint
	}
	if key := job.KeyOf(typed); key != nil && slices.Contains(names, flagJob) {
		if key.Flag != "" {
			return "did you mean --" + key.Flag + "?"
		}
		return "use --set " + key.Path + "=" + strings.ToUpper(key.Type)
	}
	if near := job.Nearest(typed, names); near != "" {
		return "did you mean --" + near + "?"
	}
	for _, other := range c.App.Commands {
		if slices.Contains(namesOf(other.Flags), typed) && !slices.Contains(dryRuns, typed) {
			return flagOf + "sluice " + other.Name
		}
	}
	return ""
}

// dryRuns are flags that others have for what is a command here.
var dryRuns = []string{"dry-run", "dryrun", "dry", "noop"}

const dryRunHint = "sluice plan shows what a run would do, and writes nothing"

// unknownCommand is the error for a first word that is no command.
func unknownCommand(c *cli.Context) error {
	typed, names := c.Args().First(), commandNames(c.App)
	hint := "the commands are: " + strings.Join(names, ", ")
	if near := job.Nearest(typed, names); near != "" {
		hint = "did you mean " + near + "? " + hint
	}
	return &usage{fmt.Errorf("unknown command %q", typed), hint}
}

// namesOf lists the long names of flags.
func namesOf(flags []cli.Flag) []string {
	var names []string
	for _, f := range flags {
		names = append(names, f.Names()[0])
	}
	return names
}

func commandNames(app *cli.App) []string {
	var names []string
	for _, c := range app.VisibleCommands() {
		if c.Name != "help" {
			names = append(names, c.Name)
		}
	}
	return names
}

// noArguments refuses words that no flag takes: a forgotten --job, or a value with a space.
func noArguments(c *cli.Context) error {
	if word := c.Args().First(); word == "true" || word == "false" {
		return &usage{fmt.Errorf("%s takes no arguments, but has %q", c.Command.Name, word), "a flag that is true or false takes its value after =, as in --include-headers=" + word}
	}
	if c.Args().Present() {
		word, hint := c.Args().First(), "is a flag missing before it?"
		if info, err := os.Stat(word); err == nil && info.Mode().IsRegular() && slices.Contains(namesOf(c.Command.Flags), flagJob) {
			hint = "did you mean --" + flagJob + " " + word + "?"
		}
		return &usage{fmt.Errorf("%s takes no arguments, but has %q", c.Command.Name, word), hint + " see sluice " + commandName(c.Command) + " --help"}
	}
	return nil
}
