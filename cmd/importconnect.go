package cmd

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/apache/iceberg-go/catalog"
	"github.com/apache/iceberg-go/table"
	"github.com/urfave/cli/v2"

	"sluice/batch"
	"sluice/offsets"
)

// defaultControlTopic is the connector's own default.
const defaultControlTopic = "control-iceberg"

// connectOffsets begins the property of a snapshot's summary that the connector keeps: the control topic's name and the group
// follow, and it holds how far the CONTROL topic was consumed. The offsets of the source are those of the group alone.
const connectOffsets = "kafka.connect.offsets."

// connectOrigin is Kafka Connect's Iceberg sink, that of Apache Iceberg. Its workers write files and then, in one Kafka
// transaction, announce them in the control topic and commit the offsets of what they hold to the group; its coordinator commits
// what was announced to the table. So the group is right exactly if nothing that was announced is left out of the table.
type connectOrigin struct{ group, control string }

func connectOriginOf(c *cli.Context) origin {
	return &connectOrigin{group: c.String(flagGroup), control: cmp.Or(c.String(flagControlTopic), defaultControlTopic)}
}

func (o *connectOrigin) read(ctx context.Context, line *pipeline) (*foreign, error) {
	if line.iceberg == nil {
		return nil, &usage{fmt.Errorf("--%s %s needs the Iceberg table that the connector wrote to, and the job's sink is a folder", flagFrom, fromConnect), "give sink.iceberg, or use --from group"}
	}
	g, err := quietGroup(ctx, line, o.group)
	if err != nil {
		return nil, err
	}
	done, err := o.committed(ctx, line)
	if err != nil {
		return nil, err
	}
	if err := o.checkAnnounced(ctx, line, done); err != nil {
		return nil, err
	}
	f := &foreign{Stop: stopOf(fromConnect, fmt.Sprintf("group %s, control topic %s", o.group, o.control))}
	f.Epochs, f.Reached = g.Epochs, "all files that the connector announced are in the table"
	f.unknown = []string{
		"whether the connector is stopped or deleted for good: its group is empty now",
		"whether the connector has skipped commits, as it does, with a warning in its log, for a table that it did not find or that was replaced",
		"what the connector left out (records without a value, transforms that drop records) or wrote to other tables",
	}
	return f, f.take(line, g.Offsets)
}

// committed is how far the control topic is known to have been committed to the table: what its newest snapshot of the connector
// says, and what the coordinator has noted, which it does once all tables have everything before.
func (o *connectOrigin) committed(ctx context.Context, line *pipeline) (offsets.Offsets, error) {
	t, err := line.iceberg.Load(ctx)
	if errors.Is(err, catalog.ErrNoSuchTable) || errors.Is(err, catalog.ErrNoSuchNamespace) {
		return nil, &batch.Fault{Class: batch.NotSetUp, Message: "there is no table " + line.iceberg.TableName(), Err: err, Hint: "name the table that the connector wrote to"}
	}
	if err != nil {
		return nil, err
	}
	done, err := o.inTable(t, line.iceberg.Branch())
	if err != nil {
		return nil, err
	}
	g, err := line.source.Group(ctx, o.group+"-coord")
	if batch.ClassOf(err) == batch.NotSetUp && err != nil {
		return done, nil // it is not there, or not ours to see: the table's word is enough
	}
	if err != nil {
		return nil, err
	}
	if g.Active() {
		return nil, &batch.Fault{Class: batch.Inconsistent, Message: fmt.Sprintf("the connector's coordinator is at work (group %s is in state %s)", g.Name, g.State),
			Hint: "stop the connector and wait until its tasks have ended, then import again; a worker that ends may not have told the brokers that its coordinator is gone: they forget it after its session.timeout.ms, 45 s by default"}
	}
	for tp, at := range g.Offsets {
		if tp.Topic == o.control {
			done[tp] = max(done[tp], at)
		}
	}
	return done, nil
}

