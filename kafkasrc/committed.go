package kafkasrc

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"

	"sluice/batch"
	"sluice/offsets"
	"sluice/spelling"
)

// Group is what a cluster keeps of a consumer group.
type Group struct {
	Name string
	// State is Kafka's word for it, such as Empty or Stable; empty where the brokers do not tell.
	State string
	// Members names who is in it, by client id and host.
	Members []string
	// Offsets are those that were committed, the next one to read of each partition; Epochs are the leader epochs that were
	// committed with them (KIP-320), as far as they were.
	Offsets offsets.Offsets
	Epochs  map[offsets.TopicPartition]int32
	// Unstable lists the partitions whose offset is part of a transaction that has not ended (KIP-447): which offset holds is
	// not decided.
	Unstable []offsets.TopicPartition
}

// Active says that somebody is in the group, or is just coming or going.
func (g *Group) Active() bool {
	return len(g.Members) > 0 || !slices.Contains([]string{"", "Empty", "Dead"}, g.State)
}

// Group reads what the cluster keeps of a consumer group, of the classic protocol or of KIP-848's. Offsets that a transaction is
// about to commit are waited for, Limits.Repeats times. A group that is not there is a NotSetUp fault. Repeatable; it changes
// nothing, and joins nothing. It takes the right to Describe the group.
func (s *Source) Group(ctx context.Context, name string) (*Group, error) {
	admin, g := kadm.NewClient(s.cluster.client), &Group{Name: name}
	there := false
	err := s.retry(ctx, s.limits.Control, func(ctx context.Context) (err error) {
		there, err = g.describe(ctx, admin)
		return err
	})
	if err != nil {
		return nil, s.groupUnanswered(name, err)
	}
	for n := 0; ; n++ {
		err := s.retry(ctx, s.limits.Control, func(ctx context.Context) error { return g.committed(ctx, admin) })
		if err != nil {
			return nil, s.groupUnanswered(name, err)
		}
		if len(g.Unstable) == 0 || n >= s.limits.Repeats {
			break
		}
		if err := pause(ctx, s.limits.backoff(n)); err != nil {
			return nil, err
		}
	}
	if !there && len(g.Offsets) == 0 {
		return nil, s.noGroup(ctx, admin, name)
	}
	return g, nil
}

// describe asks who is in the group. Brokers keep groups of the two protocols apart: one that is not of the first is asked for as
// of the second, and then, as of any kind, in the list of all.
func (g *Group) describe(ctx context.Context, admin *kadm.Client) (there bool, err error) {
	g.State, g.Members = "", nil
	classic, err := admin.DescribeGroups(ctx, g.Name)
	if err != nil {
		return false, inner(err)
	}
	switch d := classic[g.Name]; {
	case d.Err != nil && !errors.Is(d.Err, kerr.GroupIDNotFound):
		return false, d.Err
	case d.Err == nil && d.State != "Dead":
		for _, m := range d.Members {
			g.Members = append(g.Members, member(m.ClientID, m.ClientHost))
		}
		g.State = d.State
		return true, nil
	}
	modern, err := admin.DescribeConsumerGroups(ctx, g.Name)
	if err != nil && !unknownRequest(err) {
		return false, inner(err)
	}
	if d, ok := modern[g.Name]; ok && d.Err == nil && d.State != "Dead" {
		for _, m := range d.Members {
			g.Members = append(g.Members, member(m.ClientID, m.ClientHost))
		}
		g.State = d.State
		return true, nil
	}
	listed, err := admin.ListGroups(ctx)
	if l, ok := listed[g.Name]; ok && err == nil {
		g.State = l.State
		return true, nil
	}
	return false, nil // whoever may not list groups is told by the offsets whether it is there
}

// unknownRequest says that the brokers do not know groups of KIP-848.
func unknownRequest(err error) bool {
	return errors.Is(err, kerr.UnsupportedVersion) || strings.Contains(err.Error(), "broker is too old") || strings.Contains(err.Error(), "unknown request key")
}

func member(client, host string) string { return client + " at " + strings.TrimPrefix(host, "/") }

