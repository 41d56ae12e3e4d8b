package progress

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
)

// Object is one result on stdout: an object on a line of its own in JSON, told by its "type", or text for people.
// docs/json.md documents every type. Fields are added to them, never changed or removed.
type Object interface {
	// Type is the value of "type".
	Type() string
	// WriteText writes the form for people, whole lines.
	WriteText(w io.Writer) error
}

// Write writes the object in one form or the other, in a single call of w.
func Write(w io.Writer, asJSON bool, o Object) error {
	if asJSON {
		return WriteJSON(w, o)
	}
	var b bytes.Buffer
	if err := o.WriteText(&b); err != nil {
		return err
	}
	_, err := w.Write(b.Bytes())
	return err
}

// WriteJSON writes {"type":…, and the fields of o} and a line end, in a single call of w.
func WriteJSON(w io.Writer, o Object) error {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(o); err != nil {
		return fmt.Errorf("encode %s: %w", o.Type(), err)
	}
	fields := bytes.TrimPrefix(b.Bytes(), []byte("{"))
	line := fmt.Appendf(nil, `{"type":%q`, o.Type())
	if !bytes.HasPrefix(fields, []byte("}")) {
		line = append(line, ',')
	}
	_, err := w.Write(append(line, fields...))
	return err
}

// Type is "batch".
func (b *Batch) Type() string { return "batch" }

// Type is "summary".
func (s *Summary) Type() string { return "summary" }
