package cmd

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"sluice/batch"
	"sluice/job"
	"sluice/kafkasrc"
	"sluice/runner"
)

// The systems that can be imported from.
const (
	fromSpark   = "spark"
	fromGroup   = "group"
	fromConnect = "kafka-connect"
	fromFlink   = "flink"
)

func importKinds() string {
	return strings.Join([]string{fromSpark, fromGroup, fromConnect}, ", ")
}

// flagsOf are the flags of import that belong to one system.
var flagsOf = map[string][]string{
	fromSpark:   {flagSpark, flagSparkSource, flagSparkOutput, flagLastBatch},
	fromGroup:   {flagGroup},
	fromConnect: {flagGroup, flagControlTopic},
}

// originOf is the system that the flags name.
func originOf(c *cli.Context) (origin, error) {
	from := c.String(flagFrom)
	if from == fromFlink {
		return nil, &usage{fmt.Errorf("what Flink writes to an Iceberg table has no Kafka offsets: flink.max-committed-checkpoint-id is the number of a checkpoint"),
			"stop the job with a savepoint, and give a new query the savepoint's offsets as startingOffsets; the group that Flink commits to (--from group) may be a checkpoint behind: docs/import.md says how to tell"}
	}
	own, known := flagsOf[from]
	if !known {
		hint := "use one of: " + importKinds()
		if near := job.Nearest(from, []string{fromSpark, fromGroup, fromConnect}); near != "" {
			hint = "did you mean " + near + "? " + hint
		}
		if from == "" {
			return nil, &usage{fmt.Errorf("--%s is missing", flagFrom), hint}
		}
		return nil, &usage{fmt.Errorf("--%s %q is no system", flagFrom, from), hint}
	}
	for _, name := range []string{flagSpark, flagSparkSource, flagSparkOutput, flagLastBatch, flagGroup, flagControlTopic} {
		if c.IsSet(name) && !slices.Contains(own, name) {
			return nil, &usage{fmt.Errorf("--%s does not go with --%s %s", name, flagFrom, from), "leave it out, or see sluice import --help"}
		}
	}
	needed := map[string]string{fromSpark: flagSpark, fromGroup: flagGroup, fromConnect: flagGroup}[from]
	if c.String(needed) == "" {
		return nil, &usage{fmt.Errorf("--%s %s needs --%s", flagFrom, from, needed), "see sluice import --help"}
	}
	switch from {
	case fromSpark:
		return sparkOriginOf(c)
	case fromGroup:
		return &groupOrigin{name: c.String(flagGroup)}, nil
	}
	return connectOriginOf(c), nil
}

// groupOrigin is a consumer group.
type groupOrigin struct{ name string }

func (o *groupOrigin) read(ctx context.Context, line *pipeline) (*foreign, error) {
	g, err := quietGroup(ctx, line, o.name)
	if err != nil {
		return nil, err
	}
	f := &foreign{Stop: stopOf(fromGroup, o.name)}
	f.Epochs = g.Epochs
	f.unknown = []string{
		"whether what read with this group has written all that it committed, and nothing that it did not commit: what it wrote without a commit is read again",
		"whether the group is left alone from now on: sluice does not join it",
	}
	return f, f.take(line, g.Offsets)
}

func stopOf(from, place string) runner.Stop { return runner.Stop{From: from, Place: place} }

// quietGroup is a consumer group that nobody is in, and of which every offset is decided.
func quietGroup(ctx context.Context, line *pipeline, name string) (*kafkasrc.Group, error) {
	g, err := line.source.Group(ctx, name)
	if err != nil {
		return nil, err
	}
	if g.Active() {
		who := ""
		if n := len(g.Members); n > 0 {
			who = ": " + strings.Join(g.Members[:min(n, 5)], ", ")
		}
		return nil, &batch.Fault{Class: batch.Inconsistent, Message: fmt.Sprintf("group %s is in use (state %s)%s", name, g.State, who),
			Hint: "stop what reads with it and wait until it has left (its session.timeout.ms, if it was killed), then import again"}
	}
	if len(g.Unstable) > 0 {
		var named []string
		for _, tp := range g.Unstable {
			named = append(named, tp.String())
		}
		return nil, &batch.Fault{Class: batch.Inconsistent, Message: fmt.Sprintf("group %s has offsets in a transaction that has not ended: of %s", name, strings.Join(named[:min(len(named), 10)], ", ")),
			Hint: "wait until it has ended: the brokers abort what was left open after the producer's transaction.timeout.ms; then import again"}
	}
	return g, nil
}

// moment renders a time of another system.
func moment(ms int64) string { return time.UnixMilli(ms).UTC().Format(time.RFC3339) }
