package job

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"sluice/offsets"
)

const topicWant = "topics of letters, digits, dots, hyphens and underscores, such as [orders, refunds]"

// topicList is a YAML list, or text with commas as in Spark.
var topicList = kind[[]string]{name: "list", want: topicWant, plain: true,
	read: func(t term) ([]string, []fault) {
		names, faults := listOf(t, topicWant)
		var topics []string
		for _, name := range names {
			err := checkTopic(name.text)
			if err == nil && slices.Contains(topics, name.text) {
				err = fmt.Errorf("is there twice")
			}
			if err != nil {
				faults = append(faults, fault{name.at, name.quoted() + " " + err.Error() + ": want " + topicWant})
				continue
			}
			topics = append(topics, name.text)
		}
		slices.Sort(topics)
		return topics, faults
	},
	write: func(topics []string) string {
		if len(topics) == 0 {
			return ""
		}
		return compactJSON(topics)
	},
}

// listOf is the elements of a list: of YAML, of JSON in a variable or flag, or text with commas.
func listOf(t term, want string) ([]term, []fault) {
	switch t.form {
	case listForm:
		var kept []term
		var faults []fault
		for _, item := range t.items {
			switch item.form {
			case scalarForm:
				kept = append(kept, item)
			case badForm:
			default:
				faults = append(faults, fault{item.at, "is " + item.form.String() + ": want " + want})
			}
		}
		if len(t.items) == 0 {
			faults = faultOf(t.at, "is an empty list: want "+want)
		}
		return kept, faults
	case scalarForm:
		return splitList(t, want)
	case badForm:
		return nil, nil
	}
	return nil, faultOf(t.at, "is "+t.form.String()+": want "+want)
}

func splitList(t term, want string) ([]term, []fault) {
	parts := strings.Split(t.text, ",")
	if strings.HasPrefix(strings.TrimSpace(t.text), "[") {
		if err := json.Unmarshal([]byte(t.text), &parts); err != nil {
			return nil, faultOf(t.at, t.quoted()+" is no list: want "+want)
		}
	}
	var items []term
	for _, part := range parts {
		if part = strings.TrimSpace(part); part != "" {
			items = append(items, term{at: t.at, text: part, word: true, secret: t.secret})
		}
	}
	if len(items) == 0 {
		return nil, faultOf(t.at, "is an empty list: want "+want)
	}
	return items, nil
}

var topicNames = regexp.MustCompile(`^[A-Za-z0-9._-]{1,249}$`)

// topicName is one topic.
var topicName = words("topic", "the name of a topic, such as orders-dead", func(s string) (string, error) { return s, checkTopic(s) })

// checkTopic holds Kafka's rule for names of topics.
func checkTopic(name string) error {
	switch {
	case name == "." || name == "..":
		return fmt.Errorf("is no topic name")
	case len(name) > 249:
		return fmt.Errorf("is longer than the 249 characters that Kafka allows")
	case !topicNames.MatchString(name):
		return fmt.Errorf("is no topic name")
	}
	return nil
}

const assignWant = `the partitions of each topic, such as {"orders": [0, 1]}`

// assignment is a YAML map of lists, or Spark's JSON.
var assignment = kind[[]offsets.TopicPartition]{name: "map", want: assignWant, plain: true,
	read: func(t term) ([]offsets.TopicPartition, []fault) {
		switch t.form {
		case mapForm:
			return assignMap(t)
		case scalarForm:
			partitions, err := offsets.ParseAssignment([]byte(t.text))
			if err == nil {
				err = checkAssignment(partitions)
			}
			switch {
			case err != nil && t.secret: // the error may quote the text
				return nil, faultOf(t.at, redacted+" does not fit: want "+assignWant)
			case err != nil:
				return nil, faultOf(t.at, fmt.Sprintf("%s does not fit (%v): want %s", t.quoted(), err, assignWant))
			}
			return partitions, nil
		}
		return nil, faultOf(t.at, "is "+t.form.String()+": want "+assignWant)
	},
	write: writeAssignment,
}

