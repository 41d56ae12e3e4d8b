package verify

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/RoaringBitmap/roaring/v2/roaring64"

	"sluice/batch"
	"sluice/offsets"
)

// ReadTopic reads a topic of dead letters from its first record to the end that it has when it is called, and calls visit
// with the headers of each, which keeps nothing. It returns nil for a topic that is not there.
type ReadTopic func(ctx context.Context, visit func([]TopicHeader) error) (*TopicState, error)

// TopicHeader is one header of a record.
type TopicHeader struct {
	Key   string
	Value []byte
}

// TopicState is what is known of a topic that was read.
type TopicState struct {
	// ID is its id, empty if the brokers do not tell (KIP-516).
	ID string
	// Whole says that its log still begins with its first record and that nothing in it replaces another.
	Whole bool
}

// letterHeaders are the headers of a dead letter, in their order; docs/formats.md has them. The first says which layout it is.
var letterHeaders = []string{"sluice.dead-letter", "sluice.topic", "sluice.partition", "sluice.offset", "sluice.timestamp", "sluice.reason", "sluice.error", "sluice.batch-id", "sluice.query-id", "sluice.query-name"}

const letterLayout = "1"

// topicLetter is what the judge reads of a dead letter in a topic.
type topicLetter struct {
	offsets.TopicPartition
	offset, batch int64
	query         string
}

// letterIn reads the last dead letter's headers among those of a record.
func letterIn(headers []TopicHeader) (l topicLetter, ok bool) {
	at := -1
	for i, h := range headers {
		if h.Key == letterHeaders[0] {
			at = i
		}
	}
	if at < 0 || len(headers)-at < len(letterHeaders) || string(headers[at].Value) != letterLayout {
		return l, false
	}
	says := map[string]string{}
	for i, name := range letterHeaders {
		h := headers[at+i]
		if h.Key != name {
			return l, false
		}
		says[name] = string(h.Value)
	}
	partition, err1 := strconv.ParseInt(says["sluice.partition"], 10, 32)
	offset, err2 := strconv.ParseInt(says["sluice.offset"], 10, 64)
	number, err3 := strconv.ParseInt(says["sluice.batch-id"], 10, 64)
	l = topicLetter{offsets.TopicPartition{Topic: says["sluice.topic"], Partition: int32(partition)}, offset, number, says["sluice.query-id"]}
	return l, err1 == nil && err2 == nil && err3 == nil && partition >= 0 && offset >= 0
}

// letterTopic is one topic of dead letters, with the records that those of the query are of.
type letterTopic struct {
	name  string
	whole bool
	found map[offsets.TopicPartition]*roaring64.Bitmap
}

// readTopics reads the topics of dead letters that are to be read, and says which are not.
func (c *court) readTopics(ctx context.Context) error {
	for _, name := range slices.Sorted(maps.Keys(c.LetterTopics)) {
		if read := c.LetterTopics[name]; read == nil {
			c.unreadTopics = append(c.unreadTopics, name)
		} else if err := c.readTopic(ctx, name, read); err != nil {
			return fmt.Errorf("read the topic of dead letters %s: %w", name, err)
		}
	}
	return nil
}

func (c *court) readTopic(ctx context.Context, name string, read ReadTopic) error {
	l := &letterTopic{name: name, found: map[offsets.TopicPartition]*roaring64.Bitmap{}}
	line := LetterTopic{Name: name}
	newest := c.applied(c.Query)
	state, err := read(ctx, func(headers []TopicHeader) error {
		line.Records++
		letter, ok := letterIn(headers)
		switch {
		case !ok:
			line.Foreign++
		case letter.query == c.Query && letter.batch <= newest:
			l.add(letter)
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, there := range l.found {
		line.DeadLetters += int64(there.GetCardinality())
	}
	if state != nil {
		line.ID = state.ID
	}
	l.whole = c.sameTopic(name, state)
	c.topics = append(c.topics, l)
	c.report.LetterTopics = append(c.report.LetterTopics, line)
	return nil
}

func (l *letterTopic) add(letter topicLetter) {
	there := l.found[letter.TopicPartition]
	if there == nil {
		there = roaring64.New()
		l.found[letter.TopicPartition] = there
	}
	there.Add(uint64(letter.offset))
}

// sameTopic says whether everything that the query has written to a topic must still be there.
func (c *court) sameTopic(name string, state *TopicState) bool {
	was := ""
	if c.Identity != nil {
		was = c.Identity.Tables[lettersRole+batch.LetterPlace{Kind: batch.InTopic, Name: name}.String()]
	}
	switch {
	case state == nil:
		c.topicLimit(name, "the topic is gone")
	case was != "" && state.ID != "" && was != state.ID:
		c.topicLimit(name, fmt.Sprintf("it was deleted and created again: its id was %s and is %s", was, state.ID))
	case !state.Whole:
		c.topicLimit(name, "the topic keeps records for a time only, and its first ones are gone")
	default:
		return true
	}
	return false
}

func (c *court) topicLimit(name, why string) {
	if l := c.ledger(c.Query); l == nil || lettersOf(l) == 0 {
		return
	}
	c.limit(Limit{Kind: DeadLettersOnly, What: "that all dead letters are in topic " + name, Why: why})
}

func lettersOf(l *batch.Ledger) (n int64) {
	for _, a := range accountsOf(l) {
		n += a.DeadLetters
	}
	return n
}

// tellUnread says which topics were not read.
func (c *court) tellUnread() {
	l := c.ledger(c.Query)
	if len(c.unreadTopics) == 0 || l == nil || lettersOf(l) == 0 {
		return
	}
	c.limit(Limit{Kind: DeadLettersOnly, What: "that the dead letters in topic " + strings.Join(c.unreadTopics, ", ") + " are there", Why: "a topic remembers no batch, and this one was not read",
		Todo: "verify with --source"})
}

// weighTopics finds the dead letters of a partition that are in topics and in no table. A topic has each at least once, and
// also those of attempts that came to nothing: whatever is there twice, or a row besides, is held against nobody.
func (c *court) weighTopics(k *partitionCase) {
	k.inTopics = roaring64.New()
	for _, l := range c.topics {
		if there := l.found[k.TopicPartition]; there != nil {
			k.inTopics.Or(there)
		}
		k.lettersWhole = k.lettersWhole && l.whole
	}
	k.lettersWhole = k.lettersWhole && len(c.unreadTopics) == 0
	k.inTopics.AndNot(k.letters.level(0))
	rows := int64(k.inTopics.AndCardinality(k.ever.level(0)))
	replayed := max(0, k.line.Replayed-int64(k.letters.level(0).AndCardinality(k.ever.level(0))))
	k.line.DeadLettersFound += int64(k.inTopics.GetCardinality()) - rows + min(rows, replayed)
}
