package checkpoint

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"unicode/utf8"
)

// members is a JSON object taken apart without losing anything: values as they were written, so that what we do not
// know can be written again.
type members map[string]json.RawMessage

// parseMembers reads one JSON object and nothing else. encoding/json alone would let the last of two equal keys win and
// put replacement characters in the place of broken UTF-8; both are errors here.
func parseMembers(text []byte) (members, error) {
	if !utf8.Valid(text) {
		return nil, errors.New("it is not valid UTF-8")
	}
	d := json.NewDecoder(bytes.NewReader(text))
	if t, err := d.Token(); err != nil {
		return nil, cutOff(err)
	} else if t != json.Delim('{') {
		return nil, fmt.Errorf("want a JSON object, have %v", t)
	}
	object := members{}
	for d.More() {
		t, err := d.Token()
		if err != nil {
			return nil, cutOff(err)
		}
		name, _ := t.(string) // the decoder lets nothing else stand for a key
		if _, ok := object[name]; ok {
			return nil, fmt.Errorf("%q is there twice", name)
		}
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return nil, cutOff(err)
		}
		object[name] = value
	}
	if _, err := d.Token(); err != nil {
		return nil, cutOff(err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("something follows the JSON object")
	}
	return object, nil
}

// cutOff says what io.EOF means here.
func cutOff(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.New("the JSON object is cut off")
	}
	return err
}

// take removes a member and returns it; nil if it is not there.
func (m members) take(name string) json.RawMessage {
	value := m[name]
	delete(m, name)
	return value
}

// takeInt removes a member that must be a whole number of 64 bits; 0 if it is not there.
func (m members) takeInt(name string) (int64, error) {
	value := m.take(name)
	if value == nil {
		return 0, nil
	}
	n, err := strconv.ParseInt(string(value), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%s: %s is no 64-bit whole number", name, value)
	}
	return n, nil
}

// finish writes the members that are left, by name, behind those that b holds already, and ends the object.
func (m members) finish(b *bytes.Buffer) ([]byte, error) {
	for _, name := range slices.Sorted(maps.Keys(m)) {
		key, err := compact(name)
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(b, ",%s:%s", key, m[name])
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// compact renders a value as Spark's JSON library does: no spaces, and no escapes but those that JSON needs.
func compact(value any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(value); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}
