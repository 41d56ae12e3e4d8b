package job

import (
	"fmt"
	"io"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// line is one line of the printed configuration.
type line struct {
	text   string
	origin string
}

// WriteConfig prints the job as a job file, with the origin of every value as a comment and secrets redacted. Without
// secrets the output makes the same job again.
func (j *Job) WriteConfig(w io.Writer) error {
	lines := j.lines()
	width := 0
	for _, l := range lines {
		if n := utf8.RuneCountInString(l.text); l.origin != "" && n <= widestAligned {
			width = max(width, n)
		}
	}
	var b strings.Builder
	for _, l := range lines {
		if l.origin == "" {
			b.WriteString(l.text + "\n")
			continue
		}
		pad := max(0, width-utf8.RuneCountInString(l.text))
		fmt.Fprintf(&b, "%s%s  # %s\n", l.text, strings.Repeat(" ", pad), l.origin)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// widestAligned keeps one long value from pushing all comments out of sight.
const widestAligned = 72

// lines lists the keys that are set, in the order of the table, below their sections.
func (j *Job) lines() []line {
	var lines []line
	var open []string
	enter := func(path string) (indent, name string) {
		parts := strings.Split(path, ".")
		section := parts[:len(parts)-1]
		common := 0
		for common < len(section) && common < len(open) && section[common] == open[common] {
			common++
		}
		for i := common; i < len(section); i++ {
			lines = append(lines, line{text: strings.Repeat("  ", i) + section[i] + ":"})
		}
		open = section
		return strings.Repeat("  ", len(section)), parts[len(parts)-1]
	}
	for _, k := range keys {
		switch {
		case mapOf(k.Path) != nil || k.text(j) == "" || !j.Value.heeds(k.Path) || j.Source.isReplaced(k.Path): // entries are printed with their map
		case k.put != nil:
			indent, name := enter(k.Path)
			lines = append(lines, line{text: indent + name + ":"})
			lines = append(lines, j.entryLines(k, indent+"  ")...)
		default:
			indent, name := enter(k.Path)
			lines = append(lines, line{indent + name + ": " + j.shown(k), j.Origin(k.Path).comment()})
		}
	}
	return lines
}

func (j *Job) entryLines(k *Key, indent string) []line {
	var lines []line
	for _, name := range slices.Sorted(maps.Keys(j.propertiesOf(k))) {
		path := join(k.Path, name)
		lines = append(lines, line{indent + yamlText(name) + ": " + yamlText(j.Text(path)), j.Origin(path).comment()})
	}
	return lines
}

func (j *Job) propertiesOf(k *Key) Properties {
	switch k.Path {
	case kafkaPath:
		return j.Source.Kafka
	case columnFormatsPath:
		return j.Value.JSON.ColumnFormats
	case registryPath:
		return j.Registry
	}
	return j.Sink.Iceberg.Catalog.Properties
}

// Text is the canonical form of the value at the path of a key, or of an entry of a free map, secrets redacted; empty
// if it is not set.
func (j *Job) Text(path string) string {
	k, m := find(path), mapOf(path)
	switch {
	case j.secret[path]:
		return redacted
	case m != nil:
		name := strings.TrimPrefix(path, m.Path+".")
		return Redact(name, j.propertiesOf(m)[name])
	case k == nil:
		return ""
	case k.put != nil:
		return j.propertiesOf(k).String()
	}
	return Redact(path, k.text(j))
}

// shown is Text as YAML: lists and maps as JSON, which is YAML too.
func (j *Job) shown(k *Key) string {
	text := j.Text(k.Path)
	if text == redacted || k.plain {
		return text
	}
	return yamlText(text)
}

// comment is an origin fit for a comment: on one line.
func (o Origin) comment() string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r == 0x85 || r == 0x2028 || r == 0x2029 {
			return '?'
		}
		return r
	}, o.String())
}

// yamlText writes a text so that YAML reads it as just this text, and interpolation as well.
func yamlText(s string) string {
	s = strings.ReplaceAll(s, "${", "$${")
	n := yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: s}
	if strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r > '~' }) {
		n.Style = yaml.DoubleQuotedStyle
	}
	text, err := yaml.Marshal(&n)
	if err != nil || strings.Count(string(text), "\n") > 1 { // folded: JSON's quotes are YAML's as well
		return compactJSON(s)
	}
	return strings.TrimSuffix(string(text), "\n")
}

// String is the printed configuration.
func (j *Job) String() string {
	var b strings.Builder
	j.WriteConfig(&b) //nolint:errcheck // a Builder takes everything
	return b.String()
}

// LogValue logs a job by name, so that no log line spells out a configuration.
func (j *Job) LogValue() slog.Value {
	return slog.GroupValue(slog.String("name", j.Name), slog.String("table", j.Sink.Name()), slog.String("checkpoint", Redact("", j.Checkpoint)))
}
