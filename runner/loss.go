package runner

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"sluice/batch"
	"sluice/offsets"
)

// found is one thing that a log does not have any more: of a topic that was created again all its partitions, else one.
type found struct {
	losses []batch.Loss
	text   string
}

func (f *found) cause() batch.Cause { return f.losses[0].Cause }

// Judged is a loss that was found, and what the job's policies say of it.
type Judged struct {
	batch.Loss
	// Accepted says that a run goes on without it, and records that.
	Accepted bool
}

// judge compares what a query is about to read from with what the log holds now, and splits what is lost by the policies.
// Records that nobody accepts the loss of are one DataLoss fault that lists every partition, and names what would accept it.
func judge(at position, view *offsets.View, accepts batch.Causes) (all []Judged, err error) {
	var refused []found
	for _, f := range findLosses(at, view) {
		accepted := accepts.Accept(f.cause())
		for _, l := range f.losses {
			all = append(all, Judged{l, accepted})
		}
		if !accepted {
			refused = append(refused, f)
		}
	}
	if len(refused) == 0 {
		return all, nil
	}
	texts := make([]string, len(refused))
	for i, f := range refused {
		texts[i] = f.text
	}
	return all, &batch.Fault{Class: batch.DataLoss, Message: "records are gone from Kafka: " + list(texts), Hint: wayOn(refused)}
}

// findLosses lists what is lost: topics that are other ones, then partitions. Gaps inside the log are none of its business:
// compaction and transactions leave them. Nor are partitions that the query has gone on without already.
func findLosses(at position, view *offsets.View) (losses []found) {
	other := map[string]bool{}
	for _, topic := range at.reached.Topics() {
		was, is := at.topicIDs[topic], view.TopicIDs[topic]
		if otherTopic(was, is) {
			other[topic] = true
			losses = append(losses, recreated(topic, was, is, at.reached))
		}
	}
	for _, tp := range at.reached.Partitions() {
		if other[tp.Topic] {
			continue
		}
		from := at.reached[tp]
		lose := func(cause batch.Cause, until int64, format string, parts ...any) {
			l := batch.Loss{Topic: tp.Topic, Partition: tp.Partition, From: from, Until: until, Cause: cause, TopicID: at.topicIDs[tp.Topic]}
			losses = append(losses, found{[]batch.Loss{l}, fmt.Sprintf(format, parts...)})
		}
		bounds, ok := view.Partitions[tp]
		_, absent := at.absent[tp]
		switch {
		case !ok && absent:
		case !ok:
			lose(batch.Missing, from, "%s is gone; the query had reached offset %d, and what came after it cannot be counted", tp, from)
		case bounds.Start > from:
			lose(batch.Retention, bounds.Start, "%s: offsets [%d,%d), %d in all, were deleted before they were read; the log starts at %d now", tp, from, bounds.Start, bounds.Start-from, bounds.Start)
		case cut(view, tp) < from && bounds.HighWatermark >= from:
			lose(batch.Diverged, from, "%s was cut at offset %d, before offset %d, which the query has reached, and has grown past it again: other records have taken the place of those that were read, and what the log had from there on cannot be counted", tp, cut(view, tp), from)
		case cut(view, tp) < bounds.HighWatermark && bounds.HighWatermark < from:
			lose(batch.Diverged, from, "%s was cut at offset %d and ends at offset %d now, before offset %d, which the query has reached: other records have taken the place of those that were read, and what the log had from there on cannot be counted", tp, cut(view, tp), bounds.HighWatermark, from)
		case bounds.HighWatermark < from:
			lose(batch.Diverged, from, "%s ends at offset %d, before offset %d, which the query has reached: the log was truncated or replaced, and what it had from there on cannot be counted", tp, bounds.HighWatermark, from)
		}
	}
	return losses
}

func recreated(topic, was, is string, reached offsets.Offsets) found {
	f := found{}
	var unread []string
	for _, tp := range partitionsOf(topic, reached) {
		f.losses = append(f.losses, batch.Loss{Topic: topic, Partition: tp.Partition, From: reached[tp], Until: reached[tp], Cause: batch.Recreated, TopicID: was})
		unread = append(unread, fmt.Sprintf("%d from %d on", tp.Partition, reached[tp]))
	}
	f.text = fmt.Sprintf("topic %s was deleted and created again: its id was %s and is %s; what the old one had that was not read cannot be counted: of partition %s", topic, was, is, list(unread))
	return f
}

// otherTopic compares the ids of topics of one name. Not every broker tells them, and Spark does not keep them.
func otherTopic(was, is string) bool { return was != "" && is != "" && was != is }

func partitionsOf(topic string, at offsets.Offsets) []offsets.TopicPartition {
	return slices.DeleteFunc(at.Partitions(), func(tp offsets.TopicPartition) bool { return tp.Topic != topic })
}

// ways is what accepting a loss leads to, by its cause, in the order of the hint.
var ways = []struct {
	cause batch.Cause
	then  string
}{
	{batch.Retention, "goes on where the log starts now; and raise the topic's retention above the longest pause of this job"},
	{batch.Recreated, "reads the topic that is there now from its start"},
	{batch.Diverged, "goes on where the log was cut: offsets from there on are there twice then, for other records than before; if the log was replaced rather than truncated, what it holds below is not read"},
	{batch.Missing, "goes on without the partitions that are gone; but see first whether they were deleted on purpose, and whether this is the right cluster"},
}

