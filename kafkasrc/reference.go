package kafkasrc

import (
	"maps"
	"slices"
	"strings"
)

// Reference is the table of client properties in Markdown, for the documentation: those that are understood, then those
// that sluice decides itself.
func Reference() string {
	var b strings.Builder
	b.WriteString("| property | value |\n|---|---|\n")
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		b.WriteString("| `" + name + "` | " + properties[name].doc + " |\n")
	}
	b.WriteString("| `sasl.*` | cannot be set: " + noSASL + " |\n")
	for _, name := range slices.Sorted(maps.Keys(refused)) {
		b.WriteString("| `" + name + "` | cannot be set: " + refused[name] + " |\n")
	}
	return b.String()
}
