package checkpoint

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"sluice/offsets"
)

// marshalOrigin renders sources/0/0, where a query started. The zero byte in front is for Spark 2.1.0, which read a
// length there (SPARK-19517).
func marshalOrigin(start offsets.Offsets) ([]byte, error) {
	text, err := start.MarshalJSON()
	if err != nil {
		return nil, err
	}
	return append([]byte("\x00v1\n"), text...), nil
}

// parseOrigin reads it. Like Spark it looks at neither the first byte nor, in files of 2.1.0, for a version.
func parseOrigin(text []byte) (offsets.Offsets, error) {
	if len(text) < 2 {
		return nil, errors.New("it is cut off")
	}
	text = text[1:]
	if text[0] == 'v' {
		version, rest, err := cutVersion(text)
		if err != nil {
			return nil, err
		}
		if version != 1 {
			return nil, fmt.Errorf("its format is version %d; this program knows 1", version)
		}
		text = rest
	}
	return parsePositions(bytes.TrimSuffix(text, []byte("\n")))
}

// marshalQuery renders metadata, the query's identity.
func marshalQuery(id string) []byte { return fmt.Appendf(nil, `{"id":"%s"}`, id) }

func parseQuery(text []byte) (string, error) {
	object, err := parseMembers(text)
	if err != nil {
		return "", err
	}
	var id string
	if err := json.Unmarshal(object["id"], &id); err != nil {
		return "", errors.New("it has no id")
	}
	return id, checkQuery(id)
}

// checkQuery holds ids to what Spark makes, UUIDs, or at least to what can stand in the name of a table property.
func checkQuery(id string) error {
	if id == "" {
		return errors.New("the id is empty")
	}
	for _, r := range id {
		if !(r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r == '-' || r == '_') {
			return fmt.Errorf("the id %q is no UUID", id)
		}
	}
	return nil
}
