package progress

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// page collects the text form of an object: lines, pairs of name and value, tables.
type page struct {
	b strings.Builder
}

// to writes the page out.
func (p *page) to(w io.Writer) error {
	_, err := io.WriteString(w, p.b.String())
	return err
}

func (p *page) linef(format string, args ...any) {
	fmt.Fprintf(&p.b, format+"\n", args...)
}

// pairs writes name and value per line, values below each other. Pairs without a value are left out.
func (p *page) pairs(indent string, pairs [][2]string) {
	width := 0
	for _, pair := range pairs {
		if pair[1] != "" {
			width = max(width, utf8.RuneCountInString(pair[0]))
		}
	}
	for _, pair := range pairs {
		if pair[1] != "" {
			p.linef("%s%s%s  %s", indent, pair[0], gap(width, pair[0]), pair[1])
		}
	}
}

// table is columns under headings. A heading that begins with > is that of a column set to the right, as numbers are.
type table struct {
	headings []string
	rows     [][]string
}

func (t *table) add(cells ...string) { t.rows = append(t.rows, cells) }

// trimmed is the table without its last column where that has nothing to say.
func (t *table) trimmed() *table {
	last := len(t.headings) - 1
	for _, row := range t.rows {
		if row[last] != "" {
			return t
		}
	}
	short := &table{headings: t.headings[:last]}
	for _, row := range t.rows {
		short.add(row[:last]...)
	}
	return short
}

// table writes a table; nothing if it has no rows.
func (p *page) table(indent string, t *table) {
	if len(t.rows) == 0 {
		return
	}
	head := make([]string, len(t.headings))
	widths := make([]int, len(t.headings))
	for i, h := range t.headings {
		head[i] = strings.TrimPrefix(h, ">")
		widths[i] = utf8.RuneCountInString(head[i])
	}
	for _, row := range t.rows {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	for _, row := range append([][]string{head}, t.rows...) {
		var line strings.Builder
		for i, cell := range row {
			if i > 0 {
				line.WriteString("  ")
			}
			if strings.HasPrefix(t.headings[i], ">") {
				line.WriteString(gap(widths[i], cell) + cell)
			} else {
				line.WriteString(cell + gap(widths[i], cell))
			}
		}
		p.linef("%s%s", indent, strings.TrimRight(line.String(), " "))
	}
}

func gap(width int, text string) string {
	return strings.Repeat(" ", max(0, width-utf8.RuneCountInString(text)))
}

// section writes an empty line, a title unless it is empty, and a table; nothing if the table has no rows.
func (p *page) section(title, indent string, t *table) {
	if len(t.rows) == 0 {
		return
	}
	p.linef("")
	if title != "" {
		p.linef("%s", title)
	}
	p.table(indent, t)
}

// notes writes one line each, after an empty one.
func (p *page) notes(notes []string) {
	if len(notes) > 0 {
		p.linef("")
	}
	for _, note := range notes {
		p.linef("note: %s", note)
	}
}
