package cmd

import (
	"flag"
	"slices"

	"github.com/urfave/cli/v2"
)

// keyFlag is a flag whose text is read by the job and not by the library, which would cut it at commas and end at the
// first mistake.
type keyFlag struct {
	name string
	// path is that of the key that it sets; empty for --set.
	path string
	// word stands for the value in the help.
	word, usage string
	// alone says that the flag without a value means true; it then takes none but after =.
	alone bool
	// hidden leaves it out of the help.
	hidden bool
}

// Apply makes the flag known to one parsing.
func (f *keyFlag) Apply(set *flag.FlagSet) error {
	set.Var(&texts{alone: f.alone}, f.name, f.usage)
	return nil
}

// Names are the flag's names.
func (f *keyFlag) Names() []string { return []string{f.name} }

// IsSet is asked beside the parsed flags, which know.
func (f *keyFlag) IsSet() bool { return false }

// IsVisible lists it in the help.
func (f *keyFlag) IsVisible() bool { return !f.hidden }

// GetCategory is its group in the help.
func (f *keyFlag) GetCategory() string {
	if f.path == "" {
		return ""
	}
	return "job:"
}

// String is its line in the help.
func (f *keyFlag) String() string {
	if f.alone {
		return "--" + f.name + "\t" + f.usage
	}
	return "--" + f.name + " " + f.word + "\t" + f.usage
}

// texts are the values that were given to one flag, in their order.
type texts struct {
	given []string
	alone bool
}

// String is the last value.
func (t *texts) String() string {
	if len(t.given) == 0 {
		return ""
	}
	return t.given[len(t.given)-1]
}

// Set takes one more value.
func (t *texts) Set(value string) error {
	t.given = append(t.given, value)
	return nil
}

// Get is all values.
func (t *texts) Get() any { return slices.Clone(t.given) }

// IsBoolFlag says that the next word belongs to somebody else.
func (t *texts) IsBoolFlag() bool { return t.alone }

// given are the values of a keyFlag.
func given(c *cli.Context, name string) []string {
	values, _ := c.Value(name).([]string) // nil where nobody gave it
	return values
}