func checkAssignment(partitions []offsets.TopicPartition) error {
	if len(partitions) == 0 {
		return fmt.Errorf("it names no partition")
	}
	for _, tp := range partitions {
		if err := checkTopic(tp.Topic); err != nil {
			return fmt.Errorf("topic %q %w", tp.Topic, err)
		}
	}
	return nil
}

func assignMap(t term) ([]offsets.TopicPartition, []fault) {
	set := offsets.Offsets{}
	var faults []fault
	for _, f := range t.fields {
		if err := checkTopic(f.name); err != nil {
			faults = append(faults, fault{f.at, fmt.Sprintf("%q %v: want %s", clip(f.name), err, assignWant)})
			continue
		}
		items, more := listOf(f.value, assignWant)
		faults = append(faults, more...)
		for _, item := range items {
			n, err := strconv.ParseInt(item.text, 10, 32)
			tp := offsets.TopicPartition{Topic: f.name, Partition: int32(n)}
			if _, twice := set[tp]; err != nil || n < 0 || twice {
				what := "is no partition number"
				if twice {
					what = "is there twice"
				}
				faults = append(faults, fault{item.at, item.quoted() + " " + what + ": want " + assignWant})
				continue
			}
			set[tp] = 0
		}
	}
	if len(t.fields) == 0 {
		faults = faultOf(t.at, "is an empty map: want "+assignWant)
	}
	return set.Partitions(), faults
}

func writeAssignment(partitions []offsets.TopicPartition) string {
	if len(partitions) == 0 {
		return ""
	}
	byTopic := map[string][]int32{}
	for _, tp := range partitions {
		byTopic[tp.Topic] = append(byTopic[tp.Topic], tp.Partition)
	}
	return compactJSON(byTopic)
}

const registryWant = "an http or https URL, such as https://registry:8081; several separated by commas"

// registryURLs are the addresses of one registry: a list, or text with commas. Credentials are properties of their own.
var registryURLs = kind[string]{name: "list", want: registryWant,
	read: func(t term) (string, []fault) {
		items, faults := listOf(t, registryWant)
		var all []string
		for _, item := range items {
			u, err := url.Parse(item.text)
			switch {
			case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.RawQuery != "" || u.Fragment != "":
				faults = append(faults, fault{item.at, item.quoted() + " is no such URL: want " + registryWant})
			case u.User != nil:
				faults = append(faults, fault{item.at, "has a name or a password in it: they go into basic.auth.user.info"})
			default:
				all = append(all, item.text)
			}
		}
		return strings.Join(all, ","), faults
	},
	write: func(s string) string { return s },
}

const serversWant = "host:port, several separated by commas"

// servers is bootstrap.servers: a list, or text with commas.
var servers = kind[string]{name: "list", want: serversWant,
	read: func(t term) (string, []fault) {
		items, faults := listOf(t, serversWant)
		var addresses []string
		for _, item := range items {
			if err := checkAddress(item.text); err != nil {
				faults = append(faults, fault{item.at, item.quoted() + " " + err.Error() + ": want " + serversWant})
			}
			addresses = append(addresses, item.text)
		}
		return strings.Join(addresses, ","), faults
	},
	write: func(s string) string { return s },
}

func checkAddress(address string) error {
	if strings.Contains(address, "://") {
		return fmt.Errorf("is a URL")
	}
	host, port, err := net.SplitHostPort(address)
	if err != nil || host == "" || strings.ContainsAny(host, " \t/@") {
		return fmt.Errorf("is no address")
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
		return fmt.Errorf("has no port between 1 and 65535")
	}
	return nil
}

// compactJSON renders lists and maps of texts and numbers, which cannot fail.
func compactJSON(v any) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic(err)
	}
	return strings.TrimSuffix(b.String(), "\n")
}
