package cmd

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func connectEventOf(t *testing.T, kind string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "testdata", "kafka-connect", kind))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestEventsOfTheConnectorAreTold(t *testing.T) {
	for kind, want := range map[string]int64{"start-commit": 0, "data-written": dataWritten, "data-complete": 2, "commit-to-table": 3, "commit-complete": 4} {
		e, err := parseConnectEvent(connectEventOf(t, kind))
		if err != nil || e.kind != want || e.group != "connect-orders-sink" {
			t.Errorf("%s: got %+v, %v, want kind %d", kind, e, err, want)
		}
	}
}

func TestWhatIsNoEventOfTheConnectorIsNotTakenForOne(t *testing.T) {
	whole := connectEventOf(t, "data-written")
	schema := 4 + int(whole[2])<<8 + int(whole[3])
	for name, c := range map[string]struct {
		data []byte
		want string
	}{
		"nothing":             {nil, "does not begin with the mark"},
		"another mark":        {append([]byte{0xC3, 0x01}, whole[2:]...), "does not begin with the mark"},
		"cut in its schema":   {whole[:100], "cut off in its schema"},
		"cut in its id":       {whole[:schema+15], "it is cut off"},
		"cut in its group":    {whole[:schema+40], "it is cut off"},
		"another kind":        {append(append(bytes.Clone(whole[:schema+16]), 10), whole[schema+17:]...), "its kind is 5"},
		"another field":       {bytes.Replace(whole, []byte(`"name":"group_id"`), []byte(`"name":"group_ib"`), 1), "field 4 of its schema is group_ib, a string"},
		"an id of 8 bytes":    {bytes.Replace(whole, []byte(`"size":16`), []byte(`"size":18`), 1), "field 1 of its schema is id"},
		"a schema that isn't": {append([]byte{0xC2, 0x01, 0, 2}, "{}"...), "other fields"},
		"no JSON":             {append([]byte{0xC2, 0x01, 0, 2}, "{["...), "its schema"},
	} {
		if e, err := parseConnectEvent(c.data); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %+v, %v, want %q", name, e, err, c.want)
		}
	}
}

func FuzzConnectEvent(f *testing.F) {
	for _, kind := range []string{"start-commit", "commit-complete"} {
		text, err := os.ReadFile(filepath.Join("..", "testdata", "kafka-connect", kind))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if e, err := parseConnectEvent(data); err == nil && (e.kind < 0 || e.kind >= connectKinds) {
			t.Errorf("got %+v", e)
		}
	})
}
