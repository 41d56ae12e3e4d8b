package kafkasrc

import (
	"maps"
	"slices"
	"strings"
)

// Reference is the table of client properties in Markdown, for the documentation: those that are understood, then those that
// are taken and change nothing, then those that sluice decides itself.
func Reference() string {
	var b strings.Builder
	b.WriteString("| property | value |\n|---|---|\n")
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		b.WriteString("| `" + name + "` | " + properties[name].doc + " |\n")
	}
	for _, name := range slices.Sorted(maps.Keys(idle)) {
		b.WriteString("| `" + name + "` | changes nothing: " + idle[name] + " |\n")
	}
	for _, name := range slices.Sorted(maps.Keys(refused)) {
		b.WriteString("| `" + name + "` | cannot be set: " + refused[name] + " |\n")
	}
	return b.String()
}
