package kafkasrc

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"

	"sluice/offsets"
	"sluice/spelling"
)

// found is what the subscription matches.
type found struct {
	topics     map[string]*topic
	partitions []offsets.TopicPartition
}

// ids maps each topic to its id, leaving out those that have none.
func (f *found) ids() map[string]string {
	ids := make(map[string]string, len(f.topics))
	for name, t := range f.topics {
		if id := t.id.String(); id != "" {
			ids[name] = id
		}
	}
	return ids
}

// resolve finds the partitions that the subscription matches now. Metadata may lack a topic for a moment, just after it
// was created and while brokers change; so what is missing is asked for again, more often if known has it.
func (s *Source) resolve(ctx context.Context, known offsets.Offsets) (*found, error) {
	for n := 0; ; n++ {
		told, err := s.askTopics(ctx)
		if err != nil {
			return nil, err
		}
		match := s.match(told)
		missing := s.missing(match, known)
		if s.pattern != nil {
			s.cluster.unmentioned(missing, told)
		}
		repeats := min(2, s.limits.Repeats)
		if slices.ContainsFunc(missing, func(tp offsets.TopicPartition) bool { return knows(known, tp) }) {
			repeats = s.limits.Repeats
		}
		if len(missing) == 0 && (len(match.partitions) > 0 || len(known) > 0) {
			return match, nil
		}
		if n < repeats {
			if err := pause(ctx, s.limits.backoff(n)); err != nil {
				return nil, err
			}
			continue
		}
		missing = slices.DeleteFunc(missing, func(tp offsets.TopicPartition) bool { return knows(known, tp) })
		if len(missing) == 0 && len(known) > 0 {
			return match, nil
		}
		return nil, s.notThere(ctx, missing)
	}
}

// wholeTopic stands for a topic of which no partition is there.
const wholeTopic = -1

// knows reports whether the query has read of the partition, or of the topic where all of it is meant.
func knows(known offsets.Offsets, tp offsets.TopicPartition) bool {
	if tp.Partition != wholeTopic {
		_, ok := known[tp]
		return ok
	}
	for k := range known {
		if k.Topic == tp.Topic {
			return true
		}
	}
	return false
}

// askTopics reads the metadata of the named topics, or of all for a pattern.
func (s *Source) askTopics(ctx context.Context) (map[string]*topic, error) {
	var told map[string]*topic
	err := s.retry(ctx, s.limits.Control, func(ctx context.Context) (err error) {
		if told, err = s.cluster.metadata(ctx, s.options.Subscription.names()); err != nil {
			return err
		}
		for name, t := range told {
			if s.pattern != nil && !s.pattern.MatchString(name) {
				continue
			}
			if err = firstError(t.usable(name), err); permanent(err) {
				return err
			}
		}
		return err
	})
	if err != nil {
		return nil, s.unanswered(err)
	}
	return told, nil
}

// usable is nil also for a topic that is not there: that is judged elsewhere.
func (t *topic) usable(name string) error {
	switch {
	case t.err == nil || absent(t.err):
		return nil
	case errors.Is(t.err, kerr.TopicAuthorizationFailed):
		return notAllowed("Describe", name)
	case errors.Is(t.err, kerr.InvalidTopicException):
		return notSetUp("Correct the topic's name.", "topic %q: the broker says that no topic can have this name", name)
	}
	return fmt.Errorf("topic %s: %w", name, t.err)
}

func notAllowed(operation, topic string) error {
	return notSetUp(fmt.Sprintf("Grant the principal that sluice connects as the ACLs Read and Describe on topic %s.", topic),
		"not allowed: the ACL %s on topic %s is missing", operation, topic)
}

// match picks what the subscription asks for.
func (s *Source) match(told map[string]*topic) *found {
	match := &found{topics: map[string]*topic{}}
	assigned := s.options.Subscription.Assign
	for name, t := range told {
		if t.err != nil || s.pattern != nil && (t.internal || !s.pattern.MatchString(name)) {
			continue
		}
		match.topics[name] = t
		for _, n := range t.numbers() {
			tp := offsets.TopicPartition{Topic: name, Partition: n}
			if len(assigned) == 0 || slices.Contains(assigned, tp) {
				match.partitions = append(match.partitions, tp)
			}
		}
	}
	slices.SortFunc(match.partitions, offsets.Compare)
	return match
}

// missing lists what is named by the subscription, or known and still subscribed, and not there.
func (s *Source) missing(match *found, known offsets.Offsets) []offsets.TopicPartition {
	gone := offsets.Offsets{}
	for _, name := range s.options.Subscription.names() {
		if match.topics[name] == nil {
			gone[offsets.TopicPartition{Topic: name, Partition: wholeTopic}] = 0
		}
	}
	there := func(tp offsets.TopicPartition) bool {
		_, ok := slices.BinarySearchFunc(match.partitions, tp, offsets.Compare)
		return ok
	}
	for _, tp := range s.options.Subscription.Assign {
		if match.topics[tp.Topic] != nil && !there(tp) {
			gone[tp] = 0
		}
	}
	for tp := range known {
		if s.subscribes(tp) && !there(tp) {
			gone[tp] = 0
		}
	}
	return gone.Partitions()
}

func (s *Source) subscribes(tp offsets.TopicPartition) bool {
	if s.pattern != nil {
		return s.pattern.MatchString(tp.Topic)
	}
	subscription := s.options.Subscription
	return slices.Contains(subscription.Topics, tp.Topic) || slices.Contains(subscription.Assign, tp)
}

// notThere names what is missing and, for a topic, what may have been meant.
func (s *Source) notThere(ctx context.Context, missing []offsets.TopicPartition) error {
	if s.pattern != nil && len(missing) == 0 {
		return notSetUp("Check the pattern, and that the principal may Describe the topics: those it may not are not listed.",
			"subscribePattern %q matches no topic", s.options.Subscription.Pattern)
	}
	if len(missing) == 0 {
		return notSetUp("Give the topic partitions.", "topic %s has no partitions", strings.Join(s.options.Subscription.names(), ", "))
	}
	var told []string
	for _, tp := range missing {
		if tp.Partition != wholeTopic {
			told = append(told, "partition "+tp.String()+" does not exist")
			continue
		}
		line := "topic " + tp.Topic + " does not exist"
		if near := spelling.Nearest(tp.Topic, s.topicNames(ctx), max(1, len(tp.Topic)/3)); len(near) > 0 {
			line += " (there is " + strings.Join(near[:min(len(near), 3)], ", ") + ")"
		}
		told = append(told, line)
	}
	return notSetUp("Create it or correct the job; a topic that the principal may not Describe looks missing, too.", "%s", strings.Join(told, "; "))
}

// topicNames lists all topics, none if the broker does not answer: the names are a help, not needed.
func (s *Source) topicNames(ctx context.Context) []string {
	told, err := s.cluster.metadata(ctx, nil)
	if err != nil {
		return nil
	}
	var names []string
	for name, t := range told {
		if !t.internal && t.err == nil {
			names = append(names, name)
		}
	}
	return names
}
