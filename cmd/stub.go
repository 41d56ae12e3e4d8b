package cmd

import "github.com/urfave/cli/v2"

func (p *process) peekCommand() *cli.Command { return &cli.Command{Name: "peek"} }
func (p *process) demoCommand() *cli.Command { return &cli.Command{Name: "demo"} }