// inTable is what the newest snapshot that the connector made says of the control topic.
func (o *connectOrigin) inTable(t *table.Table, branch string) (offsets.Offsets, error) {
	head := t.CurrentSnapshot()
	if s := t.SnapshotByName(branch); branch != "" && s != nil {
		head = s
	}
	key, others := connectOffsets+o.control+"."+o.group, map[string]bool{}
	if head != nil {
		snapshots, _ := table.AncestorsOfChecked(head.SnapshotID, t.Metadata().SnapshotByID)
		for i := range snapshots {
			if snapshots[i].Summary == nil {
				continue
			}
			if text, ok := snapshots[i].Summary.Properties[key]; ok {
				return o.parse(text)
			}
			for name := range snapshots[i].Summary.Properties {
				if strings.HasPrefix(name, connectOffsets) {
					others[name] = true
				}
			}
		}
	}
	found := "no snapshot has any of a connector"
	if len(others) > 0 {
		found = "there is " + strings.Join(slices.Sorted(maps.Keys(others)), ", ")
	}
	return nil, &batch.Fault{Class: batch.Inconsistent, Message: fmt.Sprintf("no snapshot of %s has %s: %s", strings.Join(t.Identifier(), "."), key, found),
		Hint: "name the table, the group (iceberg.connect.group-id, connect-NAME by default) and the control topic of the connector; if its snapshots have expired, let it commit once more and import again"}
}

func (o *connectOrigin) parse(text string) (offsets.Offsets, error) {
	var byPartition map[int32]int64
	if err := json.Unmarshal([]byte(text), &byPartition); err != nil {
		return nil, &batch.Fault{Class: batch.Inconsistent, Message: fmt.Sprintf("the connector's offsets in the table cannot be read: %.80s", text), Err: err, Hint: "another version of the connector wrote them; use --from group once you know that all it wrote is in the table"}
	}
	done := offsets.Offsets{}
	for n, at := range byPartition {
		done[offsets.TopicPartition{Topic: o.control, Partition: n}] = at
	}
	return done, nil
}

// checkAnnounced refuses where files were announced behind what was committed: the group is past their records, and the table does
// not have them.
func (o *connectOrigin) checkAnnounced(ctx context.Context, line *pipeline, done offsets.Offsets) error {
	bounds, id, err := line.source.TopicBounds(ctx, o.control, batch.ReadCommitted)
	if err != nil {
		return err
	}
	task := &batch.Task{Version: batch.FormatVersion, Isolation: batch.ReadCommitted}
	for _, tp := range slices.SortedFunc(maps.Keys(bounds), offsets.Compare) {
		b := bounds[tp]
		from, known := done[tp]
		if !known {
			from = b.Start
		}
		switch {
		case b.Blocked() > 0:
			return o.left(fmt.Sprintf("a transaction is open in %s at offset %d", tp, b.End), "wait until it has ended: the brokers abort what a killed task left open after its transaction.timeout.ms; then import again")
		case from < b.Start:
			return o.left(fmt.Sprintf("%s begins at offset %d, and what was announced from offset %d on is gone", tp, b.Start, from), letItCommit)
		case from > b.End:
			return o.left(fmt.Sprintf("the table is at offset %d of %s, which ends at %d: it is another topic, or was created again", from, tp, b.End), "name the control topic that the connector used")
		case from < b.End:
			task.Pieces = append(task.Pieces, batch.Piece{Topic: tp.Topic, Partition: tp.Partition, From: from, Until: b.End, TopicID: id, LeaderEpoch: -1})
		}
	}
	return o.readAnnounced(ctx, line, task)
}

const letItCommit = "start the connector again, let it commit (iceberg.control.commit.interval-ms, 5 minutes by default), stop it between two commits, and import again"

func (o *connectOrigin) left(what, hint string) error {
	return &batch.Fault{Class: batch.Inconsistent, Message: "whether all files of the connector are in the table cannot be told: " + what, Hint: hint}
}

func (o *connectOrigin) readAnnounced(ctx context.Context, line *pipeline, task *batch.Task) error {
	if len(task.Pieces) == 0 {
		return nil
	}
	r, err := line.source.Read(ctx, task)
	if err != nil {
		return err
	}
	defer r.Close()
	for {
		records, err := r.Next(ctx)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		for i := range records.Rows {
			at := fmt.Sprintf("%s-%d at offset %d", records.Topic, records.Partition, records.Offsets[i])
			e, err := parseConnectEvent(records.Value.Bytes(i))
			if err != nil {
				return o.left(fmt.Sprintf("%s is no event of the connector's that this program knows: %v", at, err), "a newer connector, or something else, wrote it; use --from group once you know that all it wrote is in the table")
			}
			if e.kind == dataWritten && e.group == o.group {
				return &batch.Fault{Class: batch.Inconsistent, Message: fmt.Sprintf("the connector has written files that are not committed (%s); the offsets of group %s are past their records", at, o.group), Hint: letItCommit}
			}
		}
	}
}