// inner is the error of the one broker that was asked, without the library's wrapping.
func inner(err error) error {
	var shards *kadm.ShardErrors
	if errors.As(err, &shards) && len(shards.Errs) > 0 {
		return shards.Errs[0].Err
	}
	var auth *kadm.AuthError
	if errors.As(err, &auth) {
		return auth.Err
	}
	return err
}

// committed asks for all offsets of the group.
func (g *Group) committed(ctx context.Context, admin *kadm.Client) error {
	g.Offsets, g.Epochs, g.Unstable = offsets.Offsets{}, map[offsets.TopicPartition]int32{}, nil
	answer, err := admin.FetchOffsets(kadm.RequireStable(ctx), g.Name)
	if errors.Is(err, kerr.GroupIDNotFound) {
		return nil
	}
	if errors.Is(err, kerr.TopicAuthorizationFailed) {
		return notSetUp("Grant the principal that sluice connects as the ACL Describe on all topics that the group has read.", "not allowed: the ACL Describe on a topic of group %s is missing", g.Name)
	}
	if err != nil {
		return inner(err)
	}
	for topic, partitions := range answer {
		for n, o := range partitions {
			tp := offsets.TopicPartition{Topic: topic, Partition: n}
			switch {
			case errors.Is(o.Err, kerr.UnstableOffsetCommit):
				g.Unstable = append(g.Unstable, tp)
			case o.Err != nil:
				return fmt.Errorf("%s: %w", tp, o.Err)
			case o.At >= 0:
				g.Offsets[tp] = o.At
				if o.LeaderEpoch >= 0 {
					g.Epochs[tp] = o.LeaderEpoch
				}
			}
		}
	}
	slices.SortFunc(g.Unstable, offsets.Compare)
	return nil
}

func (s *Source) groupUnanswered(name string, err error) error {
	if errors.Is(err, kerr.GroupAuthorizationFailed) {
		return notSetUp(fmt.Sprintf("Grant the principal that sluice connects as the ACL Describe on group %s.", name), "not allowed: the ACL Describe on group %s is missing", name)
	}
	return s.unanswered(fmt.Errorf("ask for group %s: %w", name, err))
}

// noGroup is the fault of a group that is not there, with what may have been meant.
func (s *Source) noGroup(ctx context.Context, admin *kadm.Client, name string) error {
	message := "there is no consumer group " + name
	if listed, err := admin.ListGroups(ctx); err == nil {
		if near := spelling.Nearest(name, listed.Groups(), max(1, len(name)/3)); len(near) > 0 {
			message += " (there is " + strings.Join(near[:min(len(near), 3)], ", ") + ")"
		}
	}
	return notSetUp("Correct the name; brokers forget the offsets of a group that has been empty for offsets.retention.minutes (7 days by default), and a group that the principal may not Describe looks missing, too.", "%s", message)
}

// Subscribes says whether the subscription asks for the partition, be it there or not.
func (s *Source) Subscribes(tp offsets.TopicPartition) bool {
	return s.subscribes(tp)
}

// TopicBounds is what a topic holds now, whether or not it is subscribed, with the id that it has. A topic that is not there is a
// NotSetUp fault. Repeatable; it changes nothing.
func (s *Source) TopicBounds(ctx context.Context, name string, isolation batch.Isolation) (map[offsets.TopicPartition]offsets.Bounds, string, error) {
	level, err := isolationLevel(isolation)
	if err != nil {
		return nil, "", err
	}
	var t *topic
	err = s.retry(ctx, s.limits.Control, func(ctx context.Context) error {
		told, err := s.cluster.metadata(ctx, []string{name})
		if t = told[name]; err != nil || t == nil {
			return err
		}
		return t.usable(name)
	})
	if err != nil {
		return nil, "", s.unanswered(err)
	}
	if t == nil || absent(t.err) {
		return nil, "", notSetUp("Correct the name; a topic that the principal may not Describe looks missing, too.", "topic %s does not exist", name)
	}
	var partitions []offsets.TopicPartition
	for _, n := range t.numbers() {
		partitions = append(partitions, offsets.TopicPartition{Topic: name, Partition: n})
	}
	bounds, err := s.bounds(ctx, partitions, level)
	return bounds, t.id.String(), err
}
