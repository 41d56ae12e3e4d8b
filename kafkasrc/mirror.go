package kafkasrc

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"

	"sluice/batch"
	"sluice/offsets"
)

// Mirror is a consumer group that shows others where a query is. It joins nothing: offsets are committed as by a client that
// assigns its own partitions, which brokers let in as long as the group has no members.
type Mirror struct {
	source *Source
	group  string
}

// Mirror is the group of that name, whether or not it is there: brokers make it with the first offset.
func (s *Source) Mirror(group string) *Mirror { return &Mirror{s, group} }

// Shown reads what the group has of all partitions that the principal may Describe, nothing if there is no such group. What a
// transaction is about to commit is not waited for. ctx bounds it; repeatable. It takes the right to Describe the group.
func (m *Mirror) Shown(ctx context.Context) (map[offsets.TopicPartition]offsets.Committed, error) {
	shown := map[offsets.TopicPartition]offsets.Committed{}
	var answer kadm.OffsetResponses
	err := m.coordinated(ctx, func(ctx context.Context) (err error) {
		answer, err = m.admin().FetchOffsets(ctx, m.group)
		return err
	})
	if errors.Is(err, kerr.GroupIDNotFound) {
		return shown, nil
	}
	if err != nil {
		return nil, m.refused(err)
	}
	for topic, partitions := range answer {
		for n, o := range partitions {
			if o.Err != nil {
				return nil, m.refused(fmt.Errorf("%s-%d: %w", topic, n, o.Err))
			}
			if o.At >= 0 {
				shown[offsets.TopicPartition{Topic: topic, Partition: n}] = offsets.Committed{Next: o.At, Epoch: o.LeaderEpoch, Note: o.Metadata}
			}
		}
	}
	return shown, nil
}

// Show commits these offsets to the group, with one request. Where some are refused the others are committed. ctx bounds it;
// repeatable. It takes the right to Read the group. A group that has members is a NotSetUp fault: they keep others out.
func (m *Mirror) Show(ctx context.Context, at map[offsets.TopicPartition]offsets.Committed) error {
	var all kadm.Offsets
	for tp, c := range at {
		all.Add(kadm.Offset{Topic: tp.Topic, Partition: tp.Partition, At: c.Next, LeaderEpoch: c.Epoch, Metadata: c.Note})
	}
	var answer kadm.OffsetResponses
	err := m.coordinated(ctx, func(ctx context.Context) (err error) {
		answer, err = m.admin().CommitOffsets(ctx, m.group, all)
		return err
	})
	if err != nil {
		return m.refused(err)
	}
	var failed []kadm.OffsetResponse
	answer.Each(func(o kadm.OffsetResponse) {
		if o.Err != nil {
			failed = append(failed, o)
		}
	})
	if len(failed) == 0 {
		return nil
	}
	slices.SortFunc(failed, func(a, b kadm.OffsetResponse) int { return offsets.Compare(answeredFor(a), answeredFor(b)) })
	return m.refused(fmt.Errorf("%s, one of %d partitions: %w", answeredFor(failed[0]), len(failed), failed[0].Err))
}

func answeredFor(o kadm.OffsetResponse) offsets.TopicPartition {
	return offsets.TopicPartition{Topic: o.Topic, Partition: o.Partition}
}

// Check says why offsets cannot be committed to the group, as far as that can be told without doing so: it has members, or a
// right is missing. Brokers tell of a right to Read only where the group is there.
func (m *Mirror) Check(ctx context.Context) error {
	if _, err := m.Shown(ctx); err != nil {
		return err
	}
	g := &Group{Name: m.group}
	err := m.coordinated(ctx, func(ctx context.Context) error {
		_, err := g.describe(ctx, m.admin())
		return err
	})
	if err != nil {
		return m.refused(err)
	}
	if len(g.Members) > 0 {
		return m.occupied(fmt.Errorf("%s", g.Members[0]))
	}
	described, err := m.admin().DescribeGroups(ctx, m.group)
	if err != nil {
		return m.refused(err)
	}
	d := described[m.group]
	if d.Err == nil && d.State != "Dead" && len(d.AuthorizedOperations) > 0 && !slices.Contains(d.AuthorizedOperations, kadm.OpRead) {
		return m.refused(kerr.GroupAuthorizationFailed)
	}
	return nil
}

// coordinated calls ask again for as long as the group has no coordinator, within Limits.Control: brokers make
// __consumer_offsets when first asked for the coordinator of any group, and say until then, and after one has moved, that there is
// none. The library repeats only what a coordinator answers.
func (m *Mirror) coordinated(ctx context.Context, ask func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, m.source.limits.Control)
	defer cancel()
	for n := 0; ; n++ {
		err := ask(ctx)
		if !uncoordinated(err) || pause(ctx, m.source.limits.backoff(n)) != nil {
			return err
		}
	}
}

func uncoordinated(err error) bool {
	return err != nil && slices.ContainsFunc([]error{kerr.CoordinatorNotAvailable, kerr.CoordinatorLoadInProgress, kerr.NotCoordinator}, func(that error) bool { return errors.Is(inner(err), that) })
}

func (m *Mirror) admin() *kadm.Client { return kadm.NewClient(m.source.cluster.client) }

// refused is the fault of a request about the group that failed, with what to do about it.
func (m *Mirror) refused(err error) error {
	err = inner(err)
	is := func(those ...error) bool {
		return slices.ContainsFunc(those, func(that error) bool { return errors.Is(err, that) })
	}
	var hint string
	switch {
	case is(kerr.GroupAuthorizationFailed):
		return notSetUp(fmt.Sprintf("Grant the principal that sluice connects as the ACL Read on group %s.", m.group), "not allowed: the ACL Read on group %s is missing", m.group)
	case is(kerr.UnknownMemberID, kerr.IllegalGeneration, kerr.RebalanceInProgress, kerr.StaleMemberEpoch, kerr.FencedMemberEpoch, kerr.FencedInstanceID):
		return m.occupied(err)
	case is(kerr.GroupIDNotFound, kerr.InconsistentGroupProtocol):
		hint = "The name is one of a group of another kind, such as a share group: choose another one for source.consumerGroup."
	case is(kerr.InvalidGroupID):
		hint = "Choose another name for source.consumerGroup."
	case is(kerr.TopicAuthorizationFailed):
		hint = "Grant the principal that sluice connects as the ACL Read on the topic."
	case is(kerr.UnknownTopicOrPartition, kerr.UnknownTopicID):
		hint = "The topic has been deleted meanwhile; the next run tells what becomes of it."
	case is(context.DeadlineExceeded):
		return &batch.Fault{Message: fmt.Sprintf("the coordinator of group %s did not answer in time", m.group), Err: err,
			Hint: "It may pass. If it does not, look at the brokers' state, and whether the partitions of __consumer_offsets have leaders."}
	default:
		return m.source.unanswered(fmt.Errorf("group %s: %w", m.group, err))
	}
	return &batch.Fault{Class: batch.NotSetUp, Message: "commit offsets to group " + m.group, Hint: hint, Err: err}
}

// occupied is the fault of a group that others use.
func (m *Mirror) occupied(err error) error {
	return &batch.Fault{Class: batch.NotSetUp, Message: fmt.Sprintf("group %s has members, and brokers take offsets from them alone", m.group), Err: err,
		Hint: "Another consumer uses this group: choose a name for source.consumerGroup that nobody else has."}
}
