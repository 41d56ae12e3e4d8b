package offsets

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
)

// Symbolic offsets of the JSON grammar. They appear in what a user writes, never in a checkpoint: they are resolved
// to numbers once, before anything is planned.
const (
	// Latest (-1) stands for the end of the partition.
	Latest int64 = -1
	// Earliest (-2) stands for the first offset still there.
	Earliest int64 = -2
)

// MarshalJSON renders Spark's form {"topic":{"0":23,"1":7}}, topics by name and partitions by number, without spaces.
func (o Offsets) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	topic := ""
	for i, tp := range o.Partitions() {
		if i == 0 || tp.Topic != topic {
			if i > 0 {
				b.WriteString("},")
			}
			topic = tp.Topic
			name, err := json.Marshal(topic)
			if err != nil {
				return nil, err
			}
			b.Write(name)
			b.WriteString(":{")
		} else {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `"%d":%d`, tp.Partition, o[tp])
	}
	if len(o) > 0 {
		b.WriteByte('}')
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// String is the JSON form.
func (o Offsets) String() string {
	b, err := o.MarshalJSON()
	if err != nil { // only a topic name can fail to encode, and json.Marshal takes any string
		panic(err)
	}
	return string(b)
}

// UnmarshalJSON is Parse.
func (o *Offsets) UnmarshalJSON(text []byte) error {
	parsed, err := Parse(text)
	if err != nil {
		return err
	}
	*o = parsed
	return nil
}

// Parse reads {"topic":{"partition":offset,…},…}. Offsets are exact 64-bit integers; Latest and Earliest pass, other
// negative numbers do not. A repeated topic or partition, a partition that is not a plain number, and anything after
// the object are errors that name the place.
func Parse(text []byte) (Offsets, error) {
	d := decoder{json.NewDecoder(bytes.NewReader(text))}
	d.UseNumber()
	parsed := Offsets{}
	seen := map[string]bool{}
	err := d.object("topic", func(topic string) error {
		if seen[topic] {
			return d.errorf("topic %q is there twice", topic)
		}
		seen[topic] = true
		return d.object("partition", func(name string) error {
			partition, err := parsePartition(name)
			if err != nil {
				return d.errorf("topic %q: %w", topic, err)
			}
			tp := TopicPartition{Topic: topic, Partition: partition}
			if _, ok := parsed[tp]; ok {
				return d.errorf("topic %q: partition %d is there twice", topic, partition)
			}
			parsed[tp], err = d.offset()
			return err
		})
	})
	if err == nil {
		err = d.end()
	}
	if err != nil {
		return nil, fmt.Errorf("parse offsets JSON: %w", err)
	}
	return parsed, nil
}

// ParseAssignment reads {"topic":[0,1],…}, the partitions to read of each topic.
func ParseAssignment(text []byte) ([]TopicPartition, error) {
	d := decoder{json.NewDecoder(bytes.NewReader(text))}
	d.UseNumber()
	set := Offsets{}
	err := d.object("topic", func(topic string) error {
		return d.array(func() error {
			n, err := d.offset()
			if err != nil {
				return err
			}
			if n < 0 || n > 1<<31-1 {
				return d.errorf("topic %q: %d is no partition number", topic, n)
			}
			tp := TopicPartition{Topic: topic, Partition: int32(n)}
			if _, ok := set[tp]; ok {
				return d.errorf("topic %q: partition %d is there twice", topic, n)
			}
			set[tp] = 0
			return nil
		})
	})
	if err == nil {
		err = d.end()
	}
	if err != nil {
		return nil, fmt.Errorf("parse assignment JSON: %w", err)
	}
	return set.Partitions(), nil
}

func parsePartition(name string) (int32, error) {
	n, err := strconv.ParseInt(name, 10, 32)
	if err != nil || n < 0 || strconv.FormatInt(n, 10) != name {
		return 0, fmt.Errorf("%q is no partition number", name)
	}
	return int32(n), nil
}

// decoder reads the token stream of encoding/json, which alone sees repeated keys.
type decoder struct{ *json.Decoder }

func (d decoder) errorf(format string, args ...any) error {
	return fmt.Errorf("at byte %d: %w", d.InputOffset(), fmt.Errorf(format, args...))
}

func (d decoder) token(what string) (json.Token, error) {
	t, err := d.Token()
	if errors.Is(err, io.EOF) {
		return nil, d.errorf("the text ends where %s should be", what)
	}
	if err != nil {
		return nil, d.errorf("%w", err)
	}
	return t, nil
}

func (d decoder) object(key string, member func(name string) error) error {
	t, err := d.token("an object")
	if err != nil {
		return err
	}
	if t != json.Delim('{') {
		return d.errorf("want an object of %ss, have %v", key, t)
	}
	for d.More() {
		t, err := d.token("a " + key)
		if err != nil {
			return err
		}
		name, ok := t.(string)
		if !ok {
			return d.errorf("want a %s, have %v", key, t)
		}
		if err := member(name); err != nil {
			return err
		}
	}
	_, err = d.token("}")
	return err
}

func (d decoder) array(element func() error) error {
	t, err := d.token("a list")
	if err != nil {
		return err
	}
	if t != json.Delim('[') {
		return d.errorf("want a list of partitions, have %v", t)
	}
	for d.More() {
		if err := element(); err != nil {
			return err
		}
	}
	_, err = d.token("]")
	return err
}

func (d decoder) offset() (int64, error) {
	t, err := d.token("an offset")
	if err != nil {
		return 0, err
	}
	number, ok := t.(json.Number)
	if !ok {
		return 0, d.errorf("want a whole number, have %v", t)
	}
	n, err := strconv.ParseInt(number.String(), 10, 64)
	if err != nil {
		return 0, d.errorf("%s is no 64-bit whole number", number)
	}
	if n < Earliest {
		return 0, d.errorf("%d is no offset: use %d for earliest, %d for latest", n, Earliest, Latest)
	}
	return n, nil
}

func (d decoder) end() error {
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return d.errorf("something follows the object")
	}
	return nil
}