// wayOn is what to do about losses that nobody has accepted: for each cause the option that does.
func wayOn(losses []found) string {
	var told []string
	for _, way := range ways {
		if slices.ContainsFunc(losses, func(f found) bool { return f.cause() == way.cause }) {
			told = append(told, fmt.Sprintf("%s (source.onDataLoss.%s: %s) %s", way.cause.Option(), way.cause, way.cause.Choice(), way.then))
		}
	}
	return "nothing was read or changed; to accept the loss, which is then recorded: " + strings.Join(told, "; ") + "; the flag accepts it for one run, the key every later loss too"
}

// cut is where the log was cut below what was read of it, as far as is known, and its end if it was not.
func cut(view *offsets.View, tp offsets.TopicPartition) int64 {
	end := view.Partitions[tp].HighWatermark
	if at, ok := view.Cuts[tp]; ok {
		return min(at, end)
	}
	return end
}

// face judges what the query is about to read from, up to where the run ends, and keeps the judgement. open is a plan that
// is to be replayed, whatever the job says of the end by now; nil if there is none.
func (r *run) face(ctx context.Context, at position, open *batch.Plan) error {
	if err := r.askCuts(ctx, at); err != nil {
		return err
	}
	read := at.reached
	if open != nil {
		read = open.End
	}
	if err := r.confine(ctx, read); err != nil && (open == nil || batch.ClassOf(err) != batch.NotSetUp) {
		return err
	}
	all, err := judge(at, r.inside, r.Accepts)
	r.judged = all
	return err
}

// askCuts asks about the partitions whose leader has another epoch than when they were read, and says once what the brokers are
// too old to tell.
func (r *run) askCuts(ctx context.Context, at position) (err error) {
	moved, silent := offsets.Offsets{}, 0
	for tp, from := range at.reached {
		bounds, there := r.view.Partitions[tp]
		epoch, known := at.epochs[tp]
		if there && known && bounds.LeaderEpoch > epoch && !otherTopic(at.topicIDs[tp.Topic], r.view.TopicIDs[tp.Topic]) {
			moved[tp] = from
		}
		if _, told := r.view.TopicIDs[tp.Topic]; there && !told {
			silent++
		}
	}
	told := true
	if len(moved) > 0 {
		if r.view.Cuts, told, err = r.Source.Cuts(ctx, moved, at.epochs); err != nil {
			return err
		}
	}
	if r.toldOld || told && silent == 0 {
		return nil
	}
	r.toldOld = true
	if silent > 0 {
		r.Reporter.Notice("the brokers are too old to tell topics by an id (KIP-516): one that is deleted and created again is noticed only if it has fewer records than before", "partitions", silent)
	}
	if !told {
		r.Reporter.Notice("the brokers are too old to tell where a leader epoch ends (KIP-320): a log that is cut is noticed only if it has not grown past what was read")
	}
	return nil
}

// goOn takes the position behind the losses that were accepted: the next plan records them.
func (r *run) goOn() {
	r.reached, r.absent, r.topicIDs = r.reached.Clone(), r.absent.Clone(), maps.Clone(r.topicIDs)
	for tp := range r.absent {
		if _, back := r.view.Partitions[tp]; back {
			delete(r.absent, tp)
		}
	}
	var losses []batch.Loss
	for _, l := range r.judged {
		tp := l.Range().TopicPartition
		bounds, there := r.inside.Partitions[tp]
		switch l.Cause {
		case batch.Missing:
			r.absent[tp] = l.From
		case batch.Diverged:
			r.reached[tp] = max(bounds.Start, cut(r.inside, tp))
		case batch.Recreated:
			delete(r.absent, tp)
			if delete(r.reached, tp); there {
				r.reached[tp] = bounds.Start
			}
			r.topicIDs[tp.Topic] = r.view.TopicIDs[tp.Topic]
		}
		losses = append(losses, l.Loss)
	}
	r.inside = within(r.view, r.bound, r.reached)
	if r.losses = append(r.losses, losses...); len(losses) > 0 {
		r.Reporter.Warning("records are gone from Kafka, and the run goes on without them, as the job says", "offsets", batch.LostOffsets(losses), "lost", named(losses))
	}
}

// named tells the first few losses.
func named(losses []batch.Loss) string {
	texts := make([]string, len(losses))
	for i, l := range losses {
		texts[i] = l.String()
	}
	return list(texts)
}

// HeldBack names the first few partitions in which open transactions hold back records, those that hold back most first;
// empty if there is none.
func HeldBack(view *offsets.View) string {
	var blocked []offsets.TopicPartition
	for tp, bounds := range view.Partitions {
		if bounds.Blocked() > 0 {
			blocked = append(blocked, tp)
		}
	}
	slices.SortFunc(blocked, func(a, b offsets.TopicPartition) int {
		return cmp.Or(cmp.Compare(view.Partitions[b].Blocked(), view.Partitions[a].Blocked()), offsets.Compare(a, b))
	})
	var named []string
	for _, tp := range blocked {
		named = append(named, fmt.Sprintf("%s %d from offset %d", tp, view.Partitions[tp].Blocked(), view.Partitions[tp].End))
	}
	return list(named)
}

// list joins the first few of many.
func list(items []string) string {
	const most = 10
	if len(items) > most {
		return fmt.Sprintf("%s; and %d more", strings.Join(items[:most], "; "), len(items)-most)
	}
	return strings.Join(items, "; ")
}
