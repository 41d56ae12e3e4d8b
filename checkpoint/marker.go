package checkpoint

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
)

// marker is a file commits/<N>: v<version>\n and the metadata, which Spark takes to be {} where it is missing.
// Version 2 belongs to a newer format of operator state. Spark before 4.1 insists on the version that it is set to use,
// so we go on writing the newest one found.
type marker struct {
	version int
	// watermark is nextBatchWatermarkMs.
	watermark int64
	extra     members
}

func parseMarker(text []byte) (*marker, error) {
	if !bytes.Contains(text, []byte("\n")) {
		text = append(bytes.Clone(text), "\n{}"...)
	}
	version, metadata, err := cutVersion(text)
	if err != nil {
		return nil, err
	}
	if version != 1 && version != 2 {
		return nil, fmt.Errorf("its format is version %d; this program knows 1 and 2", version)
	}
	m := &marker{version: version}
	if m.extra, err = parseMembers(bytes.TrimSuffix(metadata, []byte("\n"))); err != nil {
		return nil, err
	}
	if m.watermark, err = m.extra.takeInt("nextBatchWatermarkMs"); err != nil {
		return nil, err
	}
	if ids, ok := m.extra["stateUniqueIds"]; ok && string(ids) != "{}" && string(ids) != "null" {
		return nil, errors.New("it belongs to a query with state (stateUniqueIds)")
	}
	return m, nil
}

func (m *marker) marshal() ([]byte, error) {
	var b bytes.Buffer
	fmt.Fprintf(&b, "v%d\n"+`{"nextBatchWatermarkMs":%d`, m.version, m.watermark)
	return m.extra.finish(&b)
}

// parseNumber reads a number as Spark writes it: 0, or no leading zero, never a sign.
func parseNumber(text string) (int64, error) {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 || strconv.FormatInt(n, 10) != text {
		return 0, fmt.Errorf("%.20q is no number", text)
	}
	return n, nil
}
