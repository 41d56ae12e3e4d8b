package job

import (
	"fmt"
	"strconv"
	"strings"

	"sluice/offsets"
)

// places is a number for each partition, as it is written in YAML and in Spark's JSON.
type places struct {
	// noun is what the numbers are, want what the value looks like, least the smallest number.
	noun, want string
	least      int64
}

var (
	startPlaces = places{"offset", `earliest, latest, or an offset for each partition such as {"orders": {"0": 23, "1": -2}}, where -2 is earliest and -1 latest`, offsets.Earliest}
	endPlaces   = places{"offset", `latest, or an offset for each partition such as {"orders": {"0": 5000, "1": -1}}, where -1 is latest`, offsets.Latest}
	timePlaces  = places{"time", `a time in milliseconds since 1970 for each partition, such as {"orders": {"0": 1793491200000, "1": 1793491200000}}`, 0}
)

// positions is where to start: earliest, latest, or an offset for each partition.
var positions = kind[StartingOffsets]{name: "word or map", want: startPlaces.want, plain: true,
	read: func(t term) (StartingOffsets, []fault) {
		if t.form == mapForm {
			each, faults := startPlaces.fields(t)
			return StartingOffsets{All: offsets.Earliest, Each: each}, faults
		}
		return scalar("", startPlaces.want, parsePositions, writePositions).read(t)
	},
	write: writePositions,
}

func parsePositions(s string) (StartingOffsets, error) {
	switch {
	case strings.EqualFold(s, "earliest"):
		return StartingOffsets{All: offsets.Earliest}, nil
	case strings.EqualFold(s, "latest"):
		return StartingOffsets{All: offsets.Latest}, nil
	case strings.HasPrefix(strings.TrimSpace(s), "{"):
		each, err := startPlaces.parse(s)
		return StartingOffsets{All: offsets.Earliest, Each: each}, err
	}
	return StartingOffsets{}, fmt.Errorf("is no position%s", meant(nearest(strings.ToLower(s), []string{"earliest", "latest"})))
}

func writePositions(s StartingOffsets) string {
	switch {
	case s.Each != nil:
		return s.Each.String()
	case s.All == offsets.Latest:
		return "latest"
	case s.All == offsets.Earliest:
		return "earliest"
	}
	return ""
}

// endings is where runs end: latest, which is nil, or an offset for each partition.
var endings = endPlaces.kind("word or map", "latest", func(s string) error {
	if strings.EqualFold(s, "earliest") {
		return fmt.Errorf("is where a log begins, and no run ends there")
	}
	return fmt.Errorf("is no position%s", meant(nearest(strings.ToLower(s), []string{"latest"})))
})

// instants is a time for each partition.
var instants = timePlaces.kind("map", "", func(string) error { return fmt.Errorf("is no map") })

// kind is a map of that sort, or the word that stands for none; other says what is wrong with other words.
func (p places) kind(name, word string, other func(string) error) kind[offsets.Offsets] {
	write := func(each offsets.Offsets) string {
		if each == nil {
			return word
		}
		return each.String()
	}
	parse := func(s string) (offsets.Offsets, error) {
		switch {
		case word != "" && strings.EqualFold(s, word):
			return nil, nil
		case strings.HasPrefix(strings.TrimSpace(s), "{"):
			return p.parse(s)
		}
		return nil, other(s)
	}
	return kind[offsets.Offsets]{name: name, want: p.want, plain: true, write: write,
		read: func(t term) (offsets.Offsets, []fault) {
			if t.form == mapForm {
				return p.fields(t)
			}
			return scalar("", p.want, parse, write).read(t)
		}}
}

// parse reads Spark's JSON.
func (p places) parse(s string) (offsets.Offsets, error) {
	each, err := offsets.Parse([]byte(s))
	if err == nil {
		err = p.check(each)
	}
	if err != nil {
		return nil, fmt.Errorf("does not fit (%w)", err)
	}
	return each, nil
}

func (p places) check(each offsets.Offsets) error {
	if len(each) == 0 {
		return fmt.Errorf("it names no partition")
	}
	for _, tp := range each.Partitions() {
		if err := checkTopic(tp.Topic); err != nil {
			return fmt.Errorf("topic %q %w", tp.Topic, err)
		}
		if each[tp] < p.least {
			return fmt.Errorf("%s: %d is no %s", tp, each[tp], p.noun)
		}
	}
	return nil
}

// fields reads {topic: {partition: number}} written in YAML.
func (p places) fields(t term) (offsets.Offsets, []fault) {
	each := offsets.Offsets{}
	var faults []fault
	wrong := func(at Origin, what string) { faults = append(faults, fault{at, what + ": want " + p.want}) }
	for _, topic := range t.fields {
		if err := checkTopic(topic.name); err != nil {
			wrong(topic.at, fmt.Sprintf("%q %v", clip(topic.name), err))
			continue
		}
		if topic.value.form != mapForm && topic.value.form != badForm {
			wrong(topic.value.at, "topic "+topic.name+" is "+topic.value.form.String())
		}
		for _, f := range topic.value.fields {
			if tp, at, ok := p.field(topic.name, f, wrong); ok {
				each[tp] = at
			}
		}
	}
	if len(each) == 0 && len(faults) == 0 {
		wrong(t.at, "names no partition")
	}
	return each, faults
}

// field reads one partition: number of a topic's map, and tells wrong what does not fit.
func (p places) field(topic string, f field, wrong func(at Origin, what string)) (tp offsets.TopicPartition, at int64, ok bool) {
	n, err := strconv.ParseInt(f.name, 10, 32)
	at, numberErr := strconv.ParseInt(f.value.text, 10, 64)
	switch {
	case err != nil || n < 0 || strconv.FormatInt(n, 10) != f.name:
		wrong(f.at, strconv.Quote(clip(f.name))+" is no partition number")
	case f.value.form == badForm:
	case f.value.form != scalarForm:
		wrong(f.value.at, "the "+p.noun+" is "+f.value.form.String())
	case numberErr != nil || at < p.least:
		wrong(f.value.at, f.value.quoted()+" is no "+p.noun)
	default:
		ok = true
	}
	return offsets.TopicPartition{Topic: topic, Partition: int32(n)}, at, ok
}
