package kafkasrc

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pierrec/lz4/v4"
)

// javaLog is what Kafka's own reader found in a log that Kafka's own code wrote (testdata/kafka/README.md).
type javaLog struct {
	Next    int64 `json:"next"`
	Aborted []struct {
		Producer int64 `json:"producer"`
		First    int64 `json:"first"`
	} `json:"aborted"`
	Rows []struct {
		Offset    int64   `json:"offset"`
		Timestamp int64   `json:"timestamp"`
		Type      int32   `json:"type"`
		Key       *string `json:"key"`
		Value     *string `json:"value"`
		Headers   []struct {
			Key   string  `json:"key"`
			Value *string `json:"value"`
		} `json:"headers"`
		Aborted bool `json:"aborted"`
	} `json:"rows"`
}

// rows are those that a reader of the isolation level gets, long values as their digest.
func (j *javaLog) rows(t *testing.T, level int8) []row {
	t.Helper()
	var rows []row
	for _, r := range j.Rows {
		if level != 0 && r.Aborted {
			continue
		}
		out := row{offset: r.Offset, timestamp: r.Timestamp, timestampType: r.Type, key: fromText(t, r.Key), value: fromText(t, r.Value)}
		for _, h := range r.Headers {
			out.headers = append(out.headers, header{h.Key, fromText(t, h.Value)})
		}
		rows = append(rows, out)
	}
	return rows
}

const digestMark = "sha256:"

func fromText(t *testing.T, text *string) []byte {
	t.Helper()
	if text == nil {
		return nil
	}
	decode, encoded := base64.StdEncoding.DecodeString, *text
	if digest, ok := strings.CutPrefix(encoded, digestMark); ok {
		decode, encoded = hex.DecodeString, digest
	}
	b, err := decode(encoded)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func digested(rows []row) []row {
	for i, r := range rows {
		if len(r.value) > 1000 {
			digest := sha256.Sum256(r.value)
			rows[i].value = digest[:]
		}
	}
	return rows
}

// readJavaLogs reads testdata/kafka. Every file must be expected, and every expected log be there.
func readJavaLogs(t *testing.T) (logs map[string][]byte, expected map[string]*javaLog) {
	t.Helper()
	const folder = "../testdata/kafka"
	text, err := os.ReadFile(filepath.Join(folder, "expected.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &expected); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(folder, "*.bin"))
	if err != nil || len(files) != len(expected) || len(files) < 27 {
		t.Fatalf("got %d logs, %v, and %d of them are expected", len(files), err, len(expected))
	}
	logs = map[string][]byte{}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".bin")
		if logs[name], err = os.ReadFile(file); err != nil || expected[name] == nil {
			t.Fatalf("%s: %v, expected: %v", file, err, expected[name])
		}
	}
	return logs, expected
}

func TestMessagesOfTheJavaClientAreRead(t *testing.T) {
	logs, expected := readJavaLogs(t)
	for name, bin := range logs {
		want := expected[name]
		log := &fakeLog{most: len(bin)}
		for rest := bin; len(rest) > 0; {
			whole, next, err := cut(rest)
			if err != nil || whole == nil {
				t.Fatalf("%s: %v, %d bytes are left", name, err, len(next))
			}
			log.batches, rest = append(log.batches, whole), next
		}
		for _, a := range want.Aborted {
			log.aborted = append(log.aborted, abortedAt{a.Producer, a.First, want.Next - 1})
		}
		for level := range int8(2) {
			t.Run(name+[]string{" uncommitted", " committed"}[level], func(t *testing.T) {
				all := want.rows(t, level)
				first := all[0].offset
				r := newTestReader(log, level, pieceOf(first, want.Next))
				rows, err := drain(r)
				if err != nil {
					t.Fatal(err)
				}
				wantRows(t, digested(rows), all)
				if at := r.Positions()[0]; at != want.Next {
					t.Errorf("position is %d, want %d", at, want.Next)
				}
				var split []row
				for from := first; from < want.Next; from += 5 { // from and to the middle of batches and holes
					split = append(split, readAll(t, log, level, from, min(from+5, want.Next))...)
				}
				wantRows(t, digested(split), all)
			})
		}
	}
}

// So the logs do have what https://issues.apache.org/jira/browse/KAFKA-3160 is about: a checksum that others refuse.
func TestTheJavaClientWritesTheBrokenHeaderChecksum(t *testing.T) {
	logs, _ := readJavaLogs(t)
	for name, refused := range map[string]bool{"v0-lz4": true, "v1-lz4-created": false} {
		m, _, err := cut(logs[name])
		if err != nil || m == nil {
			t.Fatal(err)
		}
		_, frame, _ := messageBody(m)
		_, err = io.Copy(io.Discard, lz4.NewReader(bytes.NewReader(frame)))
		if got := err != nil && strings.Contains(err.Error(), "checksum"); got != refused {
			t.Errorf("%s: the library says %v, want a refusal of the checksum: %v", name, err, refused)
		}
	}
}
