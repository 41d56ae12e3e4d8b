package progress

import (
	"io"
	"maps"
	"slices"
)

// Version is what this program was built from.
type Version struct {
	Version string `json:"version"`
	// Commit is empty if the build does not tell; Modified says that the source differed from it.
	Commit   string `json:"commit"`
	Modified bool   `json:"modified"`
	// Built is when Commit was made, empty if the build does not tell.
	Built string `json:"built"`
	Go    string `json:"go"`
	OS    string `json:"os"`
	Arch  string `json:"arch"`
	// Libraries maps the libraries that matter to their versions.
	Libraries map[string]string `json:"libraries"`
}

// Type is "version".
func (v *Version) Type() string { return "version" }

// WriteText writes a line for the program, and one for each library.
func (v *Version) WriteText(w io.Writer) error {
	var out page
	out.linef("sluice %s", v.Version)
	commit := v.Commit
	if v.Modified && commit != "" {
		commit += ", modified"
	}
	pairs := [][2]string{{"commit", commit}, {"built", v.Built}, {"go", v.Go + " " + v.OS + "/" + v.Arch}}
	for _, name := range slices.Sorted(maps.Keys(v.Libraries)) {
		pairs = append(pairs, [2]string{name, v.Libraries[name]})
	}
	out.pairs("  ", pairs)
	return out.to(w)
}
