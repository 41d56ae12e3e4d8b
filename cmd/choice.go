package cmd

import (
	"fmt"

	"github.com/urfave/cli/v2"

	"sluice/batch"
	"sluice/runner"
)

const (
	flagAdopt       = "adopt"
	flagNewQuery    = "new-query"
	flagLostRows    = "lost-rows"
	flagLostLetters = "lost-dead-letters"
	// The job's own, which decide once as well.
	flagStart      = "starting-offsets"
	flagStartTime  = "starting-timestamp"
	flagStartTimes = "starting-offsets-by-timestamp"
)

// choiceFlags are what somebody decides once, where a run has stopped to ask. plan takes them too, to show beforehand
// what they would do.
func choiceFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: flagAdopt, Usage: "the checkpoint was lost: go on as the query of this `ID`, which the error of exit code 13 and sluice plan name, where the table says it is"},
		&cli.BoolFlag{Name: flagNewQuery, Usage: "the checkpoint is meant to be empty: begin a new query although the table remembers one of this name"},
		&cli.StringFlag{Name: flagLostRows, Usage: "the table lost rows that this query wrote: reread them or accept that (`CHOICE`)"},
		&cli.StringFlag{Name: flagLostLetters, Usage: "a table of dead letters is gone, was made anew or rolled back: accept that (`CHOICE`)"},
	}
}

// choices is what was decided with choiceFlags.
type choices struct {
	adopt    string
	newQuery bool
	lostRows batch.Choice
	// lostLetters says that dead letters which are gone are done without.
	lostLetters bool
	// start is the flag that says where a new query begins; empty if it was not given.
	start string
}

func choicesOf(c *cli.Context) (choices, error) {
	chosen := choices{adopt: c.String(flagAdopt), newQuery: c.Bool(flagNewQuery), lostRows: batch.Choice(c.String(flagLostRows))}
	for _, flag := range []string{flagStart, flagStartTime, flagStartTimes} {
		if len(given(c, flag)) > 0 {
			chosen.start = "--" + flag
		}
	}
	if c.IsSet(flagAdopt) && chosen.newQuery {
		return choices{}, &usage{fmt.Errorf("--%s and --%s contradict each other", flagAdopt, flagNewQuery), "give one of them"}
	}
	switch choice := c.String(flagLostLetters); choice {
	case "":
	case string(batch.Accept):
		chosen.lostLetters = true
	default:
		return choices{}, &usage{fmt.Errorf("--%s %q is no choice", flagLostLetters, choice), fmt.Sprintf("use %s: what Kafka may still have of them cannot be read again by this query", batch.Accept)}
	}
	switch chosen.lostRows {
	case "", batch.Reread, batch.Accept:
		return chosen, nil
	}
	return choices{}, &usage{fmt.Errorf("--%s %q is no choice", flagLostRows, chosen.lostRows), fmt.Sprintf("use %s or %s", batch.Reread, batch.Accept)}
}

// tell hands the choices to a query.
func (chosen choices) tell(query *runner.Query) {
	query.Adopt, query.NewQuery, query.LostRows, query.StartGiven = chosen.adopt, chosen.newQuery, chosen.lostRows, chosen.start
	query.AcceptLostLetters = chosen.lostLetters
}
