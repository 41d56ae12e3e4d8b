package checkpoint

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"sluice/offsets"
)

// entry is a file offsets/<N> taken apart. Its format is Spark's OffsetSeqLog; after the version line comes
//
//	version 1:  the metadata, or an empty line; then one line of offsets per source, by position
//	version 2:  the metadata; then one line <source id>:<offsets> per source
//
// A source without offsets has the line -. Lines are separated by \n; none follows the last, though Spark reads past one.
type entry struct {
	version int
	// source is the id of the source in version 2.
	source string
	// watermark and timestamp are batchWatermarkMs and batchTimestampMs, in milliseconds.
	watermark, timestamp int64
	// conf is Spark's map of settings that it pins for the life of a query. Spark reads what it knows and keeps the rest
	// out of its way, so our keys live here.
	conf map[string]string
	// extra are the members of the metadata that we do not know: version 2 describes the sources there.
	extra members
	end   offsets.Offsets
}

// parseEntry reads the stored form strictly: one source with offsets, versions 1 and 2, no member twice.
func parseEntry(text []byte) (*entry, error) {
	version, rest, err := cutVersion(text)
	if err != nil {
		return nil, err
	}
	if version != 1 && version != 2 {
		return nil, fmt.Errorf("its format is version %d; this program knows 1 and 2", version)
	}
	metadata, sources, ok := bytes.Cut(rest, []byte("\n"))
	if !ok {
		return nil, errors.New("it is cut off: no line of offsets")
	}
	e := &entry{version: version}
	if err := e.parseMetadata(metadata); err != nil {
		return nil, fmt.Errorf("metadata: %w", err)
	}
	line := bytes.TrimSuffix(sources, []byte("\n"))
	if bytes.Contains(line, []byte("\n")) {
		return nil, fmt.Errorf("it has %d sources; sluice continues queries with one", bytes.Count(line, []byte("\n"))+1)
	}
	return e, e.parseSource(line)
}

// cutVersion splits off the line v<version>.
func cutVersion(text []byte) (version int, rest []byte, err error) {
	line, rest, ok := bytes.Cut(text, []byte("\n"))
	if !ok {
		return 0, nil, errors.New("it is cut off: nothing follows the version")
	}
	if !bytes.HasPrefix(line, []byte("v")) {
		return 0, nil, fmt.Errorf("it begins with %.20q, not with a version", line)
	}
	n, err := parseNumber(string(line[1:]))
	if err != nil || n > 1000 {
		return 0, nil, fmt.Errorf("it begins with %.20q, which is no version", line)
	}
	return int(n), rest, nil
}

func (e *entry) parseMetadata(text []byte) error {
	e.conf = map[string]string{}
	if len(text) == 0 {
		if e.version != 1 {
			return errors.New("there is none")
		}
		return nil // before Spark 2.2
	}
	object, err := parseMembers(text)
	if err != nil {
		return err
	}
	if e.watermark, err = object.takeInt("batchWatermarkMs"); err != nil {
		return err
	}
	if e.timestamp, err = object.takeInt("batchTimestampMs"); err != nil {
		return err
	}
	if control := object.take("controlBatchInfo"); control != nil && string(control) != "null" {
		return errors.New("it is a control batch of several sources read in turn")
	}
	if conf := object.take("conf"); conf != nil {
		if e.conf, err = parseConf(conf); err != nil {
			return fmt.Errorf("conf: %w", err)
		}
	}
	e.extra = object
	return nil
}

func parseConf(text []byte) (map[string]string, error) {
	object, err := parseMembers(text)
	if err != nil {
		return nil, err
	}
	conf := make(map[string]string, len(object))
	for name, value := range object {
		if value[0] != '"' {
			return nil, fmt.Errorf("%s is no string: %.40s", name, value)
		}
		var s string
		if err := json.Unmarshal(value, &s); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		conf[name] = s
	}
	return conf, nil
}

func (e *entry) parseSource(line []byte) error {
	if e.version == 2 {
		source, rest, ok := bytes.Cut(line, []byte(":"))
		if !ok || len(source) == 0 || source[0] == '{' {
			return fmt.Errorf("want <source id>:<offsets>, have %.60q", line)
		}
		e.source, line = string(source), rest
	}
	switch {
	case len(line) == 0:
		return errors.New("it is cut off: no line of offsets")
	case string(line) == "-":
		return errors.New("its source has no offsets (-)")
	}
	var err error
	e.end, err = parsePositions(line)
	return err
}

// parsePositions reads offsets of a checkpoint. Symbolic ones are for people and have no place there.
func parsePositions(text []byte) (offsets.Offsets, error) {
	positions, err := offsets.Parse(text)
	if err != nil {
		return nil, err
	}
	for _, tp := range positions.Partitions() {
		if positions[tp] < 0 {
			return nil, fmt.Errorf("%s is at %d: a checkpoint holds no negative offsets", tp, positions[tp])
		}
	}
	return positions, nil
}

// marshal renders the stored form.
func (e *entry) marshal() ([]byte, error) {
	metadata, err := e.marshalMetadata()
	if err != nil {
		return nil, err
	}
	end, err := e.end.MarshalJSON()
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "v%d\n%s\n", e.version, metadata)
	if e.version == 2 {
		fmt.Fprintf(&b, "%s:", e.source)
	}
	b.Write(end)
	return b.Bytes(), nil
}

// marshalMetadata writes Spark's members in Spark's order, then the unknown ones by name.
func (e *entry) marshalMetadata() ([]byte, error) {
	conf, err := compact(e.conf)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, `{"batchWatermarkMs":%d,"batchTimestampMs":%d,"conf":%s`, e.watermark, e.timestamp, conf)
	return e.extra.finish(&b)
}

// successor is an entry that carries forward what Spark would: the format, the settings, the watermark, and what we do
// not know. Our own keys describe one plan and stay behind.
func (e *entry) successor() *entry {
	next := *e
	next.conf = map[string]string{}
	for name, value := range e.conf {
		if !strings.HasPrefix(name, ours) {
			next.conf[name] = value
		}
	}
	next.end = nil
	return &next
}
