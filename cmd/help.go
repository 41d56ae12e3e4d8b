package cmd

import (
	"flag"

	"github.com/urfave/cli/v2"
)

func init() { cli.HelpFlag = helpFlag{} }

// helpCommand is sluice help COMMAND. The library's own ends with exit code 0 where there is no such command.
func helpCommand() *cli.Command {
	return &cli.Command{Name: "help", Aliases: []string{"h"}, Usage: "list the commands, or show the help of one", ArgsUsage: "[COMMAND]",
		Action: func(c *cli.Context) error {
			switch name := c.Args().First(); {
			case name == "":
				return cli.ShowAppHelp(c)
			case c.App.Command(name) == nil:
				return unknownCommand(c)
			default:
				return cli.ShowCommandHelp(c, name)
			}
		}}
}

// helpFlag is --help. The library's own is one variable for the whole process, which every command line that is parsed
// writes to; Main may run several at once.
type helpFlag struct{}

// Apply makes the flag known to one parsing.
func (helpFlag) Apply(set *flag.FlagSet) error {
	for _, name := range (helpFlag{}).Names() {
		set.Bool(name, false, "show help")
	}
	return nil
}

// Names are the flag's names.
func (helpFlag) Names() []string { return []string{"help", "h"} }

// IsSet is asked of flags that a command needs, which this one never is.
func (helpFlag) IsSet() bool { return false }

// IsVisible lists it in the help.
func (helpFlag) IsVisible() bool { return true }

// GetCategory puts it with the flags that belong to no group.
func (helpFlag) GetCategory() string { return "" }

// String is its line in the help.
func (helpFlag) String() string { return "--help, -h\tshow help" }
